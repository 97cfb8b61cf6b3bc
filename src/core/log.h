#pragma once
// The event log: a dotted event name and typed fields, as a line of text or one JSON object. A
// value passed down, not a global. Where lines go and what time it is are the sink's business, so a
// simulated log is byte-identical between runs.
//
// Thread: any; the sink serialises.
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "core/json.h"

namespace castor {

enum class Level : unsigned char { debug, info, warn, error };  // error = somebody must act

std::string_view name_of(Level level);

class Log {
 public:
  using Fields = std::initializer_list<std::pair<std::string_view, Json>>;
  // Called for every event at or above `least`; must be safe to call from several threads.
  using Sink = std::function<void(Level, std::string_view event, const Json& fields)>;

  Log() = default;  // discards everything
  Log(Level least, Sink sink) : least_(least), sink_(std::move(sink)) {}

  void debug(std::string_view event, Fields fields = {}) const {
    write(Level::debug, event, fields);
  }
  void info(std::string_view event, Fields fields = {}) const { write(Level::info, event, fields); }
  void warn(std::string_view event, Fields fields = {}) const { write(Level::warn, event, fields); }
  void error(std::string_view event, Fields fields = {}) const {
    write(Level::error, event, fields);
  }

 private:
  void write(Level level, std::string_view event, Fields fields) const;

  Level least_ = Level::error;
  Sink sink_;
};

// "warn job.checkpoint_failed reason=\"disk full\" clock=12"
std::string log_line(Level level, std::string_view event, const Json& fields);

}  // namespace castor

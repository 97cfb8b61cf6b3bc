#pragma once
// A training in words: how reading goes on, a row of a table for each clock, the summary at the
// end.
//
// Thread: that of the training.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/inputs.h"
#include "cli/output.h"
#include "core/json.h"
#include "core/time.h"
#include "world/world.h"

namespace castor::cli {

class TrainReport {
 public:
  TrainReport(world::World& world, Output& output)
      : world_(world), output_(output), progress_(world, output) {}

  void on_read(std::uint64_t read, std::uint64_t total) { progress_(read, total); }
  void on_event(const Json& event);

 private:
  void on_read_done(const Json& event);
  void note_warnings(const Json& event);
  void on_clock(const Json& event);
  void print_row(const Json& event);
  bool is_due(Duration interval);

  world::World& world_;
  Output& output_;
  ReadProgress progress_;
  Instant last_{};                    // row
  std::vector<std::string> columns_;  // metrics of the table, once its head is printed
  Json pending_;                      // a row that came too soon after the one before
};

// The summary of a "done" event: quality, speed, where the model is, what to do next.
std::string train_summary(const Json& done, std::string_view program);

// "1.23 M", "45.6 k".
std::string short_count(double value);
// "1 rating", "90,570 ratings".
std::string counted(std::uint64_t count, std::string_view noun);
// "0.42 s", "3 min 10 s", "2 h 05 min".
std::string short_time(double seconds);
// The word as a shell reads it: in quotes where it needs them.
std::string shell_quoted(std::string_view word);

}  // namespace castor::cli

#pragma once
// The ML programs of castor, by name: what `castor train` can train. Adding a program is one line
// in catalog.cc.
//
// Thread: the catalogue from any; a Trainer from one.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.h"
#include "core/json.h"
#include "core/log.h"
#include "job/job.h"

namespace castor::programs {

struct TrainerCalls {
  // What happens, one object at a time; every one has "event" (docs/reference/events.md).
  std::function<void(const Json&)> on_event;
  // While reading: bytes of the file read and in all (0 = unknown).
  std::function<void(std::uint64_t read, std::uint64_t total)> on_read;
  const std::atomic<bool>* stop_requested = nullptr;
  std::string_view castor_version = "0";
};

// Options that are shown together.
struct OptionGroup {
  std::string title;
  std::vector<Field> fields;
};

// One program with its options, which callers set through the fields.
class Trainer {
 public:
  virtual ~Trainer() = default;
  // They point into this. Every program has `out`, `resume` and `overwrite` among them.
  virtual std::vector<OptionGroup> options() = 0;
  // Code::invalid or unsupported for options that are legal alone and not together.
  virtual Status check() const = 0;
  // The last event: "done", or "stopped" when asked to.
  virtual Result<Json> train(world::World& world, const Log& log, const TrainerCalls& calls) = 0;
};

struct ProgramEntry {
  std::string_view name;     // as in `castor train mf`
  std::string_view summary;  // a phrase
  std::string_view description;
  std::span<const std::string_view> examples;  // command lines
  std::unique_ptr<Trainer> (*make)();
};

std::span<const ProgramEntry> programs();

}  // namespace castor::programs

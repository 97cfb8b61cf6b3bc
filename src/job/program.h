#pragma once
// What a program is. Any type with
//     Schedule schedule();                          // which tasks, in what order
//     void push(TaskContext& context, const Task& task);   // one task; may return Status instead
// and, when it has a use for them,
//     void touches(TouchSet&, const Task&)          // what a task reads and leases; without it a
//     task
//                                                   // leases the scheduled block and reads every
//                                                   bounded
//                                                   // table whole
//     void init(TaskContext&)                       // once a shard, first of all
//     void derive(TaskContext&)                     // adds the shard's part to the derived tables
//     void rebuild(TaskContext&)                    // makes the shard's derived state from data
//     and tables std::vector<MetricSpec> metrics()             // what metric() fills in; the first
//     drives stopping void metric(TaskContext&, std::span<MetricPart>)   // one shard's part, on a
//     consistent cut
// A program never mentions a machine, a thread or the time. The same shard is never pushed by two
// tasks at once; different shards are, so members that tasks change belong into State.
//
// Thread: hooks of different shards run in parallel, except derive(), which runs shard by shard.
#include <concepts>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "job/handles.h"
#include "job/task_context.h"

namespace castor {

// How the parts of all shards become one number.
enum class Combine : std::uint8_t { sum, mean, root_mean };  // S, S / W, sqrt(S / W)
enum class Direction : std::uint8_t { lower_is_better, higher_is_better };

struct MetricSpec {
  std::string name;  // "train_rmse"
  std::string unit = {};
  Combine combine = Combine::sum;
  Direction direction = Direction::lower_is_better;
};

struct MetricPart {
  double sum = 0, weight = 0;

  void add(double value, double value_weight = 1) {
    sum += value_weight * value;
    weight += value_weight;
  }
};

template <class P>
concept Program = requires(P& program, TaskContext& context, const Task& task) {
  { program.schedule() } -> std::convertible_to<Schedule>;
  program.push(context, task);
};

namespace job {

// A program wrapped once into a table of per-batch functions, so that the runtime is not a
// template. Absent hooks are null.
struct ProgramHooks {
  void* self = nullptr;
  Schedule (*schedule)(void*) = nullptr;
  Status (*push)(void*, TaskContext&, const Task&) = nullptr;
  void (*touches)(void*, TouchSet&, const Task&) = nullptr;
  void (*init)(void*, TaskContext&) = nullptr;
  void (*derive)(void*, TaskContext&) = nullptr;
  void (*rebuild)(void*, TaskContext&) = nullptr;
  std::vector<MetricSpec> (*metrics)(void*) = nullptr;
  void (*metric)(void*, TaskContext&, std::span<MetricPart>) = nullptr;
};

template <Program P>
ProgramHooks wrap(P& program) {
  ProgramHooks hooks;
  hooks.self = &program;
  hooks.schedule = [](void* self) -> Schedule { return static_cast<P*>(self)->schedule(); };
  hooks.push = [](void* self, TaskContext& context, const Task& task) -> Status {
    if constexpr (std::is_same_v<decltype(static_cast<P*>(self)->push(context, task)), Status>) {
      return static_cast<P*>(self)->push(context, task);
    } else {
      static_cast<P*>(self)->push(context, task);
      return {};
    }
  };
  if constexpr (requires(TouchSet& touch, const Task& task) { program.touches(touch, task); }) {
    hooks.touches = [](void* self, TouchSet& touch, const Task& task) {
      static_cast<P*>(self)->touches(touch, task);
    };
  }
  if constexpr (requires(TaskContext& context) { program.init(context); }) {
    hooks.init = [](void* self, TaskContext& context) { static_cast<P*>(self)->init(context); };
  }
  if constexpr (requires(TaskContext& context) { program.derive(context); }) {
    hooks.derive = [](void* self, TaskContext& context) { static_cast<P*>(self)->derive(context); };
  }
  if constexpr (requires(TaskContext& context) { program.rebuild(context); }) {
    hooks.rebuild = [](void* self, TaskContext& context) {
      static_cast<P*>(self)->rebuild(context);
    };
  }
  constexpr bool has_metrics = requires(TaskContext& context, std::span<MetricPart> parts) {
    program.metrics();
    program.metric(context, parts);
  };
  if constexpr (has_metrics) {
    hooks.metrics = [](void* self) { return static_cast<P*>(self)->metrics(); };
    hooks.metric = [](void* self, TaskContext& context, std::span<MetricPart> parts) {
      static_cast<P*>(self)->metric(context, parts);
    };
  }
  return hooks;
}

}  // namespace job
}  // namespace castor

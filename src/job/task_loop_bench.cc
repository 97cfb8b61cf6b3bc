// What a task costs besides its push: the runtime's overhead, with tasks that do nothing. Reported
// by the task: items are tasks. V = B = 16, as a rotation of a small machine has.
#include <benchmark/benchmark.h>

#include "job/local.h"

namespace castor {
namespace {

constexpr ShardId shards = 16;
constexpr Clock clocks = 200;

enum Kind : std::int64_t {
  rotation,
  grid_of_leases,
  rotation_with_bounded,
  plain_sweep,
  bounded_sweep
};

struct Nothing {
  Nothing(Job& job, std::int64_t which) : kind(which) {
    const bool is_sweep = kind == plain_sweep || kind == bounded_sweep;
    if (!is_sweep) {
      rows = job.table<Dense<float>>(
          {.name = "rows", .rows = 16, .width = 16, .sharing = Sharing::leased, .blocks = 16});
    }
    if (kind == rotation_with_bounded || kind == bounded_sweep) {
      sum = job.table<Dense<float>>({.name = "sum", .rows = 1, .width = 16, .staleness = 1});
    }
  }
  Schedule schedule() {
    if (kind == plain_sweep || kind == bounded_sweep) return sweep();
    if (kind == grid_of_leases) return grid(rows);
    return rotate(rows);
  }
  void push(TaskContext& context, const Task&) {
    if (kind == rotation_with_bounded || kind == bounded_sweep) context.increment(sum, 0)[0] += 1;
  }
  const std::int64_t kind;
  Table<Dense<float>> rows, sum;
};

void task_overhead(benchmark::State& state) {
  auto job = local_job({.shards = shards, .threads = static_cast<unsigned>(state.range(0))});
  Nothing program(*job, state.range(1));
  std::uint64_t tasks = 0;
  for (auto _ : state) {
    const auto report = job->run(program, {.clocks = clocks, .metric_every = clocks});
    tasks += report->tasks;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(tasks));
}
BENCHMARK(task_overhead)
    ->ArgNames({"threads", "kind"})
    ->ArgsProduct({{1, 2},
                   {rotation, grid_of_leases, rotation_with_bounded, plain_sweep, bounded_sweep}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace castor

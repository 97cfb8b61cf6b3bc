#pragma once
// A job: one run of a program over its shards. Open it, declare tables, data and state, give them
// to the program, run. Example: examples/softmax.cc; how-to: docs/howto/write-a-program.md.
//
// Thread: one.
#include <atomic>
#include <concepts>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/time.h"
#include "job/codec.h"
#include "job/program.h"
#include "world/pool.h"
#include "world/world.h"

namespace castor {

struct JobOptions {
  ShardId shards = 8;  // virtual parts of the data; fixed for the life of the job, whatever runs it
  unsigned threads = 1;  // of this process; never changes the result of a deterministic schedule
  std::uint64_t seed = 1;
};

struct MetricPoint {
  Clock clock = 0;             // clocks done
  double pass = 0;             // the same in passes over the data
  std::vector<double> values;  // in the order of the program's metrics()
  double seconds = 0;      // of training so far: tasks and waits, without metrics and checkpoints
  double cpu_seconds = 0;  // of all threads in the same time
};

enum class StopReason : std::uint8_t { clocks_done, converged, no_improvement, requested };
std::string_view name_of(StopReason reason);

struct RunOptions {
  Clock clocks = 100;      // of the job; a pass may be several (Schedule::clocks_per_pass)
  Clock metric_every = 0;  // clocks; 0 = once a pass
  double tolerance = 0;    // stop when the driving metric improves relatively by less; 0 = never
  int patience = 0;        // stop after so many metrics without improvement; 0 = never
  std::string driving_metric = {};  // "" = the first
  bool keep_best = false;  // end with the model of the best driving metric, not the last one

  std::string checkpoint_folder = {};  // "" = none
  Duration checkpoint_every = {};      // of real time; 0 = only when asked to stop
  bool resume = false;                 // from the newest good checkpoint there, if there is one
  Json identity = {};  // what a checkpoint must have been taken with to be resumed here

  const std::atomic<bool>* stop_requested =
      nullptr;  // ends at the next clock edge, with a checkpoint
  std::function<void(const MetricPoint&)> on_metric = {};
};

struct Report {
  std::vector<MetricPoint> curve;
  std::vector<MetricSpec> metrics;
  StopReason reason = StopReason::clocks_done;
  Clock clock = 0;           // clocks done
  Clock best_clock = 0;      // of the best driving metric
  Clock resumed_clock = -1;  // where a resumed run took up; -1 = from the start
  std::uint64_t tasks = 0;
  double seconds = 0, cpu_seconds = 0;  // training alone, of all runs of the job
  double stalled_seconds = 0;           // of those, thread-seconds without a task to run
  std::string checkpoint = {};          // the last one written, "" = none

  // The last value of a metric; not a number when it was never taken.
  double last(std::size_t metric = 0) const {
    if (curve.empty() || metric >= metrics.size()) return std::numeric_limits<double>::quiet_NaN();
    return curve.back().values[metric];
  }
};

class Job {
 public:
  // Code::invalid when the options make no sense. The world and the log outlive the job.
  static Result<Job> open(world::World& world, const Log& log, const JobOptions& options);
  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;
  ~Job();

  ShardId shards() const;

  // `fill` sets a row before the first clock; without it rows are zero. It draws from the stream of
  // the row's block. A wrong specification is reported by run().
  template <Row R>
  Table<R> table(
      TableSpec spec,
      std::function<void(RowId, decltype(std::declval<typename R::View>()[0]), Rng&)> fill = {});
  // load(shard) is called once a shard, in parallel.
  template <class D>
  Data<D> data(std::string name, std::function<Result<D>(ShardId)> load);
  // The same for a function that returns a D or a Result<D>, which need not be named.
  template <std::invocable<ShardId> F>
  auto data(std::string name, F load);
  // derived: rebuild() can make it from data and tables, so it is not checkpointed.
  template <class S>
  State<S> state(std::string name, bool derived = false);

  // Runs the program until it stops. The job keeps the model: read it with inspect(). A second run
  // starts from nothing again.
  template <Program P>
  Result<Report> run(P& program, const RunOptions& options) {
    return run_hooks(job::wrap(program), options);
  }
  Result<Report> run_hooks(const job::ProgramHooks& hooks, const RunOptions& options);

  // Calls f(context) for every shard in turn, on a consistent cut: to read the model after a run.
  void inspect(FunctionRef<void(TaskContext&)> f);
  // Loads the data of all shards now; run() does it when it has not been done.
  Status load_data();

  world::Pool& pool();
  // Keeps `owner` as long as the job: the world it runs in, say.
  void keep(std::shared_ptr<void> owner);

 private:
  struct Parts;
  explicit Job(std::unique_ptr<Parts> parts);
  TableId add_table(TableSpec spec, ps::RowKind kind, ps::Element element,
                    std::function<void(ps::Block&, Rng&)> fill);
  std::uint32_t add_data(job::DataKind kind);
  std::uint32_t add_state(job::StateKind kind);

  std::unique_ptr<Parts> parts_;
};

template <Row R>
Table<R> Job::table(
    TableSpec spec,
    std::function<void(RowId, decltype(std::declval<typename R::View>()[0]), Rng&)> fill) {
  std::function<void(ps::Block&, Rng&)> fill_block;
  if (fill) {
    fill_block = [fill = std::move(fill)](ps::Block& block, Rng& rng) {
      typename R::View view = block.template view<R>();
      for (RowId row = view.first(); row < view.first() + view.rows(); ++row)
        fill(row, view[row], rng);
    };
  }
  const std::uint64_t blocks = spec.blocks == 0 ? 1 : spec.blocks;
  const std::uint64_t per_block = spec.rows == 0 ? 1 : (spec.rows + blocks - 1) / blocks;
  const std::uint64_t rows = spec.rows;
  const std::uint32_t width = R::kind == ps::RowKind::scalar ? 1 : spec.width;
  const TableId id = add_table(std::move(spec), R::kind, ps::element_of<typename R::Value>(),
                               std::move(fill_block));
  return Table<R>(id, rows, width, per_block);
}

template <class D>
Data<D> Job::data(std::string name, std::function<Result<D>(ShardId)> load) {
  job::DataKind kind;
  kind.name = std::move(name);
  kind.load = [load = std::move(load)](ShardId shard) -> Result<std::shared_ptr<const void>> {
    TRY_AS(D value, load(shard));
    return std::shared_ptr<const void>(std::make_shared<const D>(std::move(value)));
  };
  return {add_data(std::move(kind))};
}

template <std::invocable<ShardId> F>
auto Job::data(std::string name, F load) {
  using Loaded = std::invoke_result_t<F, ShardId>;
  if constexpr (requires {
                  typename Loaded::value_type;
                  Loaded(std::declval<Error>());
                }) {
    return data<typename Loaded::value_type>(std::move(name), std::move(load));
  } else {
    return data<Loaded>(std::move(name), [load = std::move(load)](ShardId shard) {
      return Result<Loaded>(load(shard));
    });
  }
}

template <class S>
State<S> Job::state(std::string name, bool derived) {
  job::StateKind kind;
  kind.name = std::move(name);
  kind.derived = derived;
  kind.make = []() -> std::shared_ptr<void> { return std::make_shared<S>(); };
  kind.encode = [](ByteWriter& out, const void* value) {
    encode_state(out, *static_cast<const S*>(value));
  };
  kind.decode = [](ByteReader& in, void* value) { decode_state(in, *static_cast<S*>(value)); };
  return {add_state(std::move(kind))};
}

}  // namespace castor

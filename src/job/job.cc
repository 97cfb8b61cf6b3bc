#include "job/job.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "job/run.h"
#include "job/task_boundary.h"

namespace castor {

namespace {

constexpr ShardId shards_max = 1u << 20;
constexpr unsigned threads_max = 4096;

}  // namespace

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::clocks_done: return "clocks_done";
    case StopReason::converged: return "converged";
    case StopReason::no_improvement: return "no_improvement";
    case StopReason::requested: return "requested";
  }
  return "unknown";
}

struct Job::Parts {
  Parts(world::World& job_world, const Log& job_log, const JobOptions& job_options)
      : world(job_world), log(job_log), options(job_options), pool(job_options.threads) {}

  std::shared_ptr<void> owner;  // outlives all below
  world::World& world;
  const Log& log;
  JobOptions options;
  job::Store store;
  world::Pool pool;
  std::optional<Error> problem;  // of a declaration
  bool data_loaded = false;
};

Result<Job> Job::open(world::World& world, const Log& log, const JobOptions& options) {
  if (options.shards == 0 || options.shards > shards_max) {
    return error(Code::invalid, "shards is {}: it must be from 1 to {}", options.shards,
                 shards_max);
  }
  if (options.threads == 0 || options.threads > threads_max) {
    return error(Code::invalid, "threads is {}: it must be from 1 to {}", options.threads,
                 threads_max);
  }
  auto parts = std::make_unique<Parts>(world, log, options);
  parts->store.shards = options.shards;
  parts->store.open.resize(options.shards);
  return Job(std::move(parts));
}

Job::Job(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Job::Job(Job&&) noexcept = default;
Job& Job::operator=(Job&&) noexcept = default;
Job::~Job() = default;

ShardId Job::shards() const { return parts_->store.shards; }
world::Pool& Job::pool() { return parts_->pool; }
void Job::keep(std::shared_ptr<void> owner) { parts_->owner = std::move(owner); }

TableId Job::add_table(TableSpec spec, ps::RowKind kind, ps::Element element,
                       std::function<void(ps::Block&, Rng&)> fill) {
  std::vector<job::TableEntry>& tables = parts_->store.tables;
  const auto id = static_cast<TableId>(tables.size());
  Status status = ps::check_table(spec);
  for (const job::TableEntry& other : tables) {
    if (other.table->spec().name == spec.name) {
      status = error(Code::invalid, "two tables are called '{}'", spec.name);
    }
  }
  if (!status) {
    if (!parts_->problem) parts_->problem = std::move(status).error();
    spec = {.name = text("bad table {}", id),
            .rows = 1};  // keeps ids in step; run() reports the error
  }
  tables.push_back({std::make_unique<ps::TableStore>(std::move(spec), kind, element, shards()),
                    std::move(fill)});
  return id;
}

std::uint32_t Job::add_data(job::DataKind kind) {
  parts_->store.data.push_back(std::move(kind));
  parts_->data_loaded = false;
  return static_cast<std::uint32_t>(parts_->store.data.size() - 1);
}

std::uint32_t Job::add_state(job::StateKind kind) {
  for (const job::StateKind& other : parts_->store.states) {
    if (other.name == kind.name && !parts_->problem) {
      parts_->problem = error(Code::invalid, "two states are called '{}'", kind.name);
    }
  }
  for (ShardId shard = 0; shard < shards(); ++shard) kind.values.push_back(kind.make());
  parts_->store.states.push_back(std::move(kind));
  return static_cast<std::uint32_t>(parts_->store.states.size() - 1);
}

Status Job::load_data() {
  if (parts_->data_loaded) return {};
  if (parts_->problem) return *parts_->problem;
  Mutex mutex;
  std::optional<Error> failure;
  for (job::DataKind& kind : parts_->store.data) {
    if (!kind.values.empty()) continue;
    kind.values.resize(shards());
    parts_->pool.run(shards(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t shard = first; shard < last; ++shard) {
        Status status = job::guarded(text("load() of shard {}", shard), [&]() -> Status {
          TRY_AS(kind.values[shard], kind.load(static_cast<ShardId>(shard)));
          return {};
        });
        if (status) continue;
        const MutexLock lock(mutex);
        if (!failure) failure = std::move(status).error().with(text("data '{}'", kind.name));
      }
    });
    if (failure) {
      kind.values.clear();
      return *failure;
    }
  }
  parts_->data_loaded = true;
  return {};
}

Result<Report> Job::run_hooks(const job::ProgramHooks& hooks, const RunOptions& options) {
  if (parts_->problem) return *parts_->problem;
  TRY(load_data());
  job::Run run({&hooks, &parts_->store, &parts_->pool, &parts_->world, parts_->options.seed},
               parts_->log, options);
  return run.run();
}

void Job::inspect(FunctionRef<void(TaskContext&)> f) {
  TaskContext context(parts_->store, parts_->options.seed, TaskContext::Mode::cut);
  for (ShardId shard = 0; shard < shards(); ++shard) {
    CHECK(context.acquire({0, 0, shard, 0, 0}, {}).has_value());
    f(context);
    context.release();
  }
}

}  // namespace castor

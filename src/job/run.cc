#include "job/run.h"

#include <algorithm>
#include <cmath>

#include "job/task_boundary.h"

namespace castor::job {
namespace {

constexpr ShardId fill_stream = ~ShardId{0} - 1;  // tables are filled from streams of their own

// The first of the errors that the threads of one loop meet.
class FirstError {
 public:
  void note(Status status) EXCLUDES_LOCK(mutex_) {
    if (status) return;
    const MutexLock lock(mutex_);
    if (!failure_) failure_ = std::move(status).error();
  }
  Status take() EXCLUDES_LOCK(mutex_) {
    const MutexLock lock(mutex_);
    if (failure_) return std::move(*failure_);
    return {};
  }

 private:
  Mutex mutex_;
  std::optional<Error> failure_ GUARDED_BY(mutex_);
};

// Adds the parts of all shards along a fixed binary tree over shard numbers.
MetricPart tree_sum(std::span<const MetricPart> parts) {
  if (parts.size() == 1) return parts.front();
  std::size_t half = 1;
  while (half * 2 < parts.size()) half *= 2;
  const MetricPart left = tree_sum(parts.first(half)), right = tree_sum(parts.subspan(half));
  return {left.sum + right.sum, left.weight + right.weight};
}

double combined(Combine how, const MetricPart& total) {
  switch (how) {
    case Combine::sum: return total.sum;
    case Combine::mean: return total.sum / total.weight;
    case Combine::root_mean: return std::sqrt(total.sum / total.weight);
  }
  return total.sum;
}

}  // namespace

Result<Report> Run::run() {
  TRY(prepare());
  list_section_targets();
  bool resumed = false;
  if (options_.resume) TRY(resume(resumed));
  if (!resumed) {
    TRY(initialise());
    TRY(derive());
  }
  last_checkpoint_ = parts_.world->now();
  TRY(loop());
  report_.clock = clock_;
  report_.reason = *stop_;
  if (options_.keep_best && !best_sections_.empty() && stop_ != StopReason::requested) {
    for (const Section& section : best_sections_) TRY(apply_section(section));
    TRY(derive());
  }
  return std::move(report_);
}

Status Run::prepare() {
  TRY(guarded("schedule() or metrics()", [this]() -> Status {
    schedule_ = parts_.hooks->schedule(parts_.hooks->self);
    if (parts_.hooks->metrics != nullptr) {
      report_.metrics = parts_.hooks->metrics(parts_.hooks->self);
    }
    return {};
  }));
  if (schedule_.phases().empty()) return error(Code::invalid, "schedule() returned no phases");
  for (const schedule::Phase& phase : schedule_.phases()) {
    if (std::holds_alternative<Sweep>(phase.rule)) continue;
    const auto& tables = parts_.store->tables;
    if (phase.table >= tables.size() || tables[phase.table].table->blocks() != phase.blocks ||
        tables[phase.table].table->spec().sharing != Sharing::leased) {
      return error(Code::invalid, "rotate and grid need a leased table of this job");
    }
  }
  if (options_.resume && options_.checkpoint_folder.empty()) {
    return error(Code::invalid, "resuming needs a folder of checkpoints");
  }
  if (options_.clocks < 0) return error(Code::invalid, "clocks is {}", options_.clocks);
  metric_every_ = options_.metric_every > 0 ? options_.metric_every : schedule_.clocks_per_pass();
  if (options_.driving_metric.empty()) return {};
  const auto found = std::ranges::find(report_.metrics, options_.driving_metric, &MetricSpec::name);
  if (found == report_.metrics.end()) {
    return error(Code::invalid, "the program has no metric '{}'", options_.driving_metric);
  }
  driving_ = static_cast<std::size_t>(found - report_.metrics.begin());
  return {};
}

// As before the first clock, whatever ran before: fresh state, filled tables, init().
Status Run::initialise() {
  for (auto& open : parts_.store->open) open.clear();
  for (StateKind& kind : parts_.store->states) {
    for (auto& value : kind.values) value = kind.make();
  }
  for (TableId id = 0; id < parts_.store->tables.size(); ++id) {
    parts_.store->tables[id].table->set_clock(0);
    TRY(fill(id));
  }
  return each_shard("init", parts_.hooks->init, TaskContext::Mode::cut);
}

Status Run::fill(TableId id) {
  const TableEntry& entry = parts_.store->tables[id];
  FirstError failure;
  parts_.pool->run(entry.table->blocks(), 1, [&](std::size_t first, std::size_t last) {
    for (auto block = static_cast<BlockId>(first); block < last; ++block) {
      entry.table->values(block).set_zero();
      if (!entry.fill) continue;
      const std::string& name = entry.table->spec().name;
      failure.note(guarded(text("filling block {} of table '{}'", block, name), [&]() -> Status {
        Rng rng({parts_.seed, fill_stream - id, 0, block});
        entry.fill(entry.table->values(block), rng);
        return {};
      }));
    }
  });
  return failure.take();
}

// Makes what is derived from the rest: tables from state, then state from tables.
Status Run::derive() {
  for (TableId id = 0; id < parts_.store->tables.size(); ++id) {
    if (parts_.store->tables[id].table->spec().derived) TRY(fill(id));
  }
  TRY(each_shard("derive", parts_.hooks->derive, TaskContext::Mode::derive));
  return each_shard("rebuild", parts_.hooks->rebuild, TaskContext::Mode::cut);
}

Status Run::each_shard(std::string_view name, void (*hook)(void*, TaskContext&),
                       TaskContext::Mode mode) {
  if (hook == nullptr) return {};
  FirstError failure;
  auto call = [&](std::size_t first, std::size_t last) {
    TaskContext context(*parts_.store, parts_.seed, mode);
    for (auto shard = static_cast<ShardId>(first); shard < last; ++shard) {
      const Task place{0, -1, shard, 0, 0};  // outside all clocks
      CHECK(context.acquire(place, {}).has_value());
      failure.note(guarded(text("{}() of shard {}", name, shard), [&]() -> Status {
        hook(parts_.hooks->self, context);
        return {};
      }));
      context.release();
    }
  };
  if (mode == TaskContext::Mode::derive) {
    call(0, parts_.store->shards);  // in order: its increments go straight into the values
  } else {
    parts_.pool->run(parts_.store->shards, 1, call);
  }
  return failure.take();
}

bool Run::is_stop_requested() const {
  return options_.stop_requested != nullptr && options_.stop_requested->load();
}

bool Run::wants_cut() const {
  if (is_stop_requested()) return true;
  return options_.checkpoint_every.ns > 0 && !options_.checkpoint_folder.empty() &&
         parts_.world->now() - last_checkpoint_ >= options_.checkpoint_every;
}

Clock Run::next_limit() const {
  const Clock next_metric = (clock_ / metric_every_ + 1) * metric_every_;
  return std::min({options_.clocks, next_metric, schedule_.place(clock_).end});
}

Status Run::loop() {
  const bool is_measured = !report_.curve.empty() && report_.curve.back().clock == clock_;
  if (clock_ >= options_.clocks && !is_measured) TRY(measure());
  while (!stop_) {
    if (is_stop_requested()) {
      stop_ = StopReason::requested;
    } else if (clock_ >= options_.clocks) {
      stop_ = StopReason::clocks_done;
    }
    if (stop_) break;
    TRY(run_until(next_limit()));
    if (clock_ % metric_every_ == 0 || clock_ == options_.clocks) TRY(measure());
    TRY(checkpoint_if_due());
  }
  if (stop_ == StopReason::requested && !options_.checkpoint_folder.empty())
    return write_checkpoint();
  return {};
}

Status Run::run_until(Clock limit) {
  const Schedule::Place place = schedule_.place(clock_);
  const auto phase = static_cast<std::uint32_t>(place.phase);
  TaskLoop tasks(parts_, schedule_.phases()[phase], phase, clock_);
  const Instant began = parts_.world->now();
  const Duration cpu_began = parts_.world->cpu_time();
  auto ended = tasks.run(limit, [this] { return wants_cut(); });
  report_.seconds += (parts_.world->now() - began).seconds();
  report_.cpu_seconds += (parts_.world->cpu_time() - cpu_began).seconds();
  report_.stalled_seconds += tasks.stalled().seconds();
  report_.tasks += tasks.tasks();
  TRY_AS(clock_, std::move(ended));
  return {};
}

Status Run::measure() {
  MetricPoint point;
  point.clock = clock_;
  point.pass = static_cast<double>(clock_) / static_cast<double>(schedule_.clocks_per_pass());
  point.seconds = report_.seconds;
  point.cpu_seconds = report_.cpu_seconds;
  const std::size_t count = report_.metrics.size(), shards = parts_.store->shards;
  std::vector<MetricPart> parts(count * shards);  // (metric, shard)
  if (parts_.hooks->metric != nullptr) {
    FirstError failure;
    parts_.pool->run(shards, 1, [&](std::size_t first, std::size_t last) {
      TaskContext context(*parts_.store, parts_.seed, TaskContext::Mode::cut);
      std::vector<MetricPart> mine(count);
      for (std::size_t shard = first; shard < last; ++shard) {
        std::ranges::fill(mine, MetricPart{});
        const Task place{0, clock_, static_cast<ShardId>(shard), 0, 0};
        CHECK(context.acquire(place, {}).has_value());
        const std::string what = text("metric() of shard {} at clock {}", shard, clock_);
        failure.note(guarded(what, [&]() -> Status {
          parts_.hooks->metric(parts_.hooks->self, context, mine);
          return {};
        }));
        context.release();
        for (std::size_t m = 0; m < count; ++m) parts[m * shards + shard] = mine[m];
      }
    });
    TRY(failure.take());
  }
  for (std::size_t m = 0; m < count; ++m) {
    point.values.push_back(combined(report_.metrics[m].combine,
                                    tree_sum(std::span(parts).subspan(m * shards, shards))));
  }
  judge(point);
  report_.curve.push_back(point);
  if (!options_.on_metric) return {};
  return guarded("on_metric()", [&]() -> Status {
    options_.on_metric(point);
    return {};
  });
}

bool Run::is_better(double value, double than) const {
  if (report_.metrics[driving_].direction == Direction::lower_is_better) return value < than;
  return value > than;
}

// The stopping rules, on the driving metric. A value that is not a number is never an improvement.
void Run::judge(const MetricPoint& point) {
  if (point.values.empty()) return;
  const double value = point.values[driving_];
  if (std::isnan(value)) {
    log_.warn("job.metric_not_a_number",
              {{"metric", report_.metrics[driving_].name}, {"clock", clock_}});
  } else if (options_.tolerance > 0 && !report_.curve.empty()) {
    const double before = report_.curve.back().values[driving_];
    const double gain = is_better(value, before) ? std::abs(value - before) : 0;
    if (std::isfinite(before) && gain <= options_.tolerance * std::abs(before)) {
      stop_ = StopReason::converged;
    }
  }
  if (std::isfinite(value) && (!best_ || is_better(value, *best_))) {
    best_ = value;
    report_.best_clock = clock_;
    without_improvement_ = 0;
    if (options_.keep_best) best_sections_ = model_sections();
  } else if (++without_improvement_ >= options_.patience && options_.patience > 0) {
    stop_ = StopReason::no_improvement;
  }
}

}  // namespace castor::job

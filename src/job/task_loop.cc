#include "job/task_loop.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "job/task_boundary.h"

namespace castor::job {
namespace {

// A thread without a task looks this often before it sleeps: tasks are tens of microseconds long,
// and waking a sleeper costs as much. About 20 us in all.
constexpr int spins_max = 400;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

TaskLoop::TaskLoop(const Parts& parts, const schedule::Phase& phase, std::uint32_t phase_index,
                   Clock first)
    : parts_(parts), phase_(phase), is_sweep_(std::holds_alternative<Sweep>(phase.rule)) {
  schedule::BoardOptions options;
  options.shards = parts.store->shards;
  options.first = first;
  options.seed = parts.seed;
  options.phase = phase_index;
  board_ = schedule::make_board(phase, options);
  for (const TableEntry& entry : parts.store->tables) {
    const bool bounded = entry.table->spec().sharing == Sharing::bounded;
    has_bounded_ = has_bounded_ || bounded;
    has_leased_ = has_leased_ || !bounded;
  }
  fresh_until_ = latest_reader();
}

// The latest clock whose tasks every bounded table lets read: the predicate of each table's
// consistency, on the block that is furthest behind.
Clock TaskLoop::latest_reader() const {
  Clock least = std::numeric_limits<Clock>::max();
  for (const TableEntry& entry : parts_.store->tables) {
    const ps::TableStore& table = *entry.table;
    if (table.spec().sharing == Sharing::leased) continue;
    const int staleness = table.spec().staleness;
    const ps::Consistency& consistency = ps::consistency_of(staleness);
    for (BlockId block = 0; block < table.blocks(); ++block) {
      least = std::min(least, consistency.latest_reader(table.applied_next(block), staleness));
    }
  }
  return least;
}

// Tasks of clocks up to this one read what is recent enough.
Clock TaskLoop::latest_fresh() const {
  // A sweep over leased tables: what it reads or leases must have been left by all earlier clocks.
  return is_sweep_ && has_leased_ ? std::min(fresh_until_, board_->closed()) : fresh_until_;
}

bool TaskLoop::is_over() const { return failure_.has_value() || board_->closed() >= limit_; }

Result<Clock> TaskLoop::run(Clock limit, FunctionRef<bool()> should_cut) {
  {
    const MutexLock lock(mutex_);
    limit_ = limit;
    board_->allow_until(limit);
  }
  parts_.pool->run_on_all([&](unsigned index) { work(index, should_cut); });
  const MutexLock lock(mutex_);
  if (failure_) return *failure_;
  return board_->closed();
}

void TaskLoop::work(unsigned /*index*/, FunctionRef<bool()> should_cut) {
  TaskContext context(*parts_.store, parts_.seed, TaskContext::Mode::task);
  TouchSet touches;
  while (const std::optional<Task> task = next_task()) {
    bool committed = false;
    Status status = run_task(context, *task, touches, committed);
    const Clock fresh = committed ? latest_reader() : 0;
    if (book(*task, std::move(status), fresh) && should_cut()) cut();
  }
}

std::optional<Task> TaskLoop::next_task() {
  std::optional<Instant> waiting_since;
  for (;;) {
    const std::uint64_t seen = progress_.load();
    {
      const MutexLock lock(mutex_);
      std::optional<Task> task;
      if (!is_over()) {
        const Clock latest = latest_fresh();
        task = board_->take([latest](const Task& candidate) { return candidate.clock <= latest; });
      }
      CHECK(task || is_over() || running_ > 0, "clock {} cannot go on: no task runs, none may",
            board_->closed());
      if (task) ++running_;
      if (task || is_over()) {
        if (waiting_since) stalled_ns_ += (parts_.world->now() - *waiting_since).ns;
        return task;
      }
    }
    if (!waiting_since) waiting_since = parts_.world->now();
    int spins = 0;
    while (progress_.load() == seen && spins < spins_max) ++spins, relax();
    const MutexLock lock(mutex_);
    while (progress_.load() == seen) changed_.wait(mutex_);
  }
}

void TaskLoop::declare(TouchSet& touches, const Task& task) const {
  touches.clear();
  if (parts_.hooks->touches != nullptr) {
    parts_.hooks->touches(parts_.hooks->self, touches, task);
    return;
  }
  if (!is_sweep_) {
    touches.add({phase_.table, task.block, TouchSet::Mode::lease});
  }
  for (TableId id = 0; id < parts_.store->tables.size(); ++id) {
    if (parts_.store->tables[id].table->spec().sharing == Sharing::bounded) {
      touches.add({id, all_blocks, TouchSet::Mode::read});
    }
  }
}

Status TaskLoop::run_task(TaskContext& context, const Task& task, TouchSet& touches,
                          bool& committed) {
  TRY(guarded("touches", task, [&]() -> Status {
    declare(touches, task);
    return {};
  }));
  std::vector<OpenClock>& open = parts_.store->open[task.shard];
  if (std::ranges::find(open, task.clock, &OpenClock::clock) == open.end()) {
    open.push_back({task.clock, 0, {}});
  }
  Status status = context.acquire(task, touches, is_sweep_);
  if (status) {
    status = guarded("push", task,
                     [&] { return parts_.hooks->push(parts_.hooks->self, context, task); });
  }
  context.release();
  if (status) committed = commit_shard(task);
  return status;
}

// Counts the task; when it was the shard's last of its clock, commits what the shard added.
bool TaskLoop::commit_shard(const Task& task) {
  std::vector<OpenClock>& open = parts_.store->open[task.shard];
  const auto entry = std::ranges::find(open, task.clock, &OpenClock::clock);
  if (++entry->tasks_done < phase_.blocks) return false;
  CHECK(entry == open.begin(), "shard {} ends clock {} before an earlier one", task.shard,
        task.clock);
  if (has_bounded_) commit(task, *entry);
  open.erase(entry);
  return true;
}

// Every block of every bounded table learns that the shard has ended the clock.
void TaskLoop::commit(const Task& task, OpenClock& entry) {
  const auto place = [](const OpenClock::Change& change) {
    return std::pair(change.table, change.block);
  };
  std::ranges::sort(entry.changes, {}, place);
  auto change = entry.changes.begin();
  for (TableId id = 0; id < parts_.store->tables.size(); ++id) {
    ps::TableStore& table = *parts_.store->tables[id].table;
    if (table.spec().sharing == Sharing::leased) continue;
    for (BlockId block = 0; block < table.blocks(); ++block) {
      std::unique_ptr<ps::Delta> delta;
      if (change != entry.changes.end() && place(*change) == std::pair(id, block)) {
        delta = std::move((change++)->delta);
      }
      table.commit(task.shard, task.clock, block, std::move(delta));
    }
  }
  CHECK(change == entry.changes.end());
}

bool TaskLoop::book(const Task& task, Status status, Clock fresh) {
  bool closed_a_clock = false;
  {
    const MutexLock lock(mutex_);
    --running_;
    fresh_until_ = std::max(fresh_until_, fresh);
    if (status) {
      const Clock before = board_->closed();
      board_->done(task);
      closed_a_clock = board_->closed() > before;
      ++tasks_;
    } else if (!failure_) {
      failure_ = std::move(status).error();
    }
    progress_.fetch_add(1);
  }
  changed_.notify_all();
  return closed_a_clock;
}

// Ends with the clocks that have begun.
void TaskLoop::cut() {
  {
    const MutexLock lock(mutex_);
    limit_ = std::min(limit_, board_->begun());
    board_->allow_until(limit_);
    progress_.fetch_add(1);  // a thread that waits for a task may have none to wait for now
  }
  changed_.notify_all();
}

}  // namespace castor::job

#pragma once
// Runs the tasks of one phase on the pool until a limit, then returns at a consistent cut: every
// task of clocks before the limit done and committed, nothing begun after it.
//
// Thread: run() from one thread; the loop itself uses all threads of the pool.
#include <atomic>
#include <optional>

#include "core/function_ref.h"
#include "core/mutex.h"
#include "core/time.h"
#include "job/program.h"
#include "schedule/board.h"
#include "world/pool.h"
#include "world/world.h"

namespace castor::job {

class TaskLoop {
 public:
  struct Parts {
    const ProgramHooks* hooks;
    Store* store;
    world::Pool* pool;
    world::World* world;
    std::uint64_t seed;
  };
  // All clocks before `first` are done.
  TaskLoop(const Parts& parts, const schedule::Phase& phase, std::uint32_t phase_index,
           Clock first);

  // Runs clocks [now, limit). `should_cut` is asked after every task that closes a clock; true
  // makes the loop return as soon as what has begun is done. The clock reached.
  Result<Clock> run(Clock limit, FunctionRef<bool()> should_cut);

  std::uint64_t tasks() const { return tasks_; }
  Duration stalled() const { return {stalled_ns_}; }  // thread-time without a task to run

 private:
  void work(unsigned index, FunctionRef<bool()> should_cut);
  std::optional<Task> next_task() EXCLUDES_LOCK(mutex_);
  // `committed`: the task was its shard's last of its clock.
  Status run_task(TaskContext& context, const Task& task, TouchSet& touches, bool& committed);
  void declare(TouchSet& touches, const Task& task) const;
  bool commit_shard(const Task& task);
  void commit(const Task& task, OpenClock& entry);
  // Books a task that has ended. True when that closed a clock.
  bool book(const Task& task, Status status, Clock fresh) EXCLUDES_LOCK(mutex_);
  void cut() EXCLUDES_LOCK(mutex_);
  Clock latest_fresh() const REQUIRES_LOCK(mutex_);
  bool is_over() const REQUIRES_LOCK(mutex_);
  Clock latest_reader() const;

  const Parts parts_;
  const schedule::Phase phase_;
  const bool is_sweep_;
  bool has_bounded_ = false;
  bool has_leased_ = false;

  Mutex mutex_;
  CondVar changed_;
  std::unique_ptr<schedule::Board> board_ GUARDED_BY(mutex_);
  Clock limit_ GUARDED_BY(mutex_) = 0;
  Clock fresh_until_ GUARDED_BY(mutex_) = 0;  // bounded tables: tasks of clocks up to here may read
  std::optional<Error> failure_ GUARDED_BY(mutex_);
  unsigned running_ GUARDED_BY(mutex_) = 0;  // tasks taken and not ended
  std::uint64_t tasks_ = 0;                  // under mutex_ while running
  std::int64_t stalled_ns_ = 0;              // same
  std::atomic<std::uint64_t> progress_ = 0;  // counts finished tasks: what a waiting thread watches
};

}  // namespace castor::job

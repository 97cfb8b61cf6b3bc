#pragma once
// The board of tasks of one phase: which may run now. A state machine without threads, locks or
// I/O; the runtime calls it under its own lock. Shards and blocks are handed on only through it, so
// two tasks that run at the same time never share a shard or a scheduled block.
//
// Thread: one at a time.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/function_ref.h"
#include "core/ids.h"
#include "schedule/schedule.h"

namespace castor {

// One unit of work of a program.
struct Task {
  Epoch epoch = 0;
  Clock clock = 0;
  ShardId shard = 0;
  BlockId block = 0;  // of the scheduled table; 0 in a sweep
  std::uint32_t phase = 0;
};

namespace schedule {

struct BoardOptions {
  ShardId shards = 1;
  Clock first = 0;  // all clocks before it are done
  std::uint64_t seed = 1;
  std::uint32_t phase = 0;  // written into tasks
};

class Board {
 public:
  using Fresh = FunctionRef<bool(const Task&)>;

  virtual ~Board() = default;
  // Tasks of clocks < limit may run. A limit already passed has no effect on tasks already taken.
  virtual void allow_until(Clock limit) = 0;
  // A task that may run now and that `is_fresh` accepts: what it reads is recent enough.
  virtual std::optional<Task> take(Fresh is_fresh) = 0;
  virtual void done(const Task& task) = 0;
  // All tasks of clocks < closed() are done.
  virtual Clock closed() const = 0;
  // One past the latest clock of which a task has been taken (or `first`).
  virtual Clock begun() const = 0;
};

// The order for the phase's rule.
std::unique_ptr<Board> make_board(const Phase& phase, const BoardOptions& options);

}  // namespace schedule
}  // namespace castor

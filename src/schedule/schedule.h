#pragma once
// A schedule says which tasks a clock consists of and in what order they may run. It is a plain
// value: one or more phases, taken in turn and, after the last, from the first again.
//   sweep   one task a shard a clock (data parallel); `batches` clocks make one pass over the data
//   rotate  every (shard, block) pair once a clock, in an order fixed by the seed: a Latin square,
//           relabelled at random each clock. Blocks pass from shard to shard without any barrier
//   grid    every (shard, block) pair once a clock, any pair whose shard and block are free, the
//   least
//           visited first (Chin et al., "A fast parallel stochastic gradient method", FPSGD, 2015).
//           Conflict-free, but the order depends on which thread is faster
//
// Thread: any (plain value).
#include <variant>
#include <vector>

#include "core/ids.h"

namespace castor {

struct Sweep {
  std::uint32_t batches = 1;
};
struct Rotate {
  bool reshuffle = true;  // false: the same order at every clock
};
struct Grid {
  std::uint32_t slack = 1;  // clocks by which one pair may be ahead of another
};

namespace schedule {

struct Phase {
  std::variant<Sweep, Rotate, Grid> rule;
  BlockId blocks = 1;  // of the scheduled table; 1 for a sweep
  TableId table = 0;   // the scheduled table; unused by a sweep
  Clock clocks = 0;    // how long it lasts; 0 = for ever (only in a schedule of one phase)
};

}  // namespace schedule

class Schedule {
 public:
  Schedule() = default;
  explicit Schedule(schedule::Phase phase) : phases_{phase} {}
  explicit Schedule(std::vector<schedule::Phase> phases) : phases_(std::move(phases)) {}

  const std::vector<schedule::Phase>& phases() const { return phases_; }
  // Clocks in one pass over the data: what people count by.
  Clock clocks_per_pass() const;

  struct Place {
    std::size_t phase = 0;
    Clock end = 0;  // the first clock that is not of this phase's turn
  };
  // The phase that `clock` belongs to. REQUIRES: at least one phase.
  Place place(Clock clock) const;

 private:
  std::vector<schedule::Phase> phases_;
};

struct TimedSchedule {
  Schedule schedule;
  Clock clocks = 1;
};

Schedule sweep(Sweep rule = {});
// {schedule, clocks} in turn, from the first again after the last. REQUIRES: clocks >= 1 each.
Schedule phases(const std::vector<TimedSchedule>& parts);

}  // namespace castor

#include "schedule/schedule.h"

#include <limits>

#include "core/check.h"

namespace castor {

Clock Schedule::clocks_per_pass() const {
  if (phases_.size() == 1) {
    const Sweep* rule = std::get_if<Sweep>(&phases_.front().rule);
    return rule == nullptr ? 1 : rule->batches;
  }
  Clock total = 0;
  for (const schedule::Phase& phase : phases_) total += phase.clocks;
  return total;
}

Schedule::Place Schedule::place(Clock clock) const {
  CHECK(!phases_.empty() && clock >= 0);
  if (phases_.size() == 1) return {0, std::numeric_limits<Clock>::max()};
  const Clock round = clocks_per_pass();
  Clock end = clock / round * round;
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    end += phases_[i].clocks;
    if (clock < end) return {i, end};
  }
  CHECK(false, "clock {} is in no phase", clock);
  return {};
}

Schedule sweep(Sweep rule) {
  CHECK(rule.batches >= 1);
  return Schedule(schedule::Phase{rule});
}

Schedule phases(const std::vector<TimedSchedule>& parts) {
  std::vector<schedule::Phase> all;
  for (const TimedSchedule& part : parts) {
    CHECK(part.clocks >= 1, "a phase lasts at least one clock");
    CHECK(part.schedule.phases().size() == 1, "phases do not nest");
    all.push_back(part.schedule.phases().front());
    all.back().clocks = part.clocks;
  }
  CHECK(!all.empty(), "no phases");
  return Schedule(std::move(all));
}

}  // namespace castor

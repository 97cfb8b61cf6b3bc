#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include <limits>

namespace castor {
namespace {

Schedule rotate_of(BlockId blocks) { return Schedule(schedule::Phase{Rotate{}, blocks, 0}); }

TEST(Schedule, OnePhaseLastsForEver) {
  for (const Clock clock : {Clock{0}, Clock{1}, Clock{1000000}}) {
    const Schedule::Place place = sweep({.batches = 4}).place(clock);
    EXPECT_EQ(place.phase, 0U);
    EXPECT_EQ(place.end, std::numeric_limits<Clock>::max());
  }
}

TEST(Schedule, APassIsAllBatchesOfASweepAClockOfARotationAllPhasesOfSeveral) {
  EXPECT_EQ(sweep().clocks_per_pass(), 1);
  EXPECT_EQ(sweep({.batches = 4}).clocks_per_pass(), 4);
  EXPECT_EQ(rotate_of(5).clocks_per_pass(), 1);
  EXPECT_EQ(phases({{rotate_of(2), 3}, {sweep(), 2}}).clocks_per_pass(), 5);
}

// Against a walk that counts clocks off one by one.
TEST(Schedule, PhasesTakeTurnsForTheirClocks) {
  for (Clock a = 1; a <= 3; ++a) {
    for (Clock b = 1; b <= 3; ++b) {
      for (Clock c = 1; c <= 3; ++c) {
        const Schedule all = phases({{sweep(), a}, {rotate_of(3), b}, {sweep({.batches = 2}), c}});
        const Clock length[] = {a, b, c};
        std::size_t phase = 0;
        Clock end = a;
        for (Clock clock = 0; clock < 25; ++clock) {
          if (clock == end) phase = (phase + 1) % 3, end += length[phase];
          const Schedule::Place place = all.place(clock);
          ASSERT_EQ(place.phase, phase) << clock;
          ASSERT_EQ(place.end, end) << clock;
        }
      }
    }
  }
}

TEST(Schedule, PhasesKeepTheRulesOfTheirParts) {
  const Schedule all = phases({{rotate_of(6), 2}, {sweep(), 1}});
  ASSERT_EQ(all.phases().size(), 2U);
  EXPECT_EQ(all.phases()[0].blocks, 6U);
  EXPECT_TRUE(std::holds_alternative<Rotate>(all.phases()[0].rule));
  EXPECT_TRUE(std::holds_alternative<Sweep>(all.phases()[1].rule));
}

TEST(ScheduleDeath, PhasesWithoutClocksOrNestedAreBugs) {
  EXPECT_DEATH(phases({}), "no phases");
  EXPECT_DEATH(phases({{sweep(), 0}}), "at least one clock");
  EXPECT_DEATH(phases({{phases({{sweep(), 1}, {sweep(), 1}}), 1}}), "do not nest");
}

}  // namespace
}  // namespace castor

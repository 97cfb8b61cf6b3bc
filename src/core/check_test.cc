#include "core/check.h"

#include <gtest/gtest.h>

namespace castor {
namespace {

TEST(CheckDeathTest, SaysConditionPlaceAndContext) {
  const int clock = -3;
  EXPECT_DEATH(CHECK(clock >= 0, "clock {}", clock), "clock >= 0.*check_test.cc.*clock -3");
  EXPECT_DEATH(CHECK(clock >= 0), "clock >= 0");
}

TEST(Check, EvaluatesItsConditionOnceAndItsContextNever) {
  int conditions = 0, contexts = 0;
  CHECK(++conditions > 0, "{}", ++contexts);
  EXPECT_EQ(conditions, 1);
  EXPECT_EQ(contexts, 0);
}

}  // namespace
}  // namespace castor

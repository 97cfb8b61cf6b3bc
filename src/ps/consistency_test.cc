#include "ps/consistency.h"

#include <gtest/gtest.h>

namespace castor::ps {
namespace {

bool may_read(int staleness, Clock reader, Clock applied_next) {
  return consistency_of(staleness).may_read({reader, applied_next}, staleness);
}

TEST(Consistency, AStalenessHasOneName) {
  EXPECT_EQ(consistency_of(0).name, "bsp");
  EXPECT_EQ(consistency_of(1).name, "ssp");
  EXPECT_EQ(consistency_of(100).name, "ssp");
  EXPECT_EQ(consistency_of(staleness_unbounded).name, "async");
}

// From the definition: a read at clock c with staleness s holds every commit stamped <= c - s - 1.
TEST(Consistency, AllowsExactlyTheReadsThatTheDefinitionAllows) {
  for (int staleness = 0; staleness <= 4; ++staleness) {
    for (Clock reader = 0; reader <= 8; ++reader) {
      for (Clock applied_next = 0; applied_next <= 8; ++applied_next) {
        bool holds_all = true;
        for (Clock stamp = 0; stamp <= reader - staleness - 1; ++stamp) {
          holds_all = holds_all && stamp < applied_next;
        }
        EXPECT_EQ(may_read(staleness, reader, applied_next), holds_all)
            << "s " << staleness << " c " << reader << " applied " << applied_next;
      }
    }
  }
}

TEST(Consistency, AsyncReadsAnything) {
  for (Clock reader = 0; reader <= 5; ++reader)
    EXPECT_TRUE(may_read(staleness_unbounded, reader, 0));
}

TEST(Consistency, EveryEntryStatesItsGuarantee) {
  for (const Consistency& entry : consistencies()) {
    EXPECT_FALSE(entry.name.empty());
    EXPECT_FALSE(entry.guarantee.empty());
  }
}

}  // namespace
}  // namespace castor::ps

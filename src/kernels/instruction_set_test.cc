#include "kernels/instruction_set.h"

#include <gtest/gtest.h>
#include <set>
#include <string_view>

namespace castor::kernels {
namespace {

TEST(InstructionSet, PortableAlwaysRuns) {
  EXPECT_TRUE(may_run(InstructionSet::portable));
  EXPECT_EQ(instruction_sets().front(), InstructionSet::portable);
}

TEST(InstructionSet, TheBestIsTheLastThatMayRun) {
  EXPECT_EQ(best_instruction_set(), instruction_sets().back());
  for (InstructionSet set : instruction_sets()) EXPECT_TRUE(may_run(set));
}

TEST(InstructionSet, NamesDiffer) {
  const std::set<std::string_view> names = {name_of(InstructionSet::portable),
                                            name_of(InstructionSet::avx2),
                                            name_of(InstructionSet::avx512)};
  EXPECT_EQ(names.size(), 3U);
}

}  // namespace
}  // namespace castor::kernels

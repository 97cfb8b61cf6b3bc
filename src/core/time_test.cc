#include "core/time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace castor {
namespace {

TEST(Duration, FromSecondsStaysInRange) {
  EXPECT_EQ(Duration::from_seconds(1.5).ns, 1'500'000'000);
  EXPECT_EQ(Duration::from_seconds(-1.5).ns, -1'500'000'000);
  EXPECT_EQ(Duration::from_seconds(1e300).ns, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(Duration::from_seconds(-1e300).ns, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(Duration::from_seconds(std::nan("")).ns, 0);
  EXPECT_EQ(Duration::from_ms(2), Duration{2'000'000});
}

TEST(Instant, DifferencesAreDurations) {
  constexpr Instant start{5};
  constexpr Instant later = start + Duration{7};
  static_assert(later - start == Duration{7});
  static_assert(later > start);
  EXPECT_DOUBLE_EQ(Duration{1'500'000}.seconds(), 0.0015);
}

}  // namespace
}  // namespace castor

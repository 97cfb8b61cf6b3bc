#include "core/aligned.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace castor {
namespace {

TEST(AlignedVector, IsZeroAndStartsOnACacheLine) {
  for (const std::size_t size : {1u, 3u, 16u, 17u, 1000u, 1u << 20, (1u << 20) + 1}) {
    const AlignedVector<float> values(size);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(values.data()) % cache_line_bytes, 0u) << size;
    ASSERT_EQ(values.size(), size);
    for (const float value : values) ASSERT_EQ(value, 0.0f);
  }
}

TEST(AlignedVector, IsOnAHugePageFromFourMebibytesOn) {
  const AlignedVector<std::byte> values(std::size_t{4} << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(values.data()) % (std::size_t{2} << 20), 0u);
}

TEST(AlignedVector, OfNothingHoldsNothing) {
  const AlignedVector<int> none(0);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(none.copy().size(), 0u);
}

TEST(AlignedVector, MovesItsStorageAndCopiesItsValues) {
  AlignedVector<int> a(3);
  a[0] = 1, a[2] = 3;
  const int* place = a.data();
  AlignedVector<int> b = std::move(a);
  EXPECT_EQ(b.data(), place);
  AlignedVector<int> c = b.copy();
  EXPECT_NE(c.data(), place);
  EXPECT_EQ(c[2], 3);
  c[2] = 4;
  EXPECT_EQ(b[2], 3);
  b = std::move(c);
  EXPECT_EQ(b[2], 4);
}

TEST(AlignedVector, AssigningItselfToItselfKeepsIt) {
  AlignedVector<int> a(2);
  a[1] = 5;
  AlignedVector<int>& same = a;
  a = std::move(same);
  ASSERT_EQ(a.size(), 2u);
  EXPECT_EQ(a[1], 5);
}

}  // namespace
}  // namespace castor

#include "job/codec.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace castor {
namespace {

template <class T>
std::vector<std::byte> encoded(const T& value) {
  ByteWriter out;
  encode_state(out, value);
  return out.take();
}

// Comes back equal; every truncation is noticed.
template <class T>
void expect_round_trip(const T& value, const auto& is_equal) {
  const std::vector<std::byte> bytes = encoded(value);
  T again{};
  ByteReader in(bytes);
  decode_state(in, again);
  ASSERT_TRUE(in.finish("state"));
  ASSERT_TRUE(is_equal(value, again));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    T cut{};
    ByteReader half({bytes.data(), size});
    decode_state(half, cut);
    ASSERT_FALSE(half.finish("state"));
  }
}

constexpr auto same = [](const auto& a, const auto& b) { return a == b; };

TEST(Codec, NumbersAndVectorsOfThemComeBack) {
  expect_round_trip(std::int64_t{-5}, same);
  expect_round_trip(2.5, same);
  expect_round_trip(true, same);
  expect_round_trip(std::vector<float>{1, 2, 3}, same);
  expect_round_trip(std::vector<std::uint8_t>{}, same);
}

TEST(Codec, VectorsOfFixedRowsComeBackAsAVectorOfTheirValuesWould) {
  const std::vector<std::array<float, 3>> rows = {{1, 2, 3}, {4, 5, 6}};
  expect_round_trip(rows, same);
  expect_round_trip(std::vector<std::array<double, 2>>{}, same);
  EXPECT_EQ(encoded(rows), encoded(std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Codec, ARowThatIsNotWholeIsRefused) {
  const std::vector<std::byte> bytes = encoded(std::vector<float>{1, 2, 3, 4});
  std::vector<std::array<float, 3>> rows;
  ByteReader in(bytes);
  decode_state(in, rows);
  EXPECT_FALSE(in.finish("state"));
}

TEST(Codec, AlignedVectorsComeBack) {
  AlignedVector<float> values(5);
  values[3] = 7;
  expect_round_trip(
      values, [](const auto& a, const auto& b) { return std::ranges::equal(a.span(), b.span()); });
}

}  // namespace
}  // namespace castor

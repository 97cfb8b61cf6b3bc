#include "core/compress.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <vector>

#include "core/property.h"

namespace castor {
namespace {

std::vector<std::byte> drawn(Rng& rng, std::size_t size) {
  std::vector<std::byte> bytes(size);
  const std::uint64_t kinds = 1 + rng.below(256);
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng.below(kinds));
  return bytes;
}

TEST(Compress, GivesBackWhatWasPutIn) {
  for_seeds(50, [](Rng& rng) {
    const auto bytes = drawn(rng, rng.below(20'000));
    const auto packed = compressed(bytes, static_cast<int>(1 + rng.below(5)));
    const auto back = decompressed(packed, bytes.size());
    ASSERT_TRUE(back) << back.error().message();
    ASSERT_EQ(*back, bytes);
  });
}

TEST(Compress, NoticesEveryFlippedBit) {
  Rng rng(StreamKey{});
  const auto bytes = drawn(rng, 300);
  auto packed = compressed(bytes);
  for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
    packed[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const auto back = decompressed(packed, bytes.size());
    if (back) {  // a few bits of the frame's head mean nothing
      ASSERT_EQ(*back, bytes) << bit;
    } else {
      ASSERT_EQ(back.error().code(), Code::corrupt);
    }
    packed[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
}

TEST(Compress, NoticesEveryTruncationAndWhatIsLeftOver) {
  Rng rng(StreamKey{});
  const auto bytes = drawn(rng, 300);
  auto packed = compressed(bytes);
  for (std::size_t size = 0; size < packed.size(); ++size) {
    ASSERT_FALSE(decompressed(std::span(packed).first(size), bytes.size())) << size;
  }
  packed.push_back(std::byte{0});
  EXPECT_FALSE(decompressed(packed, bytes.size()));
}

TEST(Compress, NoticesALieAboutTheSize) {
  const std::vector<std::byte> bytes(1000);
  const auto packed = compressed(bytes);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{999}, std::size_t{1001}, std::size_t{1} << 60,
        std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() - 1}) {
    EXPECT_FALSE(decompressed(packed, size)) << size;
    EXPECT_FALSE(decompressed({}, size)) << size;
    EXPECT_FALSE(decompressed(bytes, size)) << size;
  }
}

}  // namespace
}  // namespace castor

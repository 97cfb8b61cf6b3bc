#include "core/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <set>
#include <vector>

#include "core/property.h"

namespace castor {
namespace {

using Words = std::array<std::uint32_t, 4>;

TEST(Philox, GivesThePublishedAnswers) {  // kat_vectors of Random123
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Chi-square of counts against equal probabilities, in standard deviations from its mean.
double chi_square_excess(const std::vector<double>& counts, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  }
  const double freedom = static_cast<double>(counts.size() - 1);
  return (sum - freedom) / std::sqrt(2 * freedom);
}

constexpr int draws = 200'000;

TEST(Rng, UniformIsFlat) {
  Rng rng(StreamKey{.seed = 3});
  std::vector<double> counts(100), float_counts(100);
  for (int i = 0; i < draws; ++i) {
    const double x = rng.uniform();
    const float y = rng.uniform_float();
    ASSERT_TRUE(x >= 0 && x < 1 && y >= 0 && y < 1);
    ++counts[static_cast<std::size_t>(x * 100)];
    ++float_counts[static_cast<std::size_t>(y * 100)];
  }
  const std::vector<double> expected(100, draws / 100.0);
  EXPECT_LT(std::abs(chi_square_excess(counts, expected)), 4);
  EXPECT_LT(std::abs(chi_square_excess(float_counts, expected)), 4);
}

TEST(Rng, BelowIsFlatAndBelowItsBound) {
  for (const std::uint64_t bound : {1u, 2u, 3u, 7u, 64u, 100u}) {
    Rng rng(StreamKey{.seed = bound});
    std::vector<double> counts(bound);
    for (int i = 0; i < draws; ++i) {
      const std::uint64_t x = rng.below(bound);
      ASSERT_LT(x, bound);
      ++counts[x];
    }
    if (bound == 1) continue;
    const std::vector<double> expected(bound, draws / static_cast<double>(bound));
    EXPECT_LT(std::abs(chi_square_excess(counts, expected)), 4) << bound;
  }
}

TEST(Rng, BelowIsUnbiasedForABoundThatDividesBadly) {
  // Without rejection, numbers of the lower two thirds of 3 * 2^62 would come up twice as often.
  Rng rng(StreamKey{.seed = 5});
  const std::uint64_t bound = std::uint64_t{3} << 62;
  int low = 0;
  for (int i = 0; i < draws; ++i) low += rng.below(bound) < bound / 2 ? 1 : 0;
  EXPECT_NEAR(low, draws / 2, 4 * std::sqrt(draws / 4.0));
}

TEST(Rng, NormalHasTheBellsShape) {
  Rng rng(StreamKey{.seed = 11});
  const auto distribution = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
  constexpr int cells = 60;  // of width 0.1 from -3 to 3, and the tails
  std::vector<double> counts(cells + 2), expected(cells + 2);
  for (int i = 0; i < draws; ++i) {
    const double cell = std::floor((rng.normal() + 3) * 10) + 1;
    ++counts[static_cast<std::size_t>(std::clamp(cell, 0.0, cells + 1.0))];
  }
  for (int i = 0; i < cells; ++i) {
    const double left = -3 + i * 0.1;
    expected[static_cast<std::size_t>(i) + 1] =
        draws * (distribution(left + 0.1) - distribution(left));
  }
  expected.front() = expected.back() = draws * distribution(-3);
  EXPECT_LT(std::abs(chi_square_excess(counts, expected)), 4);
}

TEST(Rng, ShuffleGivesEveryOrderEquallyOften) {
  Rng rng(StreamKey{.seed = 13});
  std::map<std::vector<std::uint32_t>, double> orders;
  for (int i = 0; i < draws; ++i) {
    std::vector<std::uint32_t> items = {0, 1, 2, 3};
    rng.shuffle(items);
    ++orders[items];
  }
  ASSERT_EQ(orders.size(), 24u);
  std::vector<double> counts;
  for (const auto& [order, count] : orders) counts.push_back(count);
  EXPECT_LT(std::abs(chi_square_excess(counts, std::vector<double>(24, draws / 24.0))), 4);
}

TEST(Rng, EqualKeysGiveEqualStreams) {
  const StreamKey key{.seed = 9, .shard = 8, .clock = 7, .block = 6};
  Rng a(key), b(key);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(a.next(), b.next());
}

TEST(Rng, ACopyContinuesFromTheSamePlace) {
  Rng a(StreamKey{});
  static_cast<void>(a.normal());  // leaves a spare
  Rng b = a;
  EXPECT_EQ(a.normal(), b.normal());
  EXPECT_EQ(a.next(), b.next());
}

TEST(Rng, StreamsOfDifferentKeysDiffer) {
  std::set<std::uint64_t> seen;
  std::size_t streams = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    for (ShardId shard = 0; shard < 6; ++shard) {
      for (Clock clock = 0; clock < 6; ++clock) {
        for (BlockId block = 0; block < 6; ++block) {
          Rng rng({.seed = seed, .shard = shard, .clock = clock, .block = block});
          for (int i = 0; i < 8; ++i) seen.insert(rng.next());
          ++streams;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), streams * 8);  // 64-bit values: a repeat is as good as impossible
}

TEST(Rng, NeighbouringStreamsAreUncorrelated) {
  double sum = 0;
  for (ShardId shard = 0; shard < 10'000; ++shard) {
    Rng a({.seed = 1, .shard = shard}), b({.seed = 1, .shard = shard + 1});
    sum += (a.uniform() - 0.5) * (b.uniform() - 0.5);
  }
  EXPECT_NEAR(sum / 10'000 * 12, 0, 4 / std::sqrt(10'000.0));
}

TEST(Mix64, IsTheFinaliserOfSplitmix64) {
  EXPECT_EQ(mix64(0), 0xe220a8397b1dcdafu);  // the first output of splitmix64 seeded with 0
}

TEST(RngDeathTest, BelowZeroIsABug) {
  Rng rng(StreamKey{});
  EXPECT_DEATH(static_cast<void>(rng.below(0)), "bound > 0");
}

}  // namespace
}  // namespace castor

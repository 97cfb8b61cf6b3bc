#include "programs/mf_input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "programs/mf_fixture.h"

namespace castor::programs {
namespace {

TEST(BandOf, CutsEverythingOnceWithoutOverlap) {
  for (std::uint32_t total : {1U, 2U, 7U, 16U, 100U, 101U}) {
    for (std::uint32_t parts : {1U, 2U, 3U, 8U, 16U, 200U}) {
      std::uint32_t next = 0;
      for (std::uint32_t part = 0; part < parts; ++part) {
        const Band band = band_of(total, parts, part);
        EXPECT_EQ(band.first, std::min(next, total));
        EXPECT_LE(band.count, (total + parts - 1) / parts);
        next = band.first + band.count;
      }
      EXPECT_EQ(next, total);
    }
  }
}

// The rating multiset by index survives relabelling and grouping.
TEST(PrepareInput, KeepsEveryRatingAndPutsItIntoItsUsersShard) {
  for (ShardId shards : {1U, 3U, 8U, 100U}) {
    std::vector<data::Rating> ratings =
        testing::planted({.users = 30, .items = 20, .seed = shards});
    ratings.push_back(ratings.front());  // a pair observed twice
    const auto original = ratings;
    const MfInput input = testing::input_of(ratings, {30, 20}, shards);
    std::map<std::tuple<std::uint32_t, std::uint32_t, float>, int> left;
    for (const data::Rating& rating : original) ++left[{rating.user, rating.item, rating.value}];
    for (ShardId shard = 0; shard < shards; ++shard) {
      const Band band = band_of(30, shards, shard);
      for (const kernels::MfRating& rating : input.train.of(shard)) {
        EXPECT_GE(rating.user, band.first);
        EXPECT_LT(rating.user, band.first + band.count);
        --left[{input.users.index_at[rating.user], input.items.index_at[rating.item],
                rating.rating}];
      }
    }
    for (const auto& [key, count] : left) EXPECT_EQ(count, 0);
    EXPECT_EQ(std::accumulate(input.users.degree.begin(), input.users.degree.end(), 0U),
              original.size());
    EXPECT_EQ(std::accumulate(input.items.degree.begin(), input.items.degree.end(), 0U),
              original.size());
  }
}

TEST(PrepareInput, LabelsAreAPermutationAndItsInverse) {
  const MfInput input = testing::input_of(testing::planted({}), {60, 40}, 4);
  std::vector<std::uint32_t> sorted = input.users.index_at;
  std::ranges::sort(sorted);
  for (std::uint32_t i = 0; i < 60; ++i) {
    EXPECT_EQ(sorted[i], i);
    EXPECT_EQ(input.users.index_at[input.users.position_of[i]], i);
  }
}

TEST(PrepareInput, MeanAndDeviationAreThoseOfTheValues) {
  const std::vector<data::Rating> ratings = {{0, 0, 1}, {0, 1, 2}, {1, 0, 3}, {1, 1, 6}};
  const MfInput input = testing::input_of(ratings, {2, 2}, 2);
  EXPECT_DOUBLE_EQ(input.mean, 3);
  EXPECT_DOUBLE_EQ(input.deviation, std::sqrt(3.5));
  EXPECT_EQ(input.value_least, 1);
  EXPECT_EQ(input.value_most, 6);
}

TEST(PrepareInput, EqualValuesHaveDeviationOneSoThatNothingIsDividedByZero) {
  const std::vector<data::Rating> ratings = {{0, 0, 4}, {0, 1, 4}};
  EXPECT_EQ(testing::input_of(ratings, {1, 2}, 1).deviation, 1);
}

TEST(PrepareInput, TestRatingsWithUnknownIdsGoToShardZeroAndStayUnknown) {
  const std::vector<data::Rating> test = {{data::IdMap::npos, 0, 2}, {5, data::IdMap::npos, 2}};
  const MfInput input = testing::input_of(testing::planted({}), {60, 40}, 4, 1, test);
  EXPECT_EQ(input.test.size(), 2U);
  std::size_t unknown_users = 0;
  for (const auto& rating : input.test.of(0))
    unknown_users += rating.user == data::IdMap::npos ? 1 : 0;
  EXPECT_EQ(unknown_users, 1U);
}

TEST(PrepareInput, TheFingerprintSeesAChangedValueButNotTheOrder) {
  std::vector<data::Rating> ratings = testing::planted({});
  const auto before = testing::input_of(ratings, {60, 40}, 4).fingerprint;
  std::swap(ratings[0], ratings[5]);
  EXPECT_EQ(testing::input_of(ratings, {60, 40}, 4).fingerprint, before);
  ratings[3].value += 0.5F;
  EXPECT_NE(testing::input_of(ratings, {60, 40}, 4).fingerprint, before);
}

}  // namespace
}  // namespace castor::programs

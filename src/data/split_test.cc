#include "data/split.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/property.h"

namespace castor::data {
namespace {

Ratings random_ratings(Rng& rng, std::uint32_t users, std::size_t count) {
  Ratings ratings;
  for (std::size_t i = 0; i < count; ++i) {
    const auto user = static_cast<std::uint32_t>(rng.below(users));
    ratings.ratings.push_back({ratings.users.add_number(user),
                               ratings.items.add_number(static_cast<std::uint32_t>(i)), 1});
  }
  return ratings;
}

std::vector<std::uint32_t> held_per_user(const Ratings& ratings,
                                         const std::vector<std::uint8_t>& mask) {
  std::vector<std::uint32_t> counts(ratings.users.size());
  for (std::size_t i = 0; i < mask.size(); ++i) counts[ratings.ratings[i].user] += mask[i];
  return counts;
}

TEST(Split, AShareIsHeldOutAtRandomAndDependsOnTheSeedAlone) {
  Rng rng(StreamKey{});
  const Ratings ratings = random_ratings(rng, 50, 20000);
  const auto mask = held_out(ratings, {.test = 0.1});
  ASSERT_TRUE(mask.has_value());
  const auto count = std::ranges::count(*mask, 1);
  EXPECT_NEAR(static_cast<double>(count), 2000, 6 * 42);  // six deviations
  EXPECT_EQ(*mask, *held_out(ratings, {.test = 0.1}));
  EXPECT_NE(*mask, *held_out(ratings, {.test = 0.1, .seed = 2}));
  const auto larger = held_out(ratings, {.test = 0.2});  // a larger share holds the smaller one
  for (std::size_t i = 0; i < mask->size(); ++i) EXPECT_LE((*mask)[i], (*larger)[i]);
}

TEST(Split, SoManyOfEachUserAreHeldOutButNeverAll) {
  for_seeds(50, [](Rng& rng) {
    const Ratings ratings = random_ratings(rng, 10, 60 + rng.below(100));
    std::vector<std::uint32_t> degrees(ratings.users.size());
    for (const Rating& rating : ratings.ratings) ++degrees[rating.user];
    const auto per_user = static_cast<std::int64_t>(1 + rng.below(12));
    for (const char* by : {"random", "last"}) {
      const auto mask = held_out(ratings, {.per_user = per_user, .by = by});
      ASSERT_TRUE(mask.has_value()) << mask.error().message();
      const auto held = held_per_user(ratings, *mask);
      for (std::size_t u = 0; u < held.size(); ++u) {
        EXPECT_EQ(held[u],
                  std::min<std::uint32_t>(static_cast<std::uint32_t>(per_user), degrees[u] - 1));
      }
    }
  });
}

TEST(Split, HoldingOutMoreOfEachUserKeepsThoseHeldOutBefore) {
  Rng rng(StreamKey{});
  const Ratings ratings = random_ratings(rng, 10, 500);
  auto before = held_out(ratings, {.per_user = 1}).value();
  EXPECT_NE(before, *held_out(ratings, {.per_user = 1, .seed = 2}));
  for (std::int64_t per_user = 2; per_user < 20; ++per_user) {
    const auto now = held_out(ratings, {.per_user = per_user}).value();
    for (std::size_t i = 0; i < now.size(); ++i) EXPECT_LE(before[i], now[i]);
    before = now;
  }
}

TEST(Split, TheLastAreThoseAtTheEndOfTheInput) {
  for_seeds(50, [](Rng& rng) {
    const Ratings ratings = random_ratings(rng, 5, 100);
    const auto mask = held_out(ratings, {.test = 0.3, .by = "last"});
    ASSERT_TRUE(mask.has_value());
    std::vector<bool> begun(ratings.users.size());
    for (std::size_t i = 0; i < mask->size(); ++i) {
      const std::uint32_t user = ratings.ratings[i].user;
      if (begun[user]) {
        EXPECT_EQ((*mask)[i], 1);
      }
      begun[user] = begun[user] || (*mask)[i] != 0;
    }
  });
}

TEST(Split, SplitsThatLeaveNothingAreErrors) {
  Ratings one;
  one.ratings.push_back({one.users.add("1"), one.items.add("1"), 1});
  EXPECT_EQ(held_out(one, {.per_user = 1}).error().code(), Code::invalid);
  EXPECT_EQ(held_out(one, {.test = 1}).error().code(), Code::invalid);
  EXPECT_EQ(held_out(one, {.test = 0}).error().code(), Code::invalid);
  EXPECT_EQ(held_out(one, {.by = "first"}).error().code(), Code::invalid);
}

}  // namespace
}  // namespace castor::data

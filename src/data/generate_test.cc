#include "data/generate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "data/fixture.h"

namespace castor::data {
namespace {

std::vector<Rating> generated(unsigned threads, const GenerateOptions& options) {
  world::Pool pool(threads);
  std::vector<Rating> all;
  const auto report = generate_ratings(
      pool, options, [&](std::span<const Rating> ratings, std::span<const std::uint8_t>) -> Status {
        all.insert(all.end(), ratings.begin(), ratings.end());
        return {};
      });
  EXPECT_TRUE(report.has_value()) << report.error().message();
  return all;
}

TEST(Generate, GivesExactlyTheRatingsAskedForAndNoPairTwice) {
  const GenerateOptions cases[] = {
      {.users = 1, .items = 1, .ratings = 0},     {.users = 1, .items = 10, .ratings = 9},
      {.users = 10, .items = 10, .ratings = 90},  {.users = 300, .items = 70, .ratings = 6000},
      {.users = 500, .items = 400, .ratings = 7}, {.users = 3, .items = 5000, .ratings = 12000},
  };
  for (GenerateOptions options : cases) {
    if (options.ratings == 0) continue;
    const auto ratings = generated(1, options);
    EXPECT_EQ(ratings.size(), static_cast<std::size_t>(options.ratings));
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (const Rating& rating : ratings) {
      EXPECT_TRUE(pairs.emplace(rating.user, rating.item).second);
      EXPECT_LT(rating.user, options.users);
      EXPECT_LT(rating.item, options.items);
      EXPECT_EQ(rating.value * 2, std::round(rating.value * 2));
      EXPECT_GE(rating.value, 0.5f);
      EXPECT_LE(rating.value, 5);
    }
  }
}

TEST(Generate, IsAFunctionOfTheOptionsAlone) {
  const GenerateOptions options{.users = 2000, .items = 700, .ratings = 100000};
  const auto one = generated(1, options);
  EXPECT_EQ(one, generated(3, options));
  GenerateOptions other = options;
  other.seed = 2;
  EXPECT_NE(one, generated(1, other));
}

TEST(Generate, FilesAreReadBackAndTheFloorIsTheNoise) {
  Disk disk;
  world::Pool pool(2);
  const GenerateOptions options{
      .users = 1000, .items = 300, .ratings = 40000, .noise = 0.5, .test = 0.25};
  const auto report = generate_ratings(disk.files, pool, options, "train.csv", "test.tsv");
  ASSERT_TRUE(report.has_value()) << report.error().message();
  const auto train = read_ratings(disk.files, pool, {.paths = {"train.csv"}});
  const auto test = read_ratings(disk.files, pool, {.paths = {"test.tsv"}});
  ASSERT_TRUE(train.has_value() && test.has_value());
  EXPECT_EQ(train->ratings.size() + test->ratings.size(), 40000u);
  EXPECT_EQ(test->ratings.size(), report->test_ratings);
  EXPECT_NEAR(static_cast<double>(report->test_ratings), 10000, 500);
  EXPECT_EQ(train->stats.duplicates, 0u);
  EXPECT_EQ(train->stats.files[0].format, RatingsFormat::comma);
  EXPECT_TRUE(train->users.is_numeric());
  EXPECT_EQ(train->users.find("0"), IdMap::npos);
  // Rounding adds 0.5^2 / 12 to the variance, clamping at the ends takes some away.
  EXPECT_NEAR(report->rmse_floor, std::sqrt(0.25 + 0.25 / 12), 0.03);
  EXPECT_NEAR(report->test_rmse_floor, report->rmse_floor, 0.02);
}

TEST(Generate, RatingsVaryOverUsersAndItemsAsInRealData) {
  const auto ratings = generated(1, {.users = 2000, .items = 1000, .ratings = 100000});
  std::vector<int> users(2000), items(1000);
  for (const Rating& rating : ratings) ++users[rating.user], ++items[rating.item];
  std::ranges::sort(users);
  std::ranges::sort(items);
  EXPECT_GE(users.front(), 20);
  EXPECT_GT(users.back(), 4 * users[1000]);
  EXPECT_GT(items.back(), 4 * items[500]);
}

TEST(Generate, ImpossibleOptionsAreErrorsAndAFailureLeavesNoFile) {
  world::Pool pool(1);
  Disk disk;
  const auto code = [&](const GenerateOptions& options, const std::string& test = "") {
    const auto result = generate_ratings(disk.files, pool, options, "r", test);
    return result.has_value() ? std::string("fine") : std::string(name_of(result.error().code()));
  };
  EXPECT_EQ(code({.users = 10, .items = 10, .ratings = 91}), "invalid");
  EXPECT_EQ(code({.users = 0}), "invalid");
  EXPECT_EQ(code({.rank = 0}), "invalid");
  EXPECT_EQ(code({.test = 0.1}), "invalid");
  EXPECT_EQ(code({.test = 0.1}, "r"), "invalid");
  EXPECT_EQ(code({}, "t"), "invalid");
  disk.files.set_faults({.capacity_bytes = 1000});
  EXPECT_EQ(code({}), "exhausted");
  EXPECT_EQ(disk.files.list("").value(), std::vector<std::string>{});
}

}  // namespace
}  // namespace castor::data

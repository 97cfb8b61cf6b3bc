// Implicit feedback; what als has in common with ccd is in mf_descent_test.cc.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/mf_sgd.h"
#include "programs/mf_fixture.h"
#include "programs/mf_solver.h"
#include "programs/ranking.h"

namespace castor::programs {
namespace {

MfOptions implicit_options() {
  MfOptions options;
  options.solver = "als";
  options.implicit = true;
  options.rank = 8;
  options.clocks = 10;
  options.lambda = 1;
  options.confidence = 1;
  return options;
}

Result<MfFit> fitted(const MfInput& input, const MfOptions& options) {
  const auto world = world::real_world();
  const Log log;
  return fit(input, options, {*world, log, 2, {}, nullptr});
}

RankingTotals ranked(const MfFactors& factors, const TestLists& lists, std::uint32_t items) {
  world::Pool pool(2);
  return rank_in_parallel(
      lists, items, 10,
      [&](std::span<const RankedUser> users, std::span<float> scores) {
        score_factors(factors, users, scores);
      },
      pool);
}

RankingTotals popular(const SeenPairs& seen, const TestLists& lists, std::uint32_t items) {
  const std::vector<float> popularity = popularity_scores(seen, items);
  world::Pool pool(1);
  return rank_in_parallel(
      lists, items, 10,
      [&](std::span<const RankedUser> users, std::span<float> scores) {
        for (std::size_t i = 0; i < users.size(); ++i) {
          std::ranges::copy(popularity, scores.begin() + static_cast<std::ptrdiff_t>(i * items));
        }
      },
      pool);
}

double dot(const MfFactors& f, std::uint32_t user, std::uint32_t item) {
  const std::size_t stride = kernels::mf_stride(f.rank);
  double sum = 0;
  for (std::size_t k = 0; k < stride; ++k) {
    sum += double{f.user_rows[user * stride + k]} * f.item_rows[item * stride + k];
  }
  return sum;
}

// Over all pairs, one by one; values of a pair that occurs twice add up, and what is below 0 is a
// dislike.
TEST(MfAls, TheImplicitObjectiveIsThatOfTheDefinition) {
  auto ratings = testing::planted({.density = 0.2});
  for (std::size_t i = 0; i < ratings.size(); ++i) {
    ratings[i].value = i % 11 == 5 ? -1.5F : static_cast<float>(i % 4);
    if (i % 5 == 0) ratings.push_back({ratings[i].user, ratings[i].item, 1});
    if (ratings.size() > 900) break;
  }
  const MfInput input = testing::input_of(ratings, {60, 40}, 4);
  MfOptions options = implicit_options();
  options.confidence = 3;
  for (const std::int64_t clocks : {0, 5}) {
    options.clocks = clocks;
    const auto fit = fitted(input, options);
    ASSERT_TRUE(fit.has_value());
    std::vector<double> value(60 * 40, 0);
    for (const data::Rating& rating : ratings)
      value[rating.user * 40 + rating.item] += rating.value;
    double objective = 0;
    for (std::uint32_t user = 0; user < 60; ++user) {
      for (std::uint32_t item = 0; item < 40; ++item) {
        const double v = 3 * value[user * 40 + item];
        objective +=
            (1 + std::abs(v)) * std::pow((v > 0 ? 1 : 0) - dot(fit->factors, user, item), 2);
      }
    }
    for (const float x : fit->factors.user_rows) objective += options.lambda * x * x;
    for (const float x : fit->factors.item_rows) objective += options.lambda * x * x;
    EXPECT_NEAR(fit->report.curve.back().values[0], objective, 1e-5 * objective) << clocks;
  }
}

// Users and items of a few tastes; a user turns mostly to items of the own taste, popular ones
// more.
std::vector<data::Rating> preferences(Rng& rng, std::uint32_t users, std::uint32_t items) {
  std::vector<data::Rating> ratings;
  for (std::uint32_t user = 0; user < users; ++user) {
    for (std::uint32_t item = 0; item < items; ++item) {
      const double popular = 1 / (1 + 0.1 * item / 5.0);
      const double likes = user % 5 == item % 5 ? 0.5 : 0.06;
      if (rng.uniform() < popular * likes) {
        ratings.push_back({user, item, static_cast<float>(1 + rng.below(3))});
      }
    }
  }
  return ratings;
}

TEST(MfAls, RanksPreferencesBetterThanPopularityAndReportsWhatRankingMeasures) {
  constexpr std::uint32_t users = 200, items = 150;
  Rng rng({.seed = 1});
  std::vector<data::Rating> train, test;
  for (const data::Rating& rating : preferences(rng, users, items)) {
    (rng.uniform() < 0.3 ? test : train).push_back(rating);
  }
  const MfInput input = testing::input_of(train, {users, items}, 4, 1, test);
  const auto fit = fitted(input, implicit_options());
  ASSERT_TRUE(fit.has_value());
  const SeenPairs seen = seen_pairs(input);
  const TestLists lists(test, seen, users, 0);
  const RankingTotals ours = ranked(fit->factors, lists, items);
  EXPECT_GT(ours.recall(), 1.3 * popular(seen, lists, items).recall());
  ASSERT_EQ(fit->report.metrics.size(), 2U);
  EXPECT_EQ(fit->report.metrics[1].name, "test_recall_at_10");
  EXPECT_NEAR(fit->report.curve.back().values[1], ours.recall(), 1e-9);
}

// The folder of a data set that may not be copied, in a folder `shared` beside the repository or
// any folder around the present one.
std::string folder_of_ml_100k(world::Files& files) {
  std::string up;
  for (int level = 0; level < 6; ++level, up += "../") {
    const std::string folder = up + "shared/data/ml-100k";
    if (files.open_read(folder + "/ua.base").has_value()) return folder;
  }
  return "";
}

TEST(MfAls, RanksMovieLensBetterThanPopularity) {
  const auto world = world::real_world();
  const std::string folder = folder_of_ml_100k(world->files());
  if (folder.empty()) GTEST_SKIP() << "no shared/data/ml-100k around the present folder";
  world::Pool pool(2);
  data::ReadOptions read;
  read.paths = {folder + "/ua.base"};
  const auto base = data::read_ratings(world->files(), pool, read);
  ASSERT_TRUE(base.has_value()) << base.error().message();
  read.paths = {folder + "/ua.test"};
  const auto test = data::read_ratings_known(world->files(), pool, read, base->users, base->items);
  ASSERT_TRUE(test.has_value()) << test.error().message();
  const MfInput input =
      testing::input_of(base->ratings, {base->users.size(), base->items.size()}, 8);
  MfOptions options = implicit_options();
  options.rank = 32;
  options.lambda = 10;
  options.confidence = 0.2;
  const auto fit = fitted(input, options);
  ASSERT_TRUE(fit.has_value());
  const SeenPairs seen = seen_pairs(input);
  const TestLists lists(test->ratings, seen, base->users.size(), 0);
  const double ours = ranked(fit->factors, lists, base->items.size()).recall();
  const double theirs = popular(seen, lists, base->items.size()).recall();
  EXPECT_EQ(lists.users().size(), 943U);
  EXPECT_GT(ours, 0.25);
  EXPECT_NEAR(theirs, 0.1215, 0.001);
}

}  // namespace
}  // namespace castor::programs

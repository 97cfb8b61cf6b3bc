#include "programs/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/property.h"

namespace castor::programs {
namespace {

using Items = std::vector<std::uint32_t>;

constexpr float never = -std::numeric_limits<float>::infinity();

Items best_ref(const std::vector<float>& scores, std::size_t count, const Items& seen) {
  Items items;
  for (std::uint32_t item = 0; item < scores.size(); ++item) {
    const bool is_seen = std::ranges::find(seen, item) != seen.end();
    if (!is_seen && !std::isnan(scores[item]) && scores[item] != never) items.push_back(item);
  }
  std::ranges::sort(items, [&](auto a, auto b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  items.resize(std::min(items.size(), count));
  return items;
}

Items some_of(std::uint32_t items, double share, Rng& rng) {
  Items result;
  for (std::uint32_t item = 0; item < items; ++item) {
    if (rng.uniform() < share) result.push_back(item);
  }
  return result;
}

TEST(Ranking, BestItemsAreThoseOfAFullSort) {
  for_seeds(300, [](Rng& rng) {
    std::vector<float> scores(rng.below(60));
    for (float& score : scores) {
      const std::uint64_t kind = rng.below(12);
      score = static_cast<float>(rng.below(9)) - 4;  // many equal ones
      if (kind == 0) score = std::nanf("");
      if (kind == 1) score = never;
      if (kind == 2) score = std::numeric_limits<float>::infinity();
    }
    const Items seen = some_of(static_cast<std::uint32_t>(scores.size()), 0.3, rng);
    for (const std::size_t count : {0U, 1U, 3U, 10U, 100U}) {
      EXPECT_EQ(best_items(scores, count, seen), best_ref(scores, count, seen));
    }
  });
}

TEST(Ranking, RecallCountsTestItemsInTheListAgainstWhatFits) {
  const Items ranked = {5, 2, 9, 4};
  EXPECT_DOUBLE_EQ(recall_at(ranked, Items{2, 4}, 4), 1);
  EXPECT_DOUBLE_EQ(recall_at(ranked, Items{2, 4}, 3), 0.5);
  EXPECT_DOUBLE_EQ(recall_at(ranked, Items{2, 4, 5, 7, 8}, 2), 1);
  EXPECT_DOUBLE_EQ(recall_at(ranked, Items{1}, 4), 0);
  EXPECT_DOUBLE_EQ(recall_at(Items{}, Items{1}, 4), 0);
}

TEST(Ranking, NdcgDiscountsByPlace) {
  const Items ranked = {5, 2, 9, 4};
  const double second = 1 / std::log2(3), fourth = 1 / std::log2(5);
  EXPECT_DOUBLE_EQ(ndcg_at(ranked, Items{2, 4}, 4), (second + fourth) / (1 + second));
  EXPECT_DOUBLE_EQ(ndcg_at(ranked, Items{5}, 4), 1);
  EXPECT_DOUBLE_EQ(ndcg_at(ranked, Items{4}, 3), 0);
  EXPECT_DOUBLE_EQ(ndcg_at(ranked, Items{2, 5, 9}, 2), 1);
}

struct World {
  std::uint32_t users = 70, items = 50;
  SeenPairs seen;
  std::vector<data::Rating> test;
  MfFactors factors;
};

World make_world(std::uint64_t seed) {
  World w;
  Rng rng({.seed = seed});
  w.seen.offsets = {0};
  for (std::uint32_t user = 0; user < w.users; ++user) {
    for (const std::uint32_t item : some_of(w.items, 0.2, rng)) w.seen.items.push_back(item);
    w.seen.offsets.push_back(static_cast<std::int64_t>(w.seen.items.size()));
  }
  for (int n = 0; n < 400; ++n) {
    const auto user = static_cast<std::uint32_t>(rng.below(w.users));
    const auto item = static_cast<std::uint32_t>(rng.below(w.items));
    w.test.push_back({user % 9 == 0 ? data::IdMap::npos : user,
                      item == 7 ? data::IdMap::npos : item, static_cast<float>(rng.below(4))});
  }
  w.factors.rank = 3;
  w.factors.user_rows = AlignedVector<float>(w.users * 16);
  w.factors.item_rows = AlignedVector<float>(w.items * 16);
  for (auto* rows : {&w.factors.user_rows, &w.factors.item_rows}) {
    for (std::size_t i = 0; i < rows->size(); ++i) {
      if (i % 16 < 3 && i / 16 != 11) (*rows)[i] = static_cast<float>(rng.normal());
    }
  }
  return w;
}

TEST(Ranking, TotalsOfAModelAreThoseOfBruteForce) {
  for (const bool biased : {false, true}) {
    World w = make_world(3);
    if (biased) {
      Rng rng({.seed = 5});
      for (std::uint32_t u = 0; u < w.users; ++u)
        w.factors.user_biases.push_back({static_cast<float>(rng.normal()), 1});
      for (std::uint32_t i = 0; i < w.items; ++i)
        w.factors.item_biases.push_back({static_cast<float>(rng.normal()), 1});
    }
    double recall = 0, ndcg = 0;
    std::uint64_t count = 0;
    for (std::uint32_t user = 0; user < w.users; ++user) {
      const auto seen = w.seen.of(user);
      std::set<std::uint32_t> relevant;
      for (const data::Rating& rating : w.test) {
        const bool known = rating.user == user && rating.item != data::IdMap::npos;
        if (known && rating.value > 1 && !std::ranges::binary_search(seen, rating.item)) {
          relevant.insert(rating.item);
        }
      }
      if (relevant.empty()) continue;
      std::vector<float> scores(w.items);
      for (std::uint32_t item = 0; item < w.items; ++item) {
        scores[item] = item == 11 ? never : kernels::mf_predict(w.factors.view(), user, item);
      }
      const Items ranked = best_ref(scores, 10, Items(seen.begin(), seen.end()));
      const Items wanted(relevant.begin(), relevant.end());
      recall += recall_at(ranked, wanted, 10);
      ndcg += ndcg_at(ranked, wanted, 10);
      ++count;
    }
    const TestLists lists(w.test, w.seen, w.users, 1);
    for (const unsigned threads : {1U, 3U}) {
      world::Pool pool(threads);
      const RankingTotals totals = rank_in_parallel(
          lists, w.items, 10,
          [&](std::span<const RankedUser> users, std::span<float> scores) {
            score_factors(w.factors, users, scores);
          },
          pool);
      EXPECT_EQ(totals.users, count);
      EXPECT_DOUBLE_EQ(totals.recall(), recall / static_cast<double>(count));
      EXPECT_NEAR(totals.ndcg(), ndcg / static_cast<double>(count), 1e-12);
    }
  }
}

TEST(Ranking, PopularityIsTheNumberOfTrainingPairs) {
  const SeenPairs seen{{0, 2, 3, 5}, {1, 3, 3, 0, 3}};
  EXPECT_EQ(popularity_scores(seen, 5), (std::vector<float>{1, 1, 0, 3, 0}));
}

TEST(Ranking, NobodyToRankIsZero) {
  const World w = make_world(1);
  const TestLists lists({}, w.seen, w.users, 0);
  EXPECT_TRUE(lists.users().empty());
  world::Pool pool(2);
  const auto totals = rank_in_parallel(lists, w.items, 10, [](auto, auto) { FAIL(); }, pool);
  EXPECT_EQ(totals.recall(), 0);
  EXPECT_EQ(totals.ndcg(), 0);
}

}  // namespace
}  // namespace castor::programs

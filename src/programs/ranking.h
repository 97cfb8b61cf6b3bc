#pragma once
// How well a model ranks what users turned to later: the best items of each test user, without
// those seen in training, against the user's test items. With n the length of the list and m the
// test items:
//   recall@n   test items in the list / min(n, m)
//   NDCG@n     sum of 1 / log2(1 + place) over the test items in the list, places counted from 1,
//   divided
//              by the same sum when all of the first min(n, m) places are test items
// each as the mean over the users who have test items. Items and users are by index.
//
// Thread: any (pure), unless it says otherwise.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/function_ref.h"
#include "data/ratings.h"
#include "programs/mf_model.h"

namespace castor::programs {

// The `count` items of the highest scores, best first, equal scores by smaller index, without those
// in `seen` (ascending) and those whose score is NaN or minus infinity.
std::vector<std::uint32_t> best_items(std::span<const float> scores, std::size_t count,
                                      std::span<const std::uint32_t> seen);

// REQUIRES (both): `relevant` is ascending, without repetitions and not empty; count >= 1.
double recall_at(std::span<const std::uint32_t> ranked, std::span<const std::uint32_t> relevant,
                 std::size_t count);
double ndcg_at(std::span<const std::uint32_t> ranked, std::span<const std::uint32_t> relevant,
               std::size_t count);

struct RankingTotals {
  double recall_sum = 0, ndcg_sum = 0;
  std::uint64_t users = 0;

  double recall() const { return users == 0 ? 0 : recall_sum / static_cast<double>(users); }
  double ndcg() const { return users == 0 ? 0 : ndcg_sum / static_cast<double>(users); }
  void add(const RankingTotals& other);
};

struct RankedUser {
  std::uint32_t user = 0;
  std::span<const std::uint32_t> seen, relevant;  // ascending; relevant: not empty, none of it seen
};

// Fills scores (users x items, row-major). Minus infinity: never recommend.
using Scorer = FunctionRef<void(std::span<const RankedUser> users, std::span<float> scores)>;

// Asks for the scores of some users at a time, so that they take at most about 16 MB.
RankingTotals rank_users(std::span<const RankedUser> users, std::uint32_t items, std::size_t count,
                         Scorer scorer);

// Scorers: a factor model, which never recommends an item whose row is all zero;
// and the number of training pairs of each item, which is the same for everyone.
void score_factors(const MfFactors& factors, std::span<const RankedUser> users,
                   std::span<float> scores);
std::vector<float> popularity_scores(const SeenPairs& seen, std::uint32_t items);

// Test items by user: those of known users and items with a value above a limit that were not seen
// in training, each once.
class TestLists {
 public:
  // `seen` outlives the lists.
  TestLists(std::span<const data::Rating> test, const SeenPairs& seen, std::uint32_t users,
            float value_above);
  std::span<const RankedUser> users() const { return users_; }  // who has any, ascending

 private:
  std::vector<std::uint32_t> items_;
  std::vector<RankedUser> users_;
};

// All of them, in parallel and the same for any number of threads. Thread: one at a time a pool.
RankingTotals rank_in_parallel(const TestLists& lists, std::uint32_t items, std::size_t count,
                               Scorer scorer, world::Pool& pool);

}  // namespace castor::programs

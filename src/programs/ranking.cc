#include "programs/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "kernels/mf_sgd.h"

namespace castor::programs {
namespace {

constexpr std::size_t scores_max = std::size_t{4} << 20;  // floats at once
constexpr std::size_t users_max = 32;                     // scored together

constexpr float never = -std::numeric_limits<float>::infinity();

double discount(std::size_t place) { return 1 / std::log2(static_cast<double>(place) + 2); }

std::size_t users_at_once(std::uint32_t items) {
  return std::clamp<std::size_t>(scores_max / std::max(items, 1U), 1, users_max);
}

}  // namespace

std::vector<std::uint32_t> best_items(std::span<const float> scores, std::size_t count,
                                      std::span<const std::uint32_t> seen) {
  std::vector<std::uint32_t> heap;  // the worst of the best so far is in front
  auto is_better = [&](std::uint32_t a, std::uint32_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  if (count == 0) return heap;
  auto left_out = seen.begin();
  for (std::uint32_t item = 0; item < scores.size(); ++item) {
    while (left_out != seen.end() && *left_out < item) ++left_out;
    const bool is_full = heap.size() == count;
    if (is_full && !(scores[item] > scores[heap.front()])) continue;  // NaN too
    if (!(scores[item] > never) || (left_out != seen.end() && *left_out == item)) continue;
    if (is_full) {
      std::ranges::pop_heap(heap, is_better);
      heap.pop_back();
    }
    heap.push_back(item);
    std::ranges::push_heap(heap, is_better);
  }
  std::ranges::sort_heap(heap, is_better);
  return heap;
}

double recall_at(std::span<const std::uint32_t> ranked, std::span<const std::uint32_t> relevant,
                 std::size_t count) {
  CHECK(count >= 1 && !relevant.empty());
  std::size_t found = 0;
  for (const std::uint32_t item : ranked.first(std::min(count, ranked.size()))) {
    if (std::ranges::binary_search(relevant, item)) ++found;
  }
  return static_cast<double>(found) / static_cast<double>(std::min(count, relevant.size()));
}

double ndcg_at(std::span<const std::uint32_t> ranked, std::span<const std::uint32_t> relevant,
               std::size_t count) {
  CHECK(count >= 1 && !relevant.empty());
  double gain = 0, best = 0;
  for (std::size_t place = 0; place < std::min(count, ranked.size()); ++place) {
    if (std::ranges::binary_search(relevant, ranked[place])) gain += discount(place);
  }
  for (std::size_t place = 0; place < std::min(count, relevant.size()); ++place)
    best += discount(place);
  return gain / best;
}

void RankingTotals::add(const RankingTotals& other) {
  recall_sum += other.recall_sum;
  ndcg_sum += other.ndcg_sum;
  users += other.users;
}

RankingTotals rank_users(std::span<const RankedUser> users, std::uint32_t items, std::size_t count,
                         Scorer scorer) {
  RankingTotals totals;
  const std::size_t most = users_at_once(items);
  std::vector<float> scores;
  for (std::size_t first = 0; first < users.size(); first += most) {
    const std::span<const RankedUser> some =
        users.subspan(first, std::min(most, users.size() - first));
    scores.resize(some.size() * items);
    scorer(some, scores);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto ranked =
          best_items(std::span(scores).subspan(i * items, items), count, some[i].seen);
      totals.recall_sum += recall_at(ranked, some[i].relevant, count);
      totals.ndcg_sum += ndcg_at(ranked, some[i].relevant, count);
      ++totals.users;
    }
  }
  return totals;
}

void score_factors(const MfFactors& factors, std::span<const RankedUser> users,
                   std::span<float> scores) {
  const std::size_t stride = kernels::mf_stride(factors.rank);
  kernels::MfModel model = factors.view();
  AlignedVector<float> rows(users.size() * stride);
  std::vector<kernels::MfBias> biases;
  for (std::size_t i = 0; i < users.size(); ++i) {
    const auto row = factors.user_rows.span().subspan(users[i].user * stride, stride);
    std::ranges::copy(row, rows.begin() + i * stride);
    if (!factors.user_biases.empty()) biases.push_back(factors.user_biases[users[i].user]);
  }
  model.user_rows = rows.span();
  model.user_biases = biases;
  kernels::mf_scores(model, scores);
  const std::size_t items = model.item_rows.size() / stride;
  for (std::size_t item = 0; item < items; ++item) {
    const auto row = model.item_rows.subspan(item * stride, stride);
    if (std::ranges::any_of(row, [](float value) { return value != 0; })) continue;
    for (std::size_t i = 0; i < users.size(); ++i) scores[i * items + item] = never;
  }
}

std::vector<float> popularity_scores(const SeenPairs& seen, std::uint32_t items) {
  std::vector<float> scores(items, 0);
  for (const std::uint32_t item : seen.items) ++scores[item];
  return scores;
}

TestLists::TestLists(std::span<const data::Rating> test, const SeenPairs& seen, std::uint32_t users,
                     float value_above) {
  std::vector<std::size_t> begin(users + 1, 0);
  auto counts = [&](const data::Rating& rating) {
    return rating.user != data::IdMap::npos && rating.item != data::IdMap::npos &&
           rating.value > value_above &&
           !std::ranges::binary_search(seen.of(rating.user), rating.item);
  };
  for (const data::Rating& rating : test) {
    if (counts(rating)) ++begin[rating.user + 1];
  }
  for (std::uint32_t user = 0; user < users; ++user) begin[user + 1] += begin[user];
  items_.resize(begin.back());
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  for (const data::Rating& rating : test) {
    if (counts(rating)) items_[next[rating.user]++] = rating.item;
  }
  for (std::uint32_t user = 0; user < users; ++user) {
    const auto items = std::span(items_).subspan(begin[user], begin[user + 1] - begin[user]);
    if (items.empty()) continue;
    std::ranges::sort(items);
    const auto repeated = std::ranges::unique(items);
    users_.push_back({user, seen.of(user), items.first(items.size() - repeated.size())});
  }
}

RankingTotals rank_in_parallel(const TestLists& lists, std::uint32_t items, std::size_t count,
                               Scorer scorer, world::Pool& pool) {
  const std::span<const RankedUser> users = lists.users();
  const std::size_t most = users_at_once(items), pieces = (users.size() + most - 1) / most;
  std::vector<RankingTotals> parts(pieces);
  pool.run(pieces, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t piece = first; piece < last; ++piece) {
      const std::size_t begin = piece * most;
      parts[piece] = rank_users(users.subspan(begin, std::min(most, users.size() - begin)), items,
                                count, scorer);
    }
  });
  RankingTotals total;
  for (const RankingTotals& part : parts) total.add(part);
  return total;
}

}  // namespace castor::programs

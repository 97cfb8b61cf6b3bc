// Ratings per second of mf_sgd() by rank and instruction set, in cache, and of what goes with it.
// The checksum is the training loss of the last pass, or the sum of the errors.
#include <benchmark/benchmark.h>
#include <vector>

#include "core/aligned.h"
#include "core/rng.h"
#include "kernels/mf_predict.h"
#include "kernels/mf_sgd.h"

namespace castor::kernels {
namespace {

constexpr std::uint32_t user_count = 300;
constexpr std::uint32_t item_count = 500;
constexpr std::uint32_t ratings_per_user = 24;

struct Problem {
  std::vector<MfRating> ratings;
  std::vector<std::uint32_t> starts = {0, item_count};
  MfLayout layout;
  AlignedVector<float> user_rows, item_rows;
  std::vector<MfUserSide> user_sides;
  std::vector<MfItemSide> item_sides;
  std::vector<MfBias> user_biases, item_biases;

  MfModel model(std::uint32_t rank) const {
    return {.rank = rank, .user_rows = user_rows.span(), .item_rows = item_rows.span()};
  }
};

std::vector<MfRating> make_ratings() {
  Rng rng({.seed = 1});
  std::vector<MfRating> ratings;
  for (std::uint32_t u = 0; u < user_count; ++u) {
    const auto first = static_cast<std::uint32_t>(rng.below(item_count));
    for (std::uint32_t j = 0; j < ratings_per_user; ++j) {
      const std::uint32_t item = (first + j * 17) % item_count;
      ratings.push_back({.user = u, .item = item, .rating = 4 * rng.uniform_float()});
    }
  }
  return ratings;
}

Problem make_problem(std::uint32_t rank, bool biases) {
  Problem p;
  p.ratings = make_ratings();
  p.layout = build_layout(p.ratings, {.users = user_count, .item_starts = p.starts}, mix64);
  const std::size_t stride = mf_stride(rank);
  p.user_rows = AlignedVector<float>(user_count * stride);
  p.item_rows = AlignedVector<float>(item_count * stride);
  p.user_sides.assign(user_count, {1, 1});
  p.item_sides.assign(item_count, {1, 0, 1, 0});
  p.user_biases.assign(biases ? user_count : 0, {0, 1});
  p.item_biases.assign(biases ? item_count : 0, {0, 1});
  Rng rng({.seed = 2});
  std::vector<float> uniforms(rank);
  const auto start = [&](std::span<float> rows, MfRole role) {
    for (std::size_t i = 0; i < rows.size(); i += stride) {
      for (float& u : uniforms) u = rng.uniform_float();
      start_row(rows.subspan(i, stride), role, {.rank = rank, .product = 2}, uniforms);
    }
  };
  start(p.user_rows.span(), MfRole::user);
  start(p.item_rows.span(), MfRole::item);
  refresh_norms(p.item_rows.span(), rank, p.item_sides);
  return p;
}

bool skipped(benchmark::State& state, InstructionSet set) {
  if (may_run(set)) return false;
  state.SkipWithError("not on this processor");
  return true;
}

void count_ratings(benchmark::State& state, const Problem& problem, double checksum) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(problem.ratings.size()));
  state.counters["checksum"] = checksum;
}

// Arguments: rank, instruction set, biases.
void sgd(benchmark::State& state) {
  const auto rank = static_cast<std::uint32_t>(state.range(0));
  const auto set = static_cast<InstructionSet>(state.range(1));
  if (skipped(state, set)) return;
  Problem p = make_problem(rank, state.range(2) != 0);
  const MfTables tables = {.user_rows = p.user_rows.span(),
                           .item_rows = p.item_rows.span(),
                           .user_sides = p.user_sides,
                           .item_sides = p.item_sides,
                           .user_biases = p.user_biases,
                           .item_biases = p.item_biases};
  const MfParameters parameters = {.rank = rank, .rate = 0.05F, .lambda = 0.05F};
  double loss = 0;
  for (auto _ : state) loss = mf_sgd(p.layout.block(0), tables, parameters, set);
  count_ratings(state, p, loss);
}
BENCHMARK(sgd)->ArgsProduct({{16, 32, 64, 128, 200}, {0, 1, 2}, {0, 1}});

// Arguments: rank, instruction set.
void errors(benchmark::State& state) {
  const auto rank = static_cast<std::uint32_t>(state.range(0));
  const auto set = static_cast<InstructionSet>(state.range(1));
  if (skipped(state, set)) return;
  const Problem p = make_problem(rank, false);
  double sum = 0;
  for (auto _ : state) sum = mf_errors(p.ratings, p.model(rank), set).squared;
  count_ratings(state, p, sum);
}
BENCHMARK(errors)->ArgsProduct({{16, 32, 128}, {0, 1, 2}});

// Arguments: rank, instruction set. Items processed are scores.
void scores(benchmark::State& state) {
  const auto rank = static_cast<std::uint32_t>(state.range(0));
  const auto set = static_cast<InstructionSet>(state.range(1));
  if (skipped(state, set)) return;
  const Problem p = make_problem(rank, false);
  std::vector<float> result(std::size_t{user_count} * item_count);
  for (auto _ : state) mf_scores(p.model(rank), result, set);
  double sum = 0;
  for (float score : result) sum += static_cast<double>(score);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(result.size()));
  state.counters["checksum"] = sum;
}
BENCHMARK(scores)->ArgsProduct({{16, 32, 128}, {0, 1, 2}});

void layout(benchmark::State& state) {
  const Problem p = make_problem(16, false);
  std::size_t runs = 0;
  for (auto _ : state) {
    runs =
        build_layout(p.ratings, {.users = user_count, .item_starts = p.starts}, mix64).runs.size();
  }
  count_ratings(state, p, static_cast<double>(runs));
}
BENCHMARK(layout);

}  // namespace
}  // namespace castor::kernels

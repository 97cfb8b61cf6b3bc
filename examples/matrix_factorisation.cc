// Matrix factorisation by stochastic gradient descent: model parallelism. User factors live with
// their shard; blocks of item factors rotate from shard to shard, so no two tasks that run at once
// share a row, and the result is the same, bit for bit, with any number of threads.
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <tuple>

#include "job/local.h"

using castor::Dense, castor::State, castor::Table, castor::TaskContext, std::span, std::vector;
constexpr std::uint32_t rank = 4, users = 50, items = 120, blocks = 8;  // users of one shard

using Factors = std::array<float, rank>;
// User within the shard, item, value.
using Rating = std::tuple<std::uint32_t, std::uint32_t, float>;

float dot(auto a, auto b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0F); }

vector<vector<Rating>> make_ratings(castor::ShardId shard) {  // every seventh of a wave, by block
  vector<vector<Rating>> result(blocks);
  for (std::uint32_t i = 0; i < users * items; i += 7) {
    const std::uint32_t user = i / items, item = i % items, place = shard * users + user + 3 * item;
    result[item / (items / blocks)].emplace_back(user, item, 3 + std::sin(0.1 * place));
  }
  return result;
}

// [storage]
struct Factorisation {
  castor::Data<vector<vector<Rating>>> ratings;  // of one shard, by block of items
  State<vector<Factors>> user_factors;           // of one shard; only its own tasks see them
  Table<Dense<float>> item_factors;              // leased: one task at a time holds a block

  explicit Factorisation(castor::Job& job)
      : ratings(job.data("ratings", make_ratings)),
        user_factors(job.state<vector<Factors>>("users")) {
    item_factors = job.table<Dense<float>>(
        castor::leased({.name = "items", .rows = items, .width = rank, .blocks = blocks}),
        castor::uniform_rows(0.0F, 1.0F));
  }
  // [/storage]

  // [schedule]
  castor::Schedule schedule() { return castor::rotate(item_factors); }
  // [/schedule]

  // [init]
  void init(TaskContext& context) { context.state(user_factors).assign(users, {1, 1, 1, 1}); }
  // [/init]

  // [push]
  void push(TaskContext& context, const castor::Task& task) {
    const auto rows = context.lease(item_factors, task.block);
    for (const auto& [user, item, value] : context.data(ratings)[task.block]) {
      Factors& u = context.state(user_factors)[user];
      const span<float> v = rows[item];
      const float error = value - dot(u, v);
      for (std::uint32_t k = 0; k < rank; ++k) {
        const float before = u[k];
        u[k] += 0.05F * (error * v[k] - 0.005F * before);
        v[k] += 0.05F * (error * before - 0.005F * v[k]);
      }
    }
  }
  // [/push]

  vector<castor::MetricSpec> metrics() { return {{"rmse", "", castor::Combine::root_mean}}; }
  void metric(TaskContext& context, span<castor::MetricPart> parts) {
    const auto rows = context.read(item_factors);
    for (const vector<Rating>& block : context.data(ratings))
      for (const auto& [user, item, value] : block)
        parts[0].add(std::pow(value - dot(context.state(user_factors)[user], rows[item]), 2.0));
  }
};

int main() {
  const auto report = castor::run_local<Factorisation>({.shards = 8, .threads = 2}, {.clocks = 60});
  std::puts((report ? castor::text("rmse {}", report->last()) : report.error().message()).c_str());
  return report && report->last() < 0.1 ? 0 : 1;
}

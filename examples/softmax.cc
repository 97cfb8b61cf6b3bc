// Softmax regression: data parallelism under bounded staleness. A task reads the weights as they
// were at most one clock ago, goes over one batch of its shard, and adds its part of the gradient.
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "job/local.h"

using castor::Dense, castor::MetricPart, castor::MetricSpec, castor::Task, castor::TaskContext;
constexpr std::size_t classes = 4, features = 6, batches = 4;

// [data]
struct Sample {
  std::array<float, features> x;
  std::size_t label;
};

std::vector<Sample> make_samples(castor::ShardId shard) {  // a cloud around a centre for each class
  castor::Rng rng({.seed = 7, .shard = shard});
  std::vector<Sample> result(500);
  for (Sample& sample : result) {
    for (float& value : sample.x) value = static_cast<float>(rng.normal());
    sample.x[sample.label = rng.below(classes)] += 3;
  }
  return result;
}
// [/data]

// [storage]
struct Softmax {
  castor::Data<std::vector<Sample>> samples;  // a part for each shard; never changes
  castor::Table<Dense<float>> weights;        // a row for each class, shared by all shards

  explicit Softmax(castor::Job& job)
      : samples(job.data("samples", make_samples)),
        weights(job.table<Dense<float>>(
            {.name = "weights", .rows = classes, .width = features, .staleness = 1})) {}
  // [/storage]

  // [schedule]
  castor::Schedule schedule() { return castor::sweep({.batches = batches}); }
  // [/schedule]

  std::array<float, classes> predict(TaskContext& context, const std::array<float, features>& x) {
    const auto w = context.read(weights, 0);
    std::array<float, classes> p;
    for (std::size_t c = 0; c < classes; ++c)
      p[c] = std::exp(std::inner_product(x.begin(), x.end(), w[c].begin(), 0.0F));
    const float total = std::accumulate(p.begin(), p.end(), 0.0F);
    for (float& value : p) value /= total;
    return p;
  }

  // [push]
  void push(TaskContext& context, const Task& task) {
    const std::vector<Sample>& all = context.data(samples);
    const auto change = context.increments(weights, 0);
    for (std::size_t i = task.clock % batches; i < all.size(); i += batches) {
      std::array<float, classes> error = predict(context, all[i].x);
      error[all[i].label] -= 1;
      for (std::size_t c = 0; c < classes; ++c)
        for (std::size_t f = 0; f < features; ++f) change[c][f] -= 0.002F * error[c] * all[i].x[f];
    }
  }
  // [/push]

  // [metric]
  std::vector<MetricSpec> metrics() { return {{"log_loss", "", castor::Combine::mean}}; }
  void metric(TaskContext& context, std::span<MetricPart> parts) {
    for (const auto& [x, label] : context.data(samples))
      parts[0].add(-std::log(predict(context, x)[label]));
  }
  // [/metric]
};

// [main]
int main() {
  const auto report = castor::run_local<Softmax>({.shards = 8, .threads = 2}, {.clocks = 160});
  std::puts(
      (report ? castor::text("log loss {}", report->last()) : report.error().message()).c_str());
  return report && report->last() < 0.15 ? 0 : 1;
}
// [/main]

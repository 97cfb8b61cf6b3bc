// What a run measures at its cuts, and when it stops because of it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "job/fixture.h"

namespace castor {
namespace {

using Bench = job::JobBench;
using job::Census, job::Idle;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// ---- Metrics

// Reports what it is told: parts of shard s at the nth measurement are values[n][s].
struct Script {
  explicit Script(std::vector<std::vector<MetricPart>> what) : parts(std::move(what)) {}
  Schedule schedule() { return sweep(); }
  void push(TaskContext&, const Task&) {}
  std::vector<MetricSpec> metrics() { return specs; }
  void metric(TaskContext& context, std::span<MetricPart> out) {
    const std::vector<MetricPart>& now = parts[static_cast<std::size_t>(context.clock()) - 1];
    for (MetricPart& part : out) part = now[context.shard()];
  }
  std::vector<std::vector<MetricPart>> parts;
  std::vector<MetricSpec> specs = {{.name = "m"}};
};

// A series of values of one metric, one a clock.
Script series(const std::vector<double>& values) {
  std::vector<std::vector<MetricPart>> parts;
  for (const double value : values) parts.push_back({{value, 1}});
  return Script(parts);
}

TEST(Metrics, CombinePartsOfShardsAsTheySay) {
  Bench bench(3);
  Script program({{{3, 2}, {5, 4}, {16, 2}}});
  program.specs = {{.name = "sum", .combine = Combine::sum},
                   {.name = "mean", .combine = Combine::mean},
                   {.name = "root", .combine = Combine::root_mean}};
  const auto report = bench.job.run(program, {.clocks = 1});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->curve.size(), 1U);
  EXPECT_EQ(report->curve[0].values, (std::vector<double>{24, 3, std::sqrt(3.0)}));
  EXPECT_EQ(report->metrics.size(), 3U);
}

TEST(Metrics, AreAddedAlongTheFixedTreeOfShards) {
  // ((a + b) + (c + d)) + e, which is none of the other ways for these numbers.
  const std::vector<double> a = {1e16, 1, -1e16, 1, 1};
  const double expected = ((a[0] + a[1]) + (a[2] + a[3])) + a[4];
  std::vector<MetricPart> parts;
  for (const double value : a) parts.push_back({value, 1});
  for (unsigned threads = 1; threads <= 3; ++threads) {
    Bench bench(5, threads);
    Script program({parts});
    const auto report = bench.job.run(program, {.clocks = 1});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->curve[0].values[0], expected);
  }
}

TEST(Metrics, AreTakenOncePerPassOrAsOftenAsAskedAndAtTheEnd) {
  struct Batches : Idle {
    Schedule schedule() { return sweep({.batches = 3}); }
  } program;
  const auto clocks_of = [&](Clock clocks, Clock every) {
    Bench bench;
    const auto report = bench.job.run(program, {.clocks = clocks, .metric_every = every});
    CHECK(report.has_value());
    std::vector<Clock> found;
    for (const MetricPoint& point : report->curve) {
      EXPECT_DOUBLE_EQ(point.pass, static_cast<double>(point.clock) / 3);
      found.push_back(point.clock);
    }
    return found;
  };
  EXPECT_EQ(clocks_of(9, 0), (std::vector<Clock>{3, 6, 9}));
  EXPECT_EQ(clocks_of(7, 0), (std::vector<Clock>{3, 6, 7}));
  EXPECT_EQ(clocks_of(5, 2), (std::vector<Clock>{2, 4, 5}));
  EXPECT_EQ(clocks_of(2, 100), (std::vector<Clock>{2}));
  EXPECT_EQ(clocks_of(0, 0), (std::vector<Clock>{0}));
}

// All commits of the clocks before it, and nothing else.
TEST(MetricsThreads, SeeAConsistentCut) {
  for (unsigned threads = 1; threads <= 4; ++threads) {
    Bench bench(4, threads);
    Census program(bench.job);
    const auto report = bench.job.run(program, {.clocks = 20, .metric_every = 2});
    ASSERT_TRUE(report);
    ASSERT_EQ(report->curve.size(), 10U);
    for (const MetricPoint& point : report->curve) {
      EXPECT_EQ(point.values[0], static_cast<double>(point.clock * 4));
    }
  }
}

// ---- Stopping

struct Stopped {
  Clock clock;
  StopReason reason;
  Clock best_clock;
};

Stopped stop_of(const std::vector<double>& values, RunOptions options,
                Direction direction = Direction::lower_is_better) {
  Bench bench(1);
  Script program = series(values);
  program.specs[0].direction = direction;
  options.clocks = static_cast<Clock>(values.size());
  const auto report = bench.job.run(program, options);
  CHECK(report.has_value(), "{}", report.error().message());
  return {report->clock, report->reason, report->best_clock};
}

TEST(Stopping, ToleranceStopsAtTheFirstRelativeGainThatIsNotLarger) {
  const Stopped gain = stop_of({100, 50, 49, 48.8, 10}, {.tolerance = 0.01});
  EXPECT_EQ(gain.clock, 4);
  EXPECT_EQ(gain.reason, StopReason::converged);
  EXPECT_EQ(stop_of({100, 50, 25, 12}, {.tolerance = 0.01}).reason, StopReason::clocks_done);
  EXPECT_EQ(stop_of({5, 0, 0, 0}, {.tolerance = 0.01}).clock, 3) << "nothing left to gain";
  EXPECT_EQ(stop_of({1, 2, 2.001, 9}, {.tolerance = 0.01}, Direction::higher_is_better).clock, 3);
  EXPECT_EQ(stop_of({-4, -8, -8.01, -9}, {.tolerance = 0.01}).clock, 3);
}

TEST(Stopping, NotANumberIsNeitherConvergedNorAnImprovement) {
  const Stopped tolerant = stop_of({4, nan, nan, 3, 2}, {.tolerance = 0.01});
  EXPECT_EQ(tolerant.reason, StopReason::clocks_done);
  EXPECT_EQ(tolerant.best_clock, 5);
  const Stopped patient = stop_of({4, nan, nan, 3, 2}, {.patience = 2});
  EXPECT_EQ(patient.reason, StopReason::no_improvement);
  EXPECT_EQ(patient.clock, 3);
  EXPECT_EQ(patient.best_clock, 1);
  EXPECT_EQ(stop_of({infinity, 5, 6}, {.tolerance = 0.01}).clock, 3);
}

TEST(Stopping, NotANumberIsTold) {
  Bench bench(1);
  Script program = series({1, nan});
  ASSERT_TRUE(bench.job.run(program, {.clocks = 2}));
  EXPECT_EQ(bench.log.count("job.metric_not_a_number"), 1U);
}

TEST(Stopping, PatienceCountsMetricsSinceTheBest) {
  const Stopped found = stop_of({5, 4, 4.5, 4.2, 3, 3.5, 3.1, 3, 2}, {.patience = 3});
  EXPECT_EQ(found.clock, 8);
  EXPECT_EQ(found.reason, StopReason::no_improvement);
  EXPECT_EQ(found.best_clock, 5);
  const Stopped higher = stop_of({1, 2, 1, 1, 1}, {.patience = 2}, Direction::higher_is_better);
  EXPECT_EQ(higher.clock, 4);
  EXPECT_EQ(higher.best_clock, 2);
}

TEST(Stopping, TheDrivingMetricIsTheOneNamed) {
  struct Two : Idle {
    std::vector<MetricSpec> metrics() { return {{.name = "falls"}, {.name = "rises"}}; }
    void metric(TaskContext& context, std::span<MetricPart> parts) {
      parts[0].sum = -static_cast<double>(context.clock());
      parts[1].sum = static_cast<double>(context.clock());
    }
  } program;
  Bench bench(1);
  const auto falls = bench.job.run(program, {.clocks = 6, .patience = 2});
  EXPECT_EQ(falls->reason, StopReason::clocks_done);
  EXPECT_EQ(falls->best_clock, 6);
  const auto rises =
      bench.job.run(program, {.clocks = 6, .patience = 2, .driving_metric = "rises"});
  EXPECT_EQ(rises->reason, StopReason::no_improvement);
  EXPECT_EQ(rises->best_clock, 1);
}

TEST(Stopping, AFlagThatIsSetAtOnceStopsBeforeTheFirstTask) {
  Bench bench;
  const std::atomic<bool> stop = true;
  Idle program;
  const auto report = bench.job.run(program, {.clocks = 5, .stop_requested = &stop});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->reason, StopReason::requested);
  EXPECT_EQ(report->clock, 0);
  EXPECT_EQ(report->tasks, 0U);
}

// Counts clocks in every kind of place; the metric is smallest at clock 3.
struct Wanders {
  explicit Wanders(Job& job)
      : clocks(job.state<std::int64_t>("clocks")),
        twice(job.state<std::int64_t>("twice", true)),
        sum(job.table<Scalar<std::int64_t>>({.name = "sum", .rows = 1})),
        derived(job.table<Scalar<std::int64_t>>({.name = "derived", .rows = 1, .derived = true})) {}
  Schedule schedule() { return sweep(); }
  void push(TaskContext& context, const Task&) {
    ++context.state(clocks);
    context.state(twice) += 2;
    ++context.increment(sum, 0);
    ++context.increment(derived, 0);
  }
  void derive(TaskContext& context) { context.increment(derived, 0) += context.state(clocks); }
  void rebuild(TaskContext& context) { context.state(twice) = 2 * context.state(clocks); }
  std::vector<MetricSpec> metrics() { return {{.name = "m"}}; }
  void metric(TaskContext& context, std::span<MetricPart> parts) {
    parts[0].sum = std::abs(static_cast<double>(context.clock()) - 3);
  }
  State<std::int64_t> clocks, twice;
  Table<Scalar<std::int64_t>> sum, derived;
};

TEST(Stopping, KeepBestEndsWithTheWholeModelOfTheBestMetric) {
  for (const bool keep_best : {false, true}) {
    Bench bench(2);
    Wanders program(bench.job);
    const auto report = bench.job.run(program, {.clocks = 7, .keep_best = keep_best});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->best_clock, 3);
    EXPECT_EQ(report->clock, 7);
    const std::int64_t expected = keep_best ? 3 : 7;
    bench.job.inspect([&](TaskContext& context) {
      EXPECT_EQ(context.state(program.clocks), expected);
      EXPECT_EQ(context.state(program.twice), 2 * expected);
      EXPECT_EQ(context.read(program.sum)[0], 2 * expected);
      EXPECT_EQ(context.read(program.derived)[0], 2 * expected);
    });
  }
}

}  // namespace
}  // namespace castor

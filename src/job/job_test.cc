#include "job/job.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "job/fixture.h"
#include "job/local.h"

namespace castor {
namespace {

using job::KeptLog;
using job::TickingWorld;

struct Bench {
  explicit Bench(ShardId shards = 3, unsigned threads = 1)
      : job(std::move(Job::open(world, log.log(), {.shards = shards, .threads = threads}))
                .value()) {}
  TickingWorld world;
  KeptLog log;
  Job job;
};

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// ---- Options and declarations

TEST(Job, RefusesOptionsThatMakeNoSense) {
  TickingWorld world;
  const Log log;
  for (const JobOptions& options : {JobOptions{.shards = 0}, JobOptions{.shards = ~ShardId{0}},
                                    JobOptions{.threads = 0}, JobOptions{.threads = 1u << 30}}) {
    const auto job = Job::open(world, log, options);
    ASSERT_FALSE(job);
    EXPECT_EQ(job.error().code(), Code::invalid);
  }
}

struct Idle {
  Schedule schedule() { return sweep(); }
  void push(TaskContext&, const Task&) {}
};

std::string error_of(Job& job, const RunOptions& options = {.clocks = 1}) {
  Idle program;
  const auto report = job.run(program, options);
  return report ? "fine" : report.error().message();
}

TEST(Job, ReportsAWrongDeclarationWhenItRuns) {
  Bench none, empty, twice, states;
  none.job.table<Scalar<float>>({.name = "t", .rows = 0});
  EXPECT_EQ(error_of(none.job), "table 't': it has no rows");
  empty.job.table<Scalar<float>>({.name = "", .rows = 3});
  EXPECT_EQ(error_of(empty.job), "a table without a name");
  twice.job.table<Scalar<float>>({.name = "t", .rows = 1});
  twice.job.table<Dense<float>>({.name = "t", .rows = 1});
  EXPECT_EQ(error_of(twice.job), "two tables are called 't'");
  states.job.state<float>("s");
  states.job.state<double>("s");
  EXPECT_EQ(error_of(states.job), "two states are called 's'");
}

TEST(Job, RefusesRunOptionsThatMakeNoSense) {
  Bench bench;
  EXPECT_EQ(error_of(bench.job, {.clocks = -1}), "clocks is -1");
  EXPECT_EQ(error_of(bench.job, {.driving_metric = "speed"}), "the program has no metric 'speed'");
  EXPECT_EQ(error_of(bench.job, {.resume = true}), "resuming needs a folder of checkpoints");
  EXPECT_EQ(error_of(bench.job), "fine");
}

struct Scheduled {
  Schedule plan;
  Schedule schedule() { return plan; }
  void push(TaskContext&, const Task&) {}
};

TEST(Job, RefusesSchedulesOverWhatIsNoLeasedTableOfItsOwn) {
  Bench bench;
  const auto bounded = bench.job.table<Scalar<float>>({.name = "b", .rows = 4, .blocks = 2});
  const auto leased = bench.job.table<Scalar<float>>(
      {.name = "l", .rows = 4, .sharing = Sharing::leased, .blocks = 2});
  const Table<Scalar<float>> foreign(9, 4, 1, 2), other_cut(leased.id(), 4, 1, 1);
  for (const Schedule& plan : {Schedule(), rotate(bounded), grid(bounded), rotate(foreign),
                               rotate(other_cut), rotate(Table<Scalar<float>>())}) {
    Scheduled program{plan};
    EXPECT_FALSE(bench.job.run(program, {.clocks = 1}));
  }
  Scheduled program{rotate(leased)};
  EXPECT_TRUE(bench.job.run(program, {.clocks = 1}));
}

TEST(Job, TableHandlesAndStorageCutRowsAlike) {
  for (std::uint64_t rows = 1; rows <= 12; ++rows) {
    for (std::uint32_t blocks = 1; blocks <= 14; ++blocks) {
      Bench bench(1);
      const auto table = bench.job.table<Scalar<std::int64_t>>(
          {.name = "t", .rows = rows, .blocks = blocks},
          [](RowId row, std::int64_t& value, Rng&) { value = static_cast<std::int64_t>(row) + 1; });
      ASSERT_EQ(error_of(bench.job, {.clocks = 0}), "fine");
      RowId next = 0;
      for (BlockId block = 0; block < table.blocks(); ++block) {
        const auto [first, last] = table.range(block);
        ASSERT_EQ(first, next);
        ASSERT_LT(first, last);
        for (; next < last; ++next) ASSERT_EQ(table.block_of(next), block);
      }
      ASSERT_EQ(next, rows);
      bench.job.inspect([&](TaskContext& context) {
        const auto view = context.read(table);
        ASSERT_EQ(view.blocks(), table.blocks());
        for (RowId row = 0; row < rows; ++row) {
          ASSERT_EQ(view[row], static_cast<std::int64_t>(row) + 1);
        }
      });
    }
  }
}

// ---- Hooks

struct Hooked {
  explicit Hooked(Job& job)
      : calls(job.state<std::vector<std::int64_t>>("calls")),
        sums(job.table<Scalar<std::int64_t>>({.name = "sums", .rows = 1, .derived = true})) {}
  Schedule schedule() { return sweep(); }
  void init(TaskContext& context) { context.state(calls).push_back(1); }
  void derive(TaskContext& context) {
    context.state(calls).push_back(2);
    context.increment(sums, 0) += 10;
  }
  void rebuild(TaskContext& context) {
    context.state(calls).push_back(3);
    context.state(calls).push_back(context.read(sums)[0]);
  }
  void push(TaskContext& context, const Task&) { context.state(calls).push_back(4); }
  State<std::vector<std::int64_t>> calls;
  Table<Scalar<std::int64_t>> sums;
};

TEST(Job, CallsInitThenDeriveOfAllShardsThenRebuildThenPush) {
  Bench bench(3, 2);
  Hooked program(bench.job);
  ASSERT_TRUE(bench.job.run(program, {.clocks = 2}));
  bench.job.inspect([&](TaskContext& context) {
    EXPECT_EQ(context.state(program.calls), (std::vector<std::int64_t>{1, 2, 3, 30, 4, 4}));
  });
}

struct Throwing {
  std::string where;
  Schedule schedule() { return may("schedule"), sweep(); }
  void init(TaskContext&) { may("init"); }
  void derive(TaskContext&) { may("derive"); }
  void rebuild(TaskContext&) { may("rebuild"); }
  void touches(TouchSet&, const Task&) { may("touches"); }
  void push(TaskContext&, const Task&) { may("push"); }
  std::vector<MetricSpec> metrics() { return may("metrics"), std::vector<MetricSpec>{{"m"}}; }
  void metric(TaskContext&, std::span<MetricPart>) { may("metric"); }
  void may(std::string_view place) const {
    if (place == where) throw std::runtime_error("thrown by " + where);
  }
};

TEST(Job, WhateverHookThrowsTheRunEndsWithAnErrorNamingIt) {
  for (const std::string hook : {"schedule", "init", "derive", "rebuild", "touches", "push",
                                 "metrics", "metric", "on_metric", "load", "fill"}) {
    Bench bench(2, 2);
    Throwing program{hook};
    bench.job.table<Scalar<float>>({.name = "t", .rows = 1},
                                   [&](RowId, float&, Rng&) { program.may("fill"); });
    bench.job.data<int>("d", [&](ShardId) -> Result<int> { return program.may("load"), 1; });
    const auto report = bench.job.run(
        program, {.clocks = 1, .on_metric = [&](const MetricPoint&) { program.may("on_metric"); }});
    ASSERT_FALSE(report) << hook;
    const std::string& message = report.error().message();
    EXPECT_NE(message.find("thrown by " + hook), std::string::npos) << message;
    EXPECT_NE(message.find(hook == "fill" ? "table 't'" : hook + "()"), std::string::npos)
        << message;
  }
}

TEST(Job, DataThatFailsToLoadIsTriedAgainByTheNextRun) {
  Bench bench(3, 2);
  bool fails = true;
  const auto data = bench.job.data<std::string>("words", [&](ShardId shard) -> Result<std::string> {
    if (fails && shard == 1) return error(Code::not_found, "no such file");
    return text("word {}", shard);
  });
  EXPECT_EQ(error_of(bench.job), "data 'words': load() of shard 1: no such file");
  fails = false;
  EXPECT_EQ(error_of(bench.job), "fine");
  bench.job.inspect([&](TaskContext& context) {
    EXPECT_EQ(context.data(data), text("word {}", context.shard()));
  });
}

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

// A metric sees all commits of the clocks before it and nothing else.
struct Cut {
  explicit Cut(Job& job)
      : sum(job.table<Scalar<std::int64_t>>({.name = "sum", .rows = 1, .staleness = 3})) {}
  Schedule schedule() { return sweep(); }
  void push(TaskContext& context, const Task&) { ++context.increment(sum, 0); }
  std::vector<MetricSpec> metrics() { return {{.name = "sum", .combine = Combine::mean}}; }
  void metric(TaskContext& context, std::span<MetricPart> parts) {
    parts[0] = {static_cast<double>(context.read(sum)[0]), 1};
  }
  Table<Scalar<std::int64_t>> sum;
};

TEST(MetricsThreads, SeeAConsistentCut) {
  for (unsigned threads = 1; threads <= 4; ++threads) {
    Bench bench(4, threads);
    Cut program(bench.job);
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

// ---- What a task may touch

struct Toucher {
  explicit Toucher(Job& job) {
    bounded = job.table<Dense<float>>({.name = "bounded", .rows = 4, .width = 2, .blocks = 2});
    leased = job.table<Dense<float>>(
        {.name = "leased", .rows = 4, .width = 2, .sharing = Sharing::leased, .blocks = 2});
  }
  Schedule schedule() { return sweep(); }
  void touches(TouchSet& touch, const Task&) {
    if (declare) declare(touch);
  }
  void push(TaskContext& context, const Task&) { act(context); }
  Table<Dense<float>> bounded, leased;
  std::function<void(TouchSet&)> declare;
  std::function<void(TaskContext&)> act;
};

TEST(TouchesDeath, WhatIsNotDeclaredIsABug) {
  Bench bench(1);
  Toucher program(bench.job);
  const auto runs = [&](std::function<void(TaskContext&)> act) {
    program.act = std::move(act);
    static_cast<void>(bench.job.run(program, {.clocks = 1}).has_value());
  };
  program.declare = [&](TouchSet& touch) {
    touch.read(program.bounded, 0);
    touch.read(program.leased, 1);
  };
  EXPECT_DEATH(runs([&](TaskContext& c) { c.read(program.bounded, 1); }),
               "did not declare a read of block 1 of table 'bounded'");
  EXPECT_DEATH(runs([&](TaskContext& c) { c.read(program.bounded); }), "did not declare a read");
  EXPECT_DEATH(runs([&](TaskContext& c) { c.read(program.leased, 0); }),
               "did not declare a read of block 0 of table 'leased'");
  EXPECT_DEATH(runs([&](TaskContext& c) { c.lease(program.leased, 1); }),
               "did not declare a lease of block 1 of table 'leased'");
  EXPECT_DEATH(runs([&](TaskContext& c) { c.increment(program.leased, 0); }), "leased table");
  EXPECT_DEATH(runs([&](TaskContext& c) { c.increment(program.bounded, 4); }), "row 4 of 4");
  runs([&](TaskContext& c) { c.read(program.bounded, 0), c.read(program.leased, 1); });
}

TEST(Touches, ATaskMayNameTheSameBlockTwice) {
  Bench bench(2);
  Toucher program(bench.job);
  program.declare = [&](TouchSet& touch) {
    touch.read(program.bounded);
    touch.read(program.bounded, 1);
    touch.read(program.leased);
    touch.read(program.leased, 0);
  };
  program.act = [&](TaskContext& c) { c.read(program.leased), c.read(program.bounded, 1); };
  EXPECT_TRUE(bench.job.run(program, {.clocks = 2}));
  Bench alone(1);
  Toucher leaser(alone.job);
  leaser.declare = [&](TouchSet& touch) {
    touch.read(leaser.leased);
    touch.lease(leaser.leased, 1);
    touch.lease(leaser.leased, 1);
  };
  leaser.act = [&](TaskContext& c) { c.read(leaser.leased), c.lease(leaser.leased, 1); };
  EXPECT_TRUE(alone.job.run(leaser, {.clocks = 2}));
}

// Increments of a task show in the next task of the shard, not in the task's own views.
struct Shows {
  explicit Shows(Job& job)
      : rows(job.table<Scalar<float>>(
            {.name = "rows", .rows = 3, .sharing = Sharing::leased, .blocks = 3})),
        sum(job.table<Scalar<std::int64_t>>({.name = "sum", .rows = 1})),
        seen(job.state<std::vector<std::int64_t>>("seen")) {}
  Schedule schedule() { return rotate(rows); }
  void push(TaskContext& context, const Task&) {
    context.increment(sum, 0) += 1;
    context.state(seen).push_back(context.read(sum)[0]);
  }
  Table<Scalar<float>> rows;
  Table<Scalar<std::int64_t>> sum;
  State<std::vector<std::int64_t>> seen;
};

TEST(Touches, IncrementsShowFromTheShardsNextTask) {
  Bench bench(2);
  Shows program(bench.job);
  ASSERT_TRUE(bench.job.run(program, {.clocks = 2}));
  bench.job.inspect([&](TaskContext& context) {
    EXPECT_EQ(context.state(program.seen), (std::vector<std::int64_t>{0, 1, 2, 6, 7, 8}));
  });
}

// ---- Random streams

struct Draws {
  explicit Draws(Job& job)
      : rows(job.table<Scalar<float>>(
            {.name = "rows", .rows = 2, .sharing = Sharing::leased, .blocks = 2})),
        drawn(job.state<std::vector<std::uint64_t>>("drawn")) {}
  Schedule schedule() { return rotate(rows); }
  void push(TaskContext& context, const Task& task) {
    Rng expected(StreamKey{1, task.shard, task.clock, task.block});
    CHECK(context.rng().next() == expected.next());
    context.state(drawn).push_back(context.rng().next());
  }
  Table<Scalar<float>> rows;
  State<std::vector<std::uint64_t>> drawn;
};

TEST(TaskContext, DrawsFromTheStreamOfItsShardClockAndBlock) {
  Bench bench(2);
  Draws program(bench.job);
  EXPECT_TRUE(bench.job.run(program, {.clocks = 3}));
}

struct Rows {
  explicit Rows(Job& job)
      : rows(
            job.table<Dense<double>>(leased({.name = "rows", .rows = 100, .width = 3, .blocks = 4}),
                                     uniform_rows(-2.0, 3.0))) {}
  Schedule schedule() { return rotate(rows); }
  void push(TaskContext&, const Task&) {}
  std::vector<MetricSpec> metrics() { return {{.name = "mean", .combine = Combine::mean}}; }
  void metric(TaskContext& context, std::span<MetricPart> parts) {
    for (RowId row = 0; row < 100; ++row) {
      for (const double value : context.read(rows)[row]) {
        CHECK(value >= -2 && value < 3);
        parts[0].add(value, 2);
      }
    }
  }
  Table<Dense<double>> rows;
};

TEST(LocalJob, RunsAProgramThatDeclaresItsOwnStorage) {
  const auto report = run_local<Rows>({.shards = 2}, {.clocks = 1});
  ASSERT_TRUE(report);
  EXPECT_NEAR(report->last(), 0.5, 0.35);  // 300 draws of variance 25 / 12: four deviations
  EXPECT_TRUE(std::isnan(report->last(1)));
  EXPECT_TRUE(std::isnan(Report().last()));
}

TEST(LocalJob, RunsWithoutAnythingAround) {
  auto job = local_job({.shards = 4, .threads = 2});
  ASSERT_TRUE(job);
  Job moved = std::move(*job);
  Cut program(moved);
  const auto report = moved.run(program, {.clocks = 5});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->curve.back().values[0], 20);
  EXPECT_FALSE(local_job({.shards = 0}));
}

}  // namespace
}  // namespace castor

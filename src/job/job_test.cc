#include "job/job.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "job/fixture.h"
#include "job/local.h"

namespace castor {
namespace {

using Bench = job::JobBench;
using job::Idle, job::TickingWorld, job::Census;

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
  Census program(moved);
  const auto report = moved.run(program, {.clocks = 5});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->curve.back().values[0], 20);
  EXPECT_FALSE(local_job({.shards = 0}));
}

}  // namespace
}  // namespace castor

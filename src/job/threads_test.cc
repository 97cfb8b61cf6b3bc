// What must hold with any number of threads. Each suite has Threads in its name: the thread
// sanitizer runs these.
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "core/property.h"
#include "job/fixture.h"

namespace castor::job {
namespace {

Job open(TickingWorld& world, const Log& log, ShardId shards, unsigned threads,
         std::uint64_t seed = 1) {
  auto job = Job::open(world, log, {.shards = shards, .threads = threads, .seed = seed});
  CHECK(job.has_value());
  return std::move(job).value();
}

// ---- Same bits

std::vector<std::byte> everything(Order order, unsigned threads, std::uint64_t seed) {
  TickingWorld world;
  const Log log;
  Job job = open(world, log, 6, threads, seed);
  Everything program(job, order);
  const auto report = job.run(program, {.clocks = 7});
  CHECK(report.has_value(), "{}", report.error().message());
  return program.bytes(job);
}

TEST(DeterminismThreads, TheModelHasTheSameBitsForOneToFourThreads) {
  for (const Order order : {Order::rotate, Order::sweep, Order::phases}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const std::vector<std::byte> one = everything(order, 1, seed);
      for (unsigned threads = 2; threads <= 4; ++threads) {
        ASSERT_EQ(everything(order, threads, seed), one) << "threads " << threads;
      }
    }
  }
}

TEST(DeterminismThreads, AnotherSeedGivesAnotherModel) {
  EXPECT_NE(everything(Order::rotate, 1, 1), everything(Order::rotate, 1, 2));
}

// Bulk-synchronous by the textbook: x' = x + sum over shards of f(shard, x).
struct Textbook {
  explicit Textbook(Job& job)
      : x(job.table<Scalar<std::int64_t>>({.name = "x", .rows = 3, .blocks = 2})) {}
  static std::int64_t f(ShardId shard, std::int64_t x) { return (x * 31 + shard * 7 + 1) % 1009; }
  Schedule schedule() { return sweep(); }
  void push(TaskContext& context, const Task& task) {
    for (RowId row = 0; row < 3; ++row) {
      context.increment(x, row) += f(task.shard, context.read(x)[row] + std::int64_t(row));
    }
  }
  Table<Scalar<std::int64_t>> x;
};

TEST(BoundedThreads, StalenessZeroIsTheTextbookLoop) {
  constexpr ShardId shards = 5;
  constexpr Clock clocks = 30;
  std::array<std::int64_t, 3> expected{};
  for (Clock clock = 0; clock < clocks; ++clock) {
    const std::array<std::int64_t, 3> before = expected;
    for (ShardId shard = 0; shard < shards; ++shard) {
      for (std::size_t row = 0; row < 3; ++row) {
        expected[row] += Textbook::f(shard, before[row] + std::int64_t(row));
      }
    }
  }
  for (unsigned threads = 1; threads <= 4; ++threads) {
    TickingWorld world;
    const Log log;
    Job job = open(world, log, shards, threads);
    Textbook program(job);
    ASSERT_TRUE(job.run(program, {.clocks = clocks}));
    job.inspect([&](TaskContext& context) {
      for (RowId row = 0; row < 3; ++row) EXPECT_EQ(context.read(program.x)[row], expected[row]);
    });
  }
}

// ---- Nothing lost, nothing twice

struct Counter {
  Counter(Job& job, int kind, int staleness) : schedule_kind(kind) {
    const TableSpec bounded{
        .name = "dense", .rows = 6, .width = 2, .staleness = staleness, .blocks = 3};
    dense = job.table<Dense<std::int64_t>>(bounded);
    sparse = job.table<Sparse<std::int32_t>>(
        {.name = "sparse", .rows = 2, .width = 500, .staleness = staleness, .blocks = 2});
    scalar = job.table<Scalar<std::int64_t>>({.name = "scalar", .rows = 1, .staleness = staleness});
    leased = job.table<Dense<std::int32_t>>(
        {.name = "leased", .rows = 5, .width = 1, .sharing = Sharing::leased, .blocks = 5});
  }
  Schedule schedule() {
    if (schedule_kind == 0) return sweep();
    if (schedule_kind == 1) return rotate(leased);
    return grid(leased, {.slack = 2});
  }
  void push(TaskContext& context, const Task& task) {
    for (RowId row = 0; row < 6; ++row) context.increment(dense, row)[row % 2] += 1 + task.shard;
    context.increments(sparse, 1)[1].add(task.shard, 2);
    context.increment(sparse, 0).add(static_cast<std::uint32_t>(task.clock), 1);
    ++context.increment(scalar, 0);
    if (schedule_kind != 0) ++context.lease(leased, task.block)[task.block][0];
  }
  const int schedule_kind;
  Table<Dense<std::int64_t>> dense;
  Table<Sparse<std::int32_t>> sparse;
  Table<Scalar<std::int64_t>> scalar;
  Table<Dense<std::int32_t>> leased;
};

void expect_exact_counts(int kind, int staleness, unsigned threads) {
  constexpr ShardId shards = 7;
  constexpr Clock clocks = 9;
  TickingWorld world;
  const Log log;
  Job job = open(world, log, shards, threads);
  Counter program(job, kind, staleness);
  const auto report = job.run(program, {.clocks = clocks, .metric_every = 4});
  ASSERT_TRUE(report) << report.error().message();
  const std::int64_t a_clock = kind == 0 ? 1 : 5;  // tasks of a shard
  EXPECT_EQ(report->tasks, static_cast<std::uint64_t>(shards * clocks * a_clock));
  job.inspect([&](TaskContext& context) {
    for (RowId row = 0; row < 6; ++row) {
      EXPECT_EQ(context.read(program.dense)[row][row % 2], clocks * a_clock * (1 + 7) * 7 / 2);
      EXPECT_EQ(context.read(program.dense)[row][1 - row % 2], 0);
    }
    for (ShardId shard = 0; shard < shards; ++shard) {
      EXPECT_EQ(context.read(program.sparse)[1].get(shard), 2 * clocks * a_clock);
    }
    for (std::uint32_t clock = 0; clock < clocks; ++clock) {
      EXPECT_EQ(context.read(program.sparse)[0].get(clock), shards * a_clock);
    }
    EXPECT_EQ(context.read(program.scalar)[0], shards * clocks * a_clock);
    for (BlockId block = 0; block < 5; ++block) {
      EXPECT_EQ(context.read(program.leased)[block][0], kind == 0 ? 0 : shards * clocks);
    }
  });
}

TEST(CountsThreads, EveryIncrementArrivesExactlyOnceInEveryKindOfTable) {
  for (int kind = 0; kind < 3; ++kind) {
    for (const int staleness : {0, 1, 3, ps::staleness_unbounded}) {
      for (unsigned threads = 1; threads <= 4; ++threads) {
        expect_exact_counts(kind, staleness, threads);
      }
    }
  }
}

// ---- Staleness, as a program sees it

// Cell (shard, clock) counts the tasks of that shard and clock whose commits a read contains.
struct Witness {
  static constexpr Clock clocks = 12;
  static constexpr BlockId blocks = 3;

  Witness(Job& job, bool does_rotate, int table_staleness)
      : rotates(does_rotate), staleness(table_staleness) {
    cells = job.table<Dense<std::int32_t>>({.name = "cells",
                                            .rows = job.shards(),
                                            .width = clocks,
                                            .staleness = staleness,
                                            .blocks = 2});
    rows = job.table<Scalar<float>>(
        {.name = "rows", .rows = blocks, .sharing = Sharing::leased, .blocks = blocks});
    done = job.state<std::vector<std::int32_t>>("done");
    wrong = job.state<std::int64_t>("wrong");
  }
  Schedule schedule() { return rotates ? rotate(rows) : sweep(); }
  void init(TaskContext& context) { context.state(done).assign(clocks, 0); }
  void push(TaskContext& context, const Task& task) {
    const std::int32_t a_clock = rotates ? blocks : 1;
    const auto read = context.read(cells);
    std::vector<std::int32_t>& own = context.state(done);
    for (ShardId shard = 0; shard < context.shards(); ++shard) {
      for (Clock stamp = 0; stamp < clocks; ++stamp) {
        const std::int32_t seen = read[shard][stamp];
        bool right = seen == 0 || seen == a_clock;  // commits are whole
        if (shard == task.shard) right = seen == own[stamp];
        if (staleness >= 0 && stamp <= task.clock - staleness - 1) right = seen == a_clock;
        if (!right) ++context.state(wrong);
      }
    }
    ++context.increment(cells, task.shard)[task.clock];
    ++own[task.clock];
  }
  const bool rotates;
  const int staleness;
  Table<Dense<std::int32_t>> cells;
  Table<Scalar<float>> rows;
  State<std::vector<std::int32_t>> done;
  State<std::int64_t> wrong;
};

TEST(StalenessThreads, EveryReadHoldsAllCommitsBeyondTheBoundAndAllOwnTasks) {
  for (const bool rotates : {false, true}) {
    for (const int staleness : {0, 1, 2, 5, ps::staleness_unbounded}) {
      for (unsigned threads = 1; threads <= 4; ++threads) {
        TickingWorld world;
        const Log log;
        Job job = open(world, log, 5, threads);
        Witness program(job, rotates, staleness);
        ASSERT_TRUE(job.run(program, {.clocks = Witness::clocks, .metric_every = 100}));
        job.inspect([&](TaskContext& context) {
          EXPECT_EQ(context.state(program.wrong), 0)
              << "staleness " << staleness << " threads " << threads;
        });
      }
    }
  }
}

// ---- One shard is held up: how far do the others go?

// Shard 0 stays in its task of clock `held` until the others have done all that they may, and then
// a little longer, so that they could do what they may not.
class HoldUp {
 public:
  HoldUp(Clock held, ShardId shards, Clock may_end)
      : held_(held), wanted_((shards - 1) * may_end) {}

  void enter(const Task& task) {
    if (task.shard != 0 || task.clock != held_) return;
    while (ended_.load() < wanted_) {
    }
    for (int i = 0; i < 300000 && ended_.load() == wanted_; ++i) {
    }
    overrun_ = ended_.load() - wanted_;
  }
  void leave(const Task& task) { ended_ += task.shard == 0 ? 0 : 1; }
  std::int64_t overrun() const { return overrun_; }

 private:
  const Clock held_;
  const std::int64_t wanted_;  // tasks of the others
  std::atomic<std::int64_t> ended_ = 0;
  std::int64_t overrun_ = 0;
};

struct HeldUp {
  HeldUp(Job& job, int staleness, Clock held)
      : hold_up(held, job.shards(), held + staleness + 1),
        sum(job.table<Scalar<std::int64_t>>({.name = "sum", .rows = 1, .staleness = staleness})) {}
  Schedule schedule() { return sweep(); }
  void push(TaskContext& context, const Task& task) {
    hold_up.enter(task);
    ++context.increment(sum, 0);
    hold_up.leave(task);
  }
  HoldUp hold_up;
  Table<Scalar<std::int64_t>> sum;
};

TEST(StalenessThreads, OthersGetAheadOfAShardByExactlyTheBound) {
  for (int staleness = 0; staleness <= 4; ++staleness) {
    for (unsigned threads = 2; threads <= 4; ++threads) {
      TickingWorld world;
      const Log log;
      Job job = open(world, log, 4, threads);
      HeldUp program(job, staleness, 3);
      const auto report = job.run(program, {.clocks = 12, .metric_every = 12});
      ASSERT_TRUE(report) << report.error().message();
      EXPECT_EQ(program.hold_up.overrun(), 0) << "staleness " << staleness;
      job.inspect([&](TaskContext& context) { EXPECT_EQ(context.read(program.sum)[0], 48); });
    }
  }
}

// ---- Leases in a sweep: clock by clock, each shard has another block

struct Carousel {
  static constexpr ShardId shards = 6;

  explicit Carousel(Job& job, bool holds_up)
      : hold_up(holds_up ? 3 : -1, shards, 4),
        rows(job.table<Scalar<std::int64_t>>(
            leased({.name = "rows", .rows = shards, .blocks = shards}))) {}
  static BlockId block_of(ShardId shard, Clock clock) {
    return static_cast<BlockId>((shard + clock) % shards);
  }
  static std::int64_t next(std::int64_t value, ShardId shard) {
    return (value * 31 + shard + 1) % 1000003;
  }
  Schedule schedule() { return sweep(); }
  void touches(TouchSet& touch, const Task& task) {
    touch.lease(rows, block_of(task.shard, task.clock));
  }
  void push(TaskContext& context, const Task& task) {
    const BlockId block = block_of(task.shard, task.clock);
    hold_up.enter(task);
    std::int64_t& value = context.lease(rows, block)[block];
    value = next(value, task.shard);
    hold_up.leave(task);
  }
  HoldUp hold_up;
  Table<Scalar<std::int64_t>> rows;
};

TEST(SweepThreads, ALeaseIsTakenWhenAllEarlierClocksAreDone) {
  constexpr Clock clocks = 30;
  std::array<std::int64_t, Carousel::shards> expected{};
  for (Clock clock = 0; clock < clocks; ++clock) {
    for (ShardId shard = 0; shard < Carousel::shards; ++shard) {
      std::int64_t& value = expected[Carousel::block_of(shard, clock)];
      value = Carousel::next(value, shard);
    }
  }
  for (unsigned threads = 1; threads <= 4; ++threads) {
    TickingWorld world;
    const Log log;
    Job job = open(world, log, Carousel::shards, threads);
    Carousel program(job, threads > 1);
    const auto report = job.run(program, {.clocks = clocks, .metric_every = clocks});
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(program.hold_up.overrun(), 0);
    job.inspect([&](TaskContext& context) {
      for (RowId row = 0; row < Carousel::shards; ++row) {
        EXPECT_EQ(context.read(program.rows)[row], expected[row]) << "threads " << threads;
      }
    });
  }
}

// ---- Errors end the run, once, with the place

struct Faulty {
  enum class Fault : std::uint8_t { thrown, odd, failed, conflict, overlap, no_block, no_lease };

  Faulty(Job& job, Fault what) : fault(what) {
    shared = job.table<Scalar<float>>(
        {.name = "shared", .rows = 4, .sharing = Sharing::leased, .blocks = 4});
    sum = job.table<Scalar<float>>({.name = "sum", .rows = 1});
  }
  Schedule schedule() { return sweep(); }
  void touches(TouchSet& touch, const Task& task) {
    if (task.clock != 2) return;
    if (fault == Fault::conflict) touch.lease(shared, 1);
    if (fault == Fault::overlap) {
      if (task.shard == 0) touch.lease(shared, 3);
      if (task.shard != 0) touch.read(shared);
    }
    if (fault == Fault::no_block) touch.read(shared, 9);
    if (fault == Fault::no_lease) touch.lease(sum, 0);
  }
  Status push(TaskContext&, const Task& task) {
    if (task.clock != 2 || task.shard != 3) return {};
    if (fault == Fault::thrown) throw std::runtime_error("out of luck");
    if (fault == Fault::odd) throw 17;
    if (fault == Fault::failed) return error(Code::exhausted, "no room");
    return {};
  }
  const Fault fault;
  Table<Scalar<float>> shared, sum;
};

void expect_one_error(Faulty::Fault fault, Code code, const std::vector<std::string>& words) {
  for (unsigned threads = 1; threads <= 4; ++threads) {
    TickingWorld world;
    const Log log;
    Job job = open(world, log, 6, threads);
    Faulty program(job, fault);
    const auto report = job.run(program, {.clocks = 50});
    ASSERT_FALSE(report) << "threads " << threads;
    EXPECT_EQ(report.error().code(), code);
    for (const std::string& word : words) {
      EXPECT_NE(report.error().message().find(word), std::string::npos)
          << "no '" << word << "' in: " << report.error().message();
    }
  }
}

TEST(ErrorsThreads, AThrowingPushEndsTheRunWithOneErrorThatNamesTheTask) {
  expect_one_error(Faulty::Fault::thrown, Code::invalid,
                   {"push() of shard 3, clock 2", "out of luck"});
  expect_one_error(Faulty::Fault::odd, Code::invalid,
                   {"push() of shard 3, clock 2", "no std::exception"});
}

TEST(ErrorsThreads, AFailedPushKeepsItsCode) {
  expect_one_error(Faulty::Fault::failed, Code::exhausted,
                   {"push() of shard 3, clock 2", "no room"});
}

TEST(ErrorsThreads, ConflictingTouchesAreAnErrorWithAnyNumberOfThreads) {
  expect_one_error(Faulty::Fault::conflict, Code::invalid,
                   {"shard", "clock 2", "leases block 1", "table 'shared'", "touches()"});
  expect_one_error(Faulty::Fault::overlap, Code::invalid,
                   {"shard", "clock 2", "block 3", "table 'shared'", "touches()"});
}

TEST(ErrorsThreads, TouchingWhatDoesNotExistIsAnError) {
  expect_one_error(Faulty::Fault::no_block, Code::invalid, {"block 9", "'shared'", "has 4"});
  expect_one_error(Faulty::Fault::no_lease, Code::invalid, {"'sum'", "bounded"});
}

// ---- Tasks and their number

struct Recorder {
  explicit Recorder(Job& job)
      : rows(job.table<Scalar<float>>(
            {.name = "rows", .rows = 3, .sharing = Sharing::leased, .blocks = 3})),
        tasks(job.state<std::vector<std::int64_t>>("tasks")) {}
  Schedule schedule() { return phases({{rotate(rows), 2}, {sweep(), 1}, {grid(rows), 1}}); }
  void push(TaskContext& context, const Task& task) {
    context.state(tasks).push_back(task.clock * 100 + task.phase * 10 + task.block);
  }
  Table<Scalar<float>> rows;
  State<std::vector<std::int64_t>> tasks;
};

TEST(PhasesThreads, EveryPhaseRunsItsTasksInItsClocks) {
  std::vector<std::int64_t> expected;  // of any shard, sorted
  const std::int64_t phase_of[] = {0, 0, 1, 2};
  for (Clock clock = 0; clock < 10; ++clock) {
    const std::int64_t phase = phase_of[clock % 4];
    for (std::int64_t block = 0; block < (phase == 1 ? 1 : 3); ++block) {
      expected.push_back(clock * 100 + phase * 10 + block);
    }
  }
  for (unsigned threads = 1; threads <= 4; ++threads) {
    TickingWorld world;
    const Log log;
    Job job = open(world, log, 4, threads);
    Recorder program(job);
    const auto report = job.run(program, {.clocks = 10});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->clock, 10);
    EXPECT_EQ(report->tasks, expected.size() * 4);
    job.inspect([&](TaskContext& context) {
      std::vector<std::int64_t> found = context.state(program.tasks);
      std::ranges::sort(found);
      EXPECT_EQ(found, expected);
    });
  }
}

// The same job again is as the first time, also after a failure in the middle of a clock.
TEST(AgainThreads, ASecondRunStartsFromNothing) {
  for (unsigned threads = 1; threads <= 3; ++threads) {
    TickingWorld world;
    const Log log;
    Job job = open(world, log, 6, threads);
    Everything program(job, Order::phases);
    ASSERT_TRUE(job.run(program, {.clocks = 5}));
    const std::vector<std::byte> first = program.bytes(job);
    ASSERT_TRUE(job.run(program, {.clocks = 5}));
    EXPECT_EQ(program.bytes(job), first);
  }
}

struct FailsOnce {
  explicit FailsOnce(Job& job)
      : sum(job.table<Scalar<std::int64_t>>({.name = "sum", .rows = 1, .staleness = 1})) {}
  Schedule schedule() { return sweep(); }
  Status push(TaskContext& context, const Task& task) {
    ++context.increment(sum, 0);
    if (fails && task.clock == 3 && task.shard == 2) return error(Code::io, "once");
    return {};
  }
  bool fails = true;
  Table<Scalar<std::int64_t>> sum;
};

TEST(AgainThreads, ARunAfterAFailedOneIsNotTouchedByIt) {
  for (unsigned threads = 1; threads <= 3; ++threads) {
    TickingWorld world;
    const Log log;
    Job job = open(world, log, 4, threads);
    FailsOnce program(job);
    ASSERT_FALSE(job.run(program, {.clocks = 8}));
    program.fails = false;
    ASSERT_TRUE(job.run(program, {.clocks = 8}));
    job.inspect([&](TaskContext& context) { EXPECT_EQ(context.read(program.sum)[0], 8 * 4); });
  }
}

// A stop that comes from within a task ends the run at an edge: all shards have done the same
// clocks.
struct Stopper {
  explicit Stopper(Job& job) : count(job.state<std::int64_t>("count")) {}
  Schedule schedule() { return sweep(); }
  void push(TaskContext& context, const Task& task) {
    ++context.state(count);
    if (task.clock == 5 && task.shard == 1) stop.store(true);
  }
  std::atomic<bool> stop = false;
  State<std::int64_t> count;
};

TEST(StopThreads, AStopEndsAtAConsistentCut) {
  for (unsigned threads = 1; threads <= 4; ++threads) {
    TickingWorld world;
    const Log log;
    Job job = open(world, log, 5, threads);
    Stopper program(job);
    const auto report = job.run(
        program, {.clocks = 100000, .metric_every = 100000, .stop_requested = &program.stop});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->reason, StopReason::requested);
    EXPECT_LT(report->clock, 100000);
    job.inspect(
        [&](TaskContext& context) { EXPECT_EQ(context.state(program.count), report->clock); });
  }
}

}  // namespace
}  // namespace castor::job

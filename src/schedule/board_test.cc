#include "schedule/board.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/property.h"

namespace castor::schedule {
namespace {

const auto always = [](const Task&) { return true; };

// A board driven by a random executor with some threads: tasks end in any order.
class Executor {
 public:
  Executor(Board& board, Rng& rng, std::size_t threads)
      : board_(board), rng_(rng), threads_(threads) {}

  // Until the clocks before `limit` are done. Checks that running tasks never conflict.
  void run_until(Clock limit, bool has_blocks) {
    board_.allow_until(limit);
    while (true) {
      const bool may_take = running_.size() < threads_;
      std::optional<Task> task;
      if (may_take && (running_.empty() || rng_.below(3) != 0)) task = board_.take(always);
      if (task) {
        ASSERT_LT(task->clock, limit);
        for (const Task& other : running_) {
          ASSERT_NE(other.shard, task->shard) << "a shard in two tasks";
          if (!has_blocks) continue;
          ASSERT_NE(other.block, task->block) << "a block in two tasks";
        }
        running_.push_back(*task);
        taken.push_back(*task);
        latest = std::max(latest, task->clock);
        continue;
      }
      if (running_.empty()) break;
      const std::size_t at = rng_.below(running_.size());
      board_.done(running_[at]);
      ended.push_back(running_[at]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    ASSERT_EQ(board_.closed(), limit) << "stuck";
    ASSERT_EQ(board_.begun(), latest + 1);
  }

  std::vector<Task> taken, ended;
  Clock latest = -1;

 private:
  Board& board_;
  Rng& rng_;
  std::size_t threads_;
  std::vector<Task> running_;
};

using Key = std::tuple<Clock, ShardId, BlockId>;

void expect_each_pair_once(const std::vector<Task>& tasks, ShardId shards, BlockId blocks,
                           Clock first, Clock limit) {
  std::set<Key> seen;
  for (const Task& task : tasks) {
    ASSERT_TRUE(task.shard < shards && task.block < blocks);
    ASSERT_TRUE(task.clock >= first && task.clock < limit);
    ASSERT_TRUE(seen.emplace(task.clock, task.shard, task.block).second) << "twice";
  }
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(shards) * blocks * (limit - first));
}

// The order in which each shard, and each block, took its tasks.
std::map<std::pair<bool, std::uint32_t>, std::vector<Key>> chains(const std::vector<Task>& tasks) {
  std::map<std::pair<bool, std::uint32_t>, std::vector<Key>> result;
  for (const Task& task : tasks) {
    const Key key(task.clock, task.shard, task.block);
    result[{true, task.shard}].push_back(key);
    result[{false, task.block}].push_back(key);
  }
  return result;
}

template <class F>
void for_small_grids(F&& f) {
  for (ShardId shards = 1; shards <= 7; ++shards) {
    for (BlockId blocks = 1; blocks <= 7; ++blocks) f(shards, blocks);
  }
}

TEST(RotateBoard, EveryPairRunsOnceAClockWithoutConflictInAnyOrderOfCompletion) {
  for_seeds(20, [](Rng& rng) {
    for_small_grids([&](ShardId shards, BlockId blocks) {
      const Rotate rule{.reshuffle = rng.below(2) == 0};
      const auto board = make_board({rule, blocks}, {.shards = shards, .first = 2, .seed = 3});
      Executor executor(*board, rng, 1 + rng.below(8));
      executor.run_until(4, true);
      executor.run_until(6, true);
      expect_each_pair_once(executor.taken, shards, blocks, 2, 6);
    });
  });
}

TEST(RotateBoard, ShardsAndBlocksTakeTheirTasksInTheSameOrderWhateverTheCompletion) {
  for_small_grids([](ShardId shards, BlockId blocks) {
    std::map<std::pair<bool, std::uint32_t>, std::vector<Key>> expected;
    for_seeds(8, [&](Rng& rng) {
      const auto board = make_board({Rotate{}, blocks}, {.shards = shards, .seed = 11});
      Executor executor(*board, rng, 1 + rng.below(8));
      executor.run_until(4, true);
      if (expected.empty()) expected = chains(executor.taken);
      ASSERT_EQ(chains(executor.taken), expected);
    });
  });
}

// A run that stops at a clock edge and starts a new board there does the same.
TEST(RotateBoard, StartingAtAnEdgeContinuesTheSameOrder) {
  for_small_grids([](ShardId shards, BlockId blocks) {
    Rng rng(StreamKey{.seed = 5});
    const auto whole = make_board({Rotate{}, blocks}, {.shards = shards, .seed = 11});
    Executor all(*whole, rng, 3);
    all.run_until(5, true);
    std::vector<Task> parts;
    for (Clock first = 0; first < 5; ++first) {
      const auto part =
          make_board({Rotate{}, blocks}, {.shards = shards, .first = first, .seed = 11});
      Executor executor(*part, rng, 4);
      executor.run_until(first + 1, true);
      parts.insert(parts.end(), executor.taken.begin(), executor.taken.end());
    }
    ASSERT_EQ(chains(parts), chains(all.taken));
  });
}

TEST(RotateBoard, ReshufflesEachClockOnlyWhenAsked) {
  for (const bool reshuffle : {false, true}) {
    const auto board = make_board({Rotate{reshuffle}, 6}, {.shards = 6, .seed = 1});
    Rng rng(StreamKey{});
    Executor executor(*board, rng, 1);
    executor.run_until(6, true);
    std::set<std::vector<BlockId>> orders;
    std::map<Clock, std::vector<BlockId>> of_shard_0;
    for (const Task& task : executor.taken) {
      if (task.shard == 0) of_shard_0[task.clock].push_back(task.block);
    }
    for (const auto& [clock, order] : of_shard_0) orders.insert(order);
    EXPECT_EQ(orders.size() > 1, reshuffle);
  }
}

// min(shards, blocks) tasks can always run at once: every step of a clock is a full diagonal.
TEST(RotateBoard, KeepsAsManyTasksReadyAsThereAreShardsOrBlocks) {
  for_small_grids([](ShardId shards, BlockId blocks) {
    const auto board = make_board({Rotate{}, blocks}, {.shards = shards, .seed = 2});
    board->allow_until(1);
    std::vector<Task> step;
    while (const auto task = board->take(always)) step.push_back(*task);
    if (shards == blocks) {
      EXPECT_EQ(step.size(), shards);
    }
    EXPECT_GE(step.size(), 1U);
    EXPECT_LE(step.size(), std::min<std::size_t>(shards, blocks));
  });
}

TEST(GridBoard, EveryPairRunsOnceAClockWithoutConflict) {
  for_seeds(20, [](Rng& rng) {
    for_small_grids([&](ShardId shards, BlockId blocks) {
      const Grid rule{.slack = static_cast<std::uint32_t>(rng.below(3))};
      const auto board = make_board({rule, blocks}, {.shards = shards, .first = 1, .seed = 3});
      Executor executor(*board, rng, 1 + rng.below(8));
      executor.run_until(3, true);
      executor.run_until(5, true);
      expect_each_pair_once(executor.taken, shards, blocks, 1, 5);
    });
  });
}

// The definition: a task is of a pair visited least among those free, at most `slack` clocks ahead
// of the pair visited least of all.
TEST(GridBoard, TakesALeastVisitedFreePairWithinTheSlack) {
  for_seeds(100, [](Rng& rng) {
    const auto shards = static_cast<ShardId>(1 + rng.below(5));
    const auto blocks = static_cast<BlockId>(1 + rng.below(5));
    const auto slack = static_cast<std::uint32_t>(rng.below(3));
    const auto board = make_board({Grid{slack}, blocks}, {.shards = shards, .seed = rng.next()});
    board->allow_until(5);
    std::vector<std::vector<Clock>> visits(shards, std::vector<Clock>(blocks, 0));
    std::vector<Task> running;
    for (int step = 0; step < 300; ++step) {
      Clock least = 5, least_free = 5;
      for (ShardId s = 0; s < shards; ++s) {
        for (BlockId b = 0; b < blocks; ++b) {
          least = std::min(least, visits[s][b]);
          const bool is_free = std::ranges::none_of(
              running, [&](const Task& task) { return task.shard == s || task.block == b; });
          if (is_free) least_free = std::min(least_free, visits[s][b]);
        }
      }
      const bool may = least_free < 5 && least_free <= least + slack;
      if (rng.below(2) == 0) {
        const auto task = board->take(always);
        ASSERT_EQ(task.has_value(), may);
        if (!task) continue;
        ASSERT_EQ(task->clock, least_free);
        ASSERT_EQ(task->clock, visits[task->shard][task->block]);
        running.push_back(*task);
      } else if (!running.empty()) {
        const std::size_t at = rng.below(running.size());
        ++visits[running[at].shard][running[at].block];
        board->done(running[at]);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
  });
}

TEST(SweepBoard, EveryShardRunsOnceAClockInOrder) {
  for_seeds(50, [](Rng& rng) {
    for (ShardId shards = 1; shards <= 9; ++shards) {
      const auto board = make_board({Sweep{}}, {.shards = shards, .first = 3});
      Executor executor(*board, rng, 1 + rng.below(8));
      executor.run_until(5, false);
      executor.run_until(8, false);
      expect_each_pair_once(executor.taken, shards, 1, 3, 8);
      std::vector<Clock> next(shards, 3);
      for (const Task& task : executor.taken) ASSERT_EQ(task.clock, next[task.shard]++);
    }
  });
}

// Of whatever kind: what is_fresh refuses is not taken, and does not keep others from running.
TEST(Board, TakesOnlyWhatIsFresh) {
  const Phase phases[] = {{Sweep{}}, {Rotate{}, 4}, {Grid{}, 4}};
  for (const Phase& phase : phases) {
    const auto board = make_board(phase, {.shards = 4, .seed = 1});
    board->allow_until(3);
    EXPECT_FALSE(board->take([](const Task&) { return false; }));
    const auto only_2 = board->take([](const Task& task) { return task.shard == 2; });
    ASSERT_TRUE(only_2);
    EXPECT_EQ(only_2->shard, 2U);
    EXPECT_FALSE(board->take([](const Task& task) { return task.shard == 2; })) << "it is busy";
    EXPECT_TRUE(board->take(always));
  }
}

TEST(Board, WritesThePhaseIntoTasksAndStartsClosedUpToItsFirstClock) {
  const Phase phases[] = {{Sweep{}}, {Rotate{}, 3}, {Grid{}, 3}};
  for (const Phase& phase : phases) {
    const auto board = make_board(phase, {.shards = 2, .first = 7, .phase = 5});
    EXPECT_EQ(board->closed(), 7);
    EXPECT_EQ(board->begun(), 7);
    EXPECT_FALSE(board->take(always)) << "nothing is allowed yet";
    board->allow_until(8);
    const auto task = board->take(always);
    ASSERT_TRUE(task);
    EXPECT_EQ(task->phase, 5U);
    EXPECT_EQ(task->clock, 7);
    EXPECT_EQ(board->begun(), 8);
  }
}

}  // namespace
}  // namespace castor::schedule

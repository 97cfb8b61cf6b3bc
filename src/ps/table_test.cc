#include "ps/table.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <numeric>
#include <optional>

#include "core/property.h"

namespace castor::ps {
namespace {

// ---- DeltaTree

constexpr BlockShape tree_shape{RowKind::dense, Element::f32, 0, 3, 2};

// A shard's change: rows that it touched, with values whose sum depends on the order of additions.
struct Change {
  std::array<bool, 3> touched{};
  std::array<float, 6> values{};
};

std::optional<Change> random_change(Rng& rng) {
  if (rng.below(5) == 0) return std::nullopt;
  Change change;
  for (std::size_t row = 0; row < 3; ++row) {
    change.touched[row] = rng.below(3) != 0;
    for (std::size_t column = 0; change.touched[row] && column < 2; ++column) {
      change.values[row * 2 + column] = static_cast<float>(rng.normal() * (rng.below(2) ? 1e6 : 1));
    }
  }
  return change;
}

std::unique_ptr<Delta> delta_of(const std::optional<Change>& change) {
  if (!change) return nullptr;
  auto delta = std::make_unique<Delta>(tree_shape);
  const auto view = delta->values.view<Dense<float>>();
  for (std::size_t row = 0; row < 3; ++row) {
    delta->touched[row] = change->touched[row] ? 1 : 0;
    for (std::size_t column = 0; column < 2; ++column) {
      view[row][column] = change->values[row * 2 + column];
    }
  }
  return delta;
}

// The sum over shards [first, first + 2^level) of those that exist: the halves, added.
std::optional<Change> tree_sum(const std::vector<std::optional<Change>>& all, std::size_t first,
                               unsigned level) {
  if (first >= all.size()) return std::nullopt;
  if (level == 0) return all[first];
  const auto left = tree_sum(all, first, level - 1);
  const auto right = tree_sum(all, first + (std::size_t{1} << (level - 1)), level - 1);
  if (!left) return right;
  if (!right) return left;
  Change sum = *left;
  for (std::size_t row = 0; row < 3; ++row) {
    if (!right->touched[row]) continue;
    sum.touched[row] = true;
    for (std::size_t i = row * 2; i < row * 2 + 2; ++i) sum.values[i] += right->values[i];
  }
  return sum;
}

void expect_bits(const std::unique_ptr<Delta>& found, const std::optional<Change>& expected) {
  ASSERT_EQ(found != nullptr, expected.has_value());
  if (!expected) return;
  const auto view = std::as_const(found->values).view<Dense<float>>();
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(found->touched[row] != 0, expected->touched[row]);
    for (std::size_t column = 0; column < 2; ++column) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(view[row][column]),
                std::bit_cast<std::uint32_t>(expected->values[row * 2 + column]));
    }
  }
}

TEST(DeltaTree, HasTheBitsOfTheFixedTreeInWhateverOrderDeltasArrive) {
  for_seeds(30, [](Rng& rng) {
    for (ShardId shards = 1; shards <= 17; ++shards) {
      std::vector<std::optional<Change>> changes;
      for (ShardId shard = 0; shard < shards; ++shard) changes.push_back(random_change(rng));
      const auto expected = tree_sum(changes, 0, 5);
      for (int permutation = 0; permutation < 10; ++permutation) {
        std::vector<std::uint32_t> order(shards);
        std::iota(order.begin(), order.end(), 0U);
        rng.shuffle(order);
        DeltaTree tree(shards);
        for (ShardId i = 0; i < shards; ++i) {
          ASSERT_EQ(tree.add(order[i], delta_of(changes[order[i]])), i + 1 == shards);
        }
        expect_bits(tree.take(), expected);
      }
    }
  });
}

TEST(DeltaTree, HasTheBitsOfTheFixedTreeForAllOrdersOfFiveShards) {
  Rng rng(StreamKey{.seed = 7});
  std::vector<std::optional<Change>> changes;
  for (int shard = 0; shard < 5; ++shard) changes.push_back(random_change(rng));
  const auto expected = tree_sum(changes, 0, 3);
  std::array<ShardId, 5> order{0, 1, 2, 3, 4};
  do {
    DeltaTree tree(5);
    for (const ShardId shard : order) static_cast<void>(tree.add(shard, delta_of(changes[shard])));
    expect_bits(tree.take(), expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

// ---- TableStore: reads against the history of commits

constexpr Clock clocks = 6;

// A cell for every (shard, clock), 1 when that commit is in the values: row = shard, column =
// clock.
struct History {
  History(ShardId shard_count, int table_staleness, std::uint32_t blocks)
      : shards(shard_count),
        staleness(table_staleness),
        table({.name = "history",
               .rows = shards,
               .width = clocks,
               .staleness = table_staleness,
               .blocks = blocks},
              RowKind::dense, Element::i32, shards),
        committed(shards, 0) {}

  void commit(ShardId shard) {
    for (BlockId block = 0; block < table.blocks(); ++block) {
      std::unique_ptr<Delta> delta;
      if (table.block_of(shard) == block) {
        delta = std::make_unique<Delta>(table.shape(block));
        delta->values.view<Dense<std::int32_t>>()[shard][committed[shard]] = 1;
        delta->touched[shard - table.shape(block).first] = 1;
      }
      table.commit(shard, committed[shard], block, std::move(delta));
    }
    ++committed[shard];
  }
  bool is_in(const Pin& pin, ShardId shard, Clock clock) const {
    return pin.block().view<Dense<std::int32_t>>()[shard][clock] == 1;
  }
  Clock closed() const { return *std::ranges::min_element(committed); }

  ShardId shards;
  int staleness;
  TableStore table;
  std::vector<Clock> committed;  // by shard: clocks [0, this) are
};

// What `reader` at its present clock sees of `block`, when the predicate lets it read.
void check_read(History& history, ShardId reader, BlockId block) {
  const Clock clock = history.committed[reader];
  const Clock applied = history.table.applied_next(block);
  EXPECT_EQ(applied, history.closed());
  if (!consistency_of(history.staleness).may_read({clock, applied}, history.staleness)) return;
  const Pin pin = history.table.pin(reader, block);
  const BlockShape& shape = history.table.shape(block);
  for (auto shard = static_cast<ShardId>(shape.first); shard < shape.first + shape.rows; ++shard) {
    for (Clock stamp = 0; stamp < clocks; ++stamp) {
      const bool seen = history.is_in(pin, shard, stamp);
      const bool happened = stamp < history.committed[shard];
      EXPECT_LE(seen, happened) << "a commit from the future";
      if (shard == reader) {
        EXPECT_EQ(seen, happened) << "own commits are all there";
      }
      if (history.staleness >= 0 && stamp <= clock - history.staleness - 1) {
        EXPECT_TRUE(seen) << "older than the bound";
      }
      // Others' commits show when their clock has closed, not by arrival.
      if (shard != reader) {
        EXPECT_EQ(seen, stamp < history.closed());
      }
    }
  }
}

TEST(TableStore, ReadsHoldWhatTheBoundPromisesAndAllOwnCommits) {
  for_seeds(200, [](Rng& rng) {
    const auto shards = static_cast<ShardId>(1 + rng.below(6));
    const int staleness = static_cast<int>(rng.below(5)) - 1;
    History history(shards, staleness, static_cast<std::uint32_t>(1 + rng.below(3)));
    while (history.closed() < clocks) {
      const auto shard = static_cast<ShardId>(rng.below(shards));
      const bool reads = rng.below(2) == 0;
      if (reads) {
        check_read(history, shard, static_cast<BlockId>(rng.below(history.table.blocks())));
      } else if (history.committed[shard] < clocks) {
        history.commit(shard);
      }
    }
  });
}

TEST(TableStore, APinIsUnaffectedByWhatIsAppliedLater) {
  for_seeds(100, [](Rng& rng) {
    const auto shards = static_cast<ShardId>(1 + rng.below(4));
    History history(shards, static_cast<int>(rng.below(3)), 1);
    std::vector<std::pair<Pin, Block>> pins;  // with a copy of what it showed
    while (history.closed() < clocks) {
      const auto shard = static_cast<ShardId>(rng.below(shards));
      if (history.committed[shard] < clocks) history.commit(shard);
      Pin pin = history.table.pin(static_cast<ShardId>(rng.below(shards)), 0);
      Block copy = pin.block().copy();
      pins.emplace_back(std::move(pin), std::move(copy));
      if (rng.below(3) == 0)
        pins.erase(pins.begin() + static_cast<std::ptrdiff_t>(rng.below(pins.size())));
      for (const auto& [held, expected] : pins) {
        ByteWriter a, b;
        held.block().encode(a);
        expected.encode(b);
        ASSERT_TRUE(std::ranges::equal(a.bytes(), b.bytes()));
      }
    }
  });
}

TEST(TableStore, ManyClocksInARowLeaveTheSumOfAllChanges) {
  TableStore table({.name = "t", .rows = 5, .width = 1, .staleness = 2, .blocks = 2},
                   RowKind::scalar, Element::i64, 3);
  for (Clock clock = 0; clock < 100; ++clock) {
    for (ShardId shard = 0; shard < 3; ++shard) {
      for (BlockId block = 0; block < table.blocks(); ++block) {
        auto delta = std::make_unique<Delta>(table.shape(block));
        for (std::uint32_t i = 0; i < table.shape(block).rows; ++i) {
          delta->values.view<Scalar<std::int64_t>>()[table.shape(block).first + i] =
              clock * 3 + shard;
          delta->touched[i] = 1;
        }
        table.commit(shard, clock, block, std::move(delta));
      }
    }
  }
  for (RowId row = 0; row < 5; ++row) {
    EXPECT_EQ(table.values(table.block_of(row)).view<Scalar<std::int64_t>>()[row], 299 * 300 / 2);
  }
}

TEST(TableStore, SetClockForgetsWhatIsPending) {
  History history(2, 3, 1);
  history.commit(0);
  history.table.set_clock(0);
  history.committed[0] = 0;
  EXPECT_FALSE(history.is_in(history.table.pin(0, 0), 0, 0));
  history.commit(0);
  history.commit(1);
  EXPECT_EQ(history.table.applied_next(0), 1);
  EXPECT_TRUE(history.is_in(history.table.pin(1, 0), 0, 0));
}

TEST(TableStore, BlocksCoverAllRowsOnceInOrder) {
  for (std::uint64_t rows = 1; rows <= 20; ++rows) {
    for (std::uint32_t blocks = 1; blocks <= 25; ++blocks) {
      const TableStore table({.name = "t", .rows = rows, .width = 1, .blocks = blocks},
                             RowKind::scalar, Element::f32, 1);
      EXPECT_LE(table.blocks(), blocks);
      RowId next = 0;
      for (BlockId block = 0; block < table.blocks(); ++block) {
        EXPECT_EQ(table.shape(block).first, next);
        EXPECT_GE(table.shape(block).rows, 1U);
        for (std::uint32_t i = 0; i < table.shape(block).rows; ++i) {
          EXPECT_EQ(table.block_of(next++), block);
        }
      }
      EXPECT_EQ(next, rows);
    }
  }
}

// ---- Leases

// A brute-force model of one block: how many hold it in which way.
TEST(TableStore, ABlockHasOneExclusiveHolderOrAnyNumberOfSharedOnes) {
  for_seeds(50, [](Rng& rng) {
    TableStore table({.name = "t", .rows = 4, .sharing = Sharing::leased, .blocks = 2},
                     RowKind::scalar, Element::f32, 1);
    std::vector<std::vector<bool>> holders(2);  // by block: exclusive?
    for (int step = 0; step < 200; ++step) {
      const auto block = static_cast<BlockId>(rng.below(2));
      std::vector<bool>& held = holders[block];
      if (!held.empty() && rng.below(2) == 0) {
        table.release(block, held.back());
        held.pop_back();
        continue;
      }
      const bool exclusive = rng.below(2) == 0;
      const bool expected = held.empty() || (!exclusive && !held.front());
      ASSERT_EQ(table.acquire(block, exclusive), expected);
      if (expected) held.push_back(exclusive);
    }
  });
}

TEST(TableStore, AClaimConflictsWithAnotherShardOfTheClockIfEitherIsExclusive) {
  for_seeds(200, [](Rng& rng) {
    TableStore table({.name = "t", .rows = 1, .sharing = Sharing::leased}, RowKind::scalar,
                     Element::f32, 4);
    std::vector<std::pair<ShardId, bool>> touched;  // in the present clock, those that were granted
    Clock clock = 0;
    for (int step = 0; step < 60; ++step) {
      if (rng.below(6) == 0) touched.clear(), ++clock;
      const auto shard = static_cast<ShardId>(rng.below(4));
      const bool exclusive = rng.below(3) == 0;
      bool expected = true;
      for (const auto& [other, was_exclusive] : touched) {
        if (other != shard && (exclusive || was_exclusive)) expected = false;
      }
      ASSERT_EQ(table.claim(0, exclusive, shard, clock), expected);
      if (expected) touched.emplace_back(shard, exclusive);
    }
  });
}

// ---- Specifications

TEST(CheckTable, NamesWhatIsWrong) {
  const auto message = [](const TableSpec& spec) {
    const Status status = check_table(spec);
    return status ? std::string("fine") : status.error().message();
  };
  EXPECT_EQ(message({.name = "t", .rows = 1}), "fine");
  EXPECT_EQ(message({.name = "", .rows = 1}), "a table without a name");
  EXPECT_EQ(message({.name = "t", .rows = 0}), "table 't': it has no rows");
  EXPECT_NE(message({.name = "t", .rows = 1, .width = 0}).find("width"), std::string::npos);
  EXPECT_NE(message({.name = "t", .rows = 1, .width = 1u << 30}).find("width"), std::string::npos);
  EXPECT_NE(message({.name = "t", .rows = 1, .blocks = 0}).find("blocks"), std::string::npos);
  EXPECT_NE(message({.name = "t", .rows = 1, .staleness = -2}).find("staleness"),
            std::string::npos);
  EXPECT_EQ(message({.name = "t", .rows = 1, .staleness = staleness_unbounded}), "fine");
  for (const std::uint64_t rows : {std::uint64_t{1} << 33, ~std::uint64_t{0}}) {
    EXPECT_NE(message({.name = "t", .rows = rows}).find("rows in a block"), std::string::npos);
  }
}

}  // namespace
}  // namespace castor::ps

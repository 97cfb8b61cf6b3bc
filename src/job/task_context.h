#pragma once
// What a task sees. Everything it touches was declared before it started, so nothing here waits or
// misses: a lease is held, a read is fresh, and both are plain views of contiguous memory.
//
// Thread: the task's; never kept beyond it.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/rng.h"
#include "job/handles.h"
#include "job/store.h"
#include "schedule/board.h"

namespace castor {

// Reads of one whole table, or of one block of it.
inline constexpr BlockId all_blocks = ~BlockId{0};

// Declares what a task touches. A program's touches(TouchSet&, const Task&) fills it.
class TouchSet {
 public:
  enum class Mode : std::uint8_t { read, lease };
  struct Entry {
    TableId table;
    BlockId block;  // or all_blocks
    Mode mode;
  };

  template <Row R>
  void read(const Table<R>& table, BlockId block = all_blocks) {
    entries_.push_back({table.id(), block, Mode::read});
  }
  template <Row R>
  void lease(const Table<R>& table, BlockId block) {
    entries_.push_back({table.id(), block, Mode::lease});
  }

  void add(Entry entry) { entries_.push_back(entry); }
  void clear() { entries_.clear(); }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

// A view of all rows of a table, whatever block they are in. For loops over many rows of one block,
// take the block's own view: it costs no division a row.
template <Row R>
class TableView {
 public:
  TableView(std::uint64_t rows_per_block, std::vector<typename R::ConstView> blocks)
      : rows_per_block_(rows_per_block), blocks_(std::move(blocks)) {}
  decltype(auto) operator[](RowId row) const { return blocks_[row / rows_per_block_][row]; }
  const typename R::ConstView& block(BlockId block) const { return blocks_[block]; }
  std::uint32_t blocks() const { return static_cast<std::uint32_t>(blocks_.size()); }

 private:
  std::uint64_t rows_per_block_;
  std::vector<typename R::ConstView> blocks_;
};

class TaskContext {
 public:
  enum class Mode : std::uint8_t {
    task,    // sees what it declared
    cut,     // no task runs: any table may be read, leased rows are exact (init, rebuild, metric)
    derive,  // as cut, one shard after the other; increments go straight into the values
  };
  TaskContext(job::Store& store, std::uint64_t seed, Mode mode)
      : store_(store), seed_(seed), mode_(mode) {}

  // Acquires what `touches` says for `task`. Code::invalid when it conflicts with another task that
  // may run at the same time. release() gives all of it back.
  Status acquire(const Task& task, const TouchSet& touches, bool is_sweep = false);
  void release();

  const Task& task() const { return task_; }
  ShardId shard() const { return task_.shard; }
  ShardId shards() const { return store_.shards; }
  Clock clock() const { return task_.clock; }

  // This shard's data and state.
  template <class D>
  const D& data(const Data<D>& handle) const {
    const auto& values = store_.data[handle.id].values;
    CHECK(!values.empty(), "data '{}' is not loaded", store_.data[handle.id].name);
    return *static_cast<const D*>(values[task_.shard].get());
  }
  template <class S>
  S& state(const State<S>& handle) const {
    return *static_cast<S*>(store_.states[handle.id].values[task_.shard].get());
  }

  // The exact, writable rows of a leased block. REQUIRES: the task declared the lease.
  template <Row R>
  typename R::View lease(const Table<R>& table, BlockId block) {
    require_lease(table.id(), block);
    return values(table.id(), block).template view<R>();
  }
  // REQUIRES (both): the task declared the read.
  template <Row R>
  typename R::ConstView read(const Table<R>& table, BlockId block) {
    return readable(table.id(), block).template view<R>();
  }
  template <Row R>
  TableView<R> read(const Table<R>& table) {
    std::vector<typename R::ConstView> blocks;
    for (BlockId b = 0; b < table.blocks(); ++b) blocks.push_back(read(table, b));
    return {table.range(0).second, std::move(blocks)};
  }

  // What this shard adds to a row of a bounded table in this clock: add to it, do not assign.
  // Committed when the shard ends the clock. The task's own views do not show it; the shard's next
  // task does.
  template <Row R>
  decltype(auto) increment(const Table<R>& table, RowId row) {
    CHECK(row < table.rows(), "row {} of {}", row, table.rows());
    const BlockId block = table.block_of(row);
    if (mode_ == Mode::derive) return values(table.id(), block).template view<R>()[row];
    ps::Delta& delta = delta_of(table.id(), block);
    typename R::View view = delta.values.template view<R>();
    delta.touched[row - view.first()] = 1;
    return view[row];
  }
  // As increment, for every row of a block.
  template <Row R>
  typename R::View increments(const Table<R>& table, BlockId block) {
    if (mode_ == Mode::derive) return values(table.id(), block).template view<R>();
    ps::Delta& delta = delta_of(table.id(), block);
    std::fill(delta.touched.begin(), delta.touched.end(), std::uint8_t{1});
    return delta.values.template view<R>();
  }

  // The random stream of (seed, shard, clock, block): the same wherever and whenever the task runs.
  Rng& rng() {
    if (!rng_) rng_.emplace(StreamKey{seed_, task_.shard, task_.clock, task_.block});
    return *rng_;
  }

 private:
  struct Pinned {
    TableId table;
    BlockId block;
    ps::Pin pin;
  };
  struct Held {
    TableId table;
    BlockId block;
    bool exclusive;
  };
  Status acquire_leased(const TouchSet& touches, TouchSet::Mode mode, bool is_sweep);
  Result<std::pair<BlockId, BlockId>> range_of(const TouchSet::Entry& entry) const;
  Status hold(Held wanted, bool is_sweep);
  bool holds(TableId table, BlockId block, bool exclusively) const;
  void require_lease(TableId table, BlockId block) const;
  const ps::Block& readable(TableId table, BlockId block) const;
  ps::Delta& delta_of(TableId table, BlockId block);
  ps::Block& values(TableId table, BlockId block) {
    return store_.tables[table].table->values(block);
  }
  ps::Pin pinned(TableId table, BlockId block) const;

  job::Store& store_;
  const std::uint64_t seed_;
  const Mode mode_;
  Task task_{};
  std::vector<Pinned> pins_;
  std::vector<Held> held_;
  // Where the last look-ups ended: rows and blocks are mostly asked for in order.
  mutable std::size_t next_pin_ = 0;
  TableId last_table_ = 0;
  BlockId last_block_ = 0;
  ps::Delta* last_delta_ = nullptr;
  std::optional<Rng> rng_;
};

}  // namespace castor

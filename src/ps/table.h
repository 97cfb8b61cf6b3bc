#pragma once
// A table as the owner of its blocks sees it. Rows of a bounded table have many writers, who add
// deltas; a block of a leased table has one holder at a time, who sees and changes the exact
// values.
//
// Bounded: the deltas of one clock are added up along a fixed tree over shard numbers, whichever
// arrive first, and reach the values when the clock has closed. So the values after clock c are the
// same, bit for bit, however many threads or workers took part. A shard's own deltas that are not
// in the values yet are added to what it reads (read-my-writes).
//
// Thread: any; each block has its own lock. A leased block's values belong to its holder.
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "ps/block.h"
#include "ps/consistency.h"

namespace castor {

enum class Sharing : std::uint8_t {
  bounded,  // many writers, reads at most `staleness` clocks old
  leased,   // one holder of a block at a time, exact values
};

struct TableSpec {
  std::string name;
  std::uint64_t rows = 0;
  std::uint32_t width = 1;  // values in a row; 1 for Scalar
  Sharing sharing = Sharing::bounded;
  int staleness = 0;  // bounded only, in clocks; ps::staleness_unbounded = async
  std::uint32_t blocks =
      1;  // cut into this many blocks of equal size (fewer when there are fewer rows)
  bool derived = false;  // a sum over shards that derive() can make again: never checkpointed
};

namespace ps {

// The changes of one task to one block.
struct Delta {
  explicit Delta(const BlockShape& shape) : values(shape), touched(shape.rows, 0) {}
  Block values;
  std::vector<std::uint8_t> touched;  // per row
};

// The sum of one clock's deltas, built along the fixed binary tree over shard numbers: node (level,
// i) covers shards [i << level, (i + 1) << level).
class DeltaTree {
 public:
  explicit DeltaTree(ShardId shards) : shards_(shards), waiting_(), missing_(shards) {}

  // Adds one shard's delta (null: no change). True when it was the last of all shards.
  bool add(ShardId shard, std::unique_ptr<Delta> delta);
  // The whole sum, null when nobody changed anything. REQUIRES: add() has returned true.
  std::unique_ptr<Delta> take();

 private:
  struct Node {
    std::uint32_t level = 0;
    ShardId index = 0;
    std::unique_ptr<Delta> sum;
  };
  ShardId shards_;
  std::vector<Node> waiting_;  // complete subtrees whose sibling is not complete yet
  ShardId missing_;
};

// One pinned version of a block's values. Released on destruction.
class Pin {
 public:
  Pin() = default;
  Pin(const Block* block, std::atomic<int>* readers) : block_(block), readers_(readers) {}
  Pin(std::unique_ptr<Block> own) : block_(own.get()), own_(std::move(own)) {}  // NOLINT
  Pin(Pin&& other) noexcept { swap(other); }
  Pin& operator=(Pin&& other) noexcept {
    Pin moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~Pin() {
    if (readers_ != nullptr) readers_->fetch_sub(1, std::memory_order_release);
  }

  const Block& block() const { return *block_; }

 private:
  void swap(Pin& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(readers_, other.readers_);
    std::swap(own_, other.own_);
  }
  const Block* block_ = nullptr;
  std::atomic<int>* readers_ = nullptr;
  std::unique_ptr<Block> own_;
};

class TableStore {
 public:
  // REQUIRES: spec is legal (see check_table) and shards >= 1.
  TableStore(TableSpec spec, RowKind kind, Element element, ShardId shards);

  const TableSpec& spec() const { return spec_; }
  std::uint32_t blocks() const { return static_cast<std::uint32_t>(blocks_.size()); }
  std::uint64_t rows_per_block() const { return rows_per_block_; }
  BlockId block_of(RowId row) const { return static_cast<BlockId>(row / rows_per_block_); }
  const BlockShape& shape(BlockId block) const { return blocks_[block]->shape; }

  // Every commit of clocks < applied_next(block) is in the block's values. Leased tables:
  // INT64_MAX.
  Clock applied_next(BlockId block) const;

  // Bounded tables -------------------------------------------------------------------------------
  // The values as `shard` may read them now.
  Pin pin(ShardId shard, BlockId block);
  // Every shard commits every clock of every block once, in order, with null for "no change".
  void commit(ShardId shard, Clock clock, BlockId block, std::unique_ptr<Delta> delta);
  // Sets the clock of all blocks, with nothing pending: at the start and after a restore.
  void set_clock(Clock next);

  // Leased tables --------------------------------------------------------------------------------
  // False when somebody holds it (or, for a shared hold, holds it exclusively). Never waits: the
  // schedule hands blocks on, so false is a conflict in what tasks declare.
  bool acquire(BlockId block, bool exclusive);
  void release(BlockId block, bool exclusive);
  // For tasks of a clock that run in no fixed order (a sweep's): false when another shard has
  // touched the block in the same clock and one of the two exclusively, whether or not at the same
  // time. So the conflict shows with any number of threads.
  bool claim(BlockId block, bool exclusive, ShardId shard, Clock clock);

  // The values in place: a lease's holder, or anybody at a consistent cut.
  Block& values(BlockId block) { return blocks_[block]->version->values; }
  const Block& values(BlockId block) const { return blocks_[block]->version->values; }

 private:
  struct Version {
    explicit Version(Block block) : values(std::move(block)) {}
    Block values;
    std::atomic<int> readers = 0;
  };
  struct Own {  // a shard's commit that may not be in the values yet
    Clock clock = 0;
    std::unique_ptr<Delta> delta;
  };
  struct Slot {
    explicit Slot(const BlockShape& block_shape) : shape(block_shape) {}
    BlockShape shape;
    mutable Mutex mutex;
    std::unique_ptr<Version> version;
    std::vector<std::unique_ptr<Version>> old;  // replaced while being read
    std::atomic<Clock> applied_next = 0;
    Clock first_open = 0;              // the clock of open.front()
    std::deque<DeltaTree> open;        // by clock
    std::vector<std::deque<Own>> own;  // by shard; only when staleness is not 0
    std::atomic<int> holders = 0;      // leased: -1 exclusive, else readers
    Clock claimed_clock = -1;          // leased, see claim()
    ShardId claimed_by = 0;
    bool claimed_by_many = false, claimed_exclusively = false;
  };

  static void apply(Slot& slot, std::unique_ptr<Delta> sum);
  static void forget_applied(Slot& slot, ShardId shard);

  TableSpec spec_;
  ShardId shards_;
  std::uint64_t rows_per_block_;
  std::vector<std::unique_ptr<Slot>> blocks_;
};

// Code::invalid when the specification makes no sense: no name, no rows, too wide, too many blocks.
Status check_table(const TableSpec& spec);

}  // namespace ps
}  // namespace castor

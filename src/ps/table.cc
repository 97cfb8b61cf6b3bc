#include "ps/table.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace castor::ps {
namespace {

constexpr std::uint64_t block_rows_max = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t width_max = 1u << 24;
constexpr std::uint32_t blocks_max = 1u << 20;

// left += right; a null side is no change.
void merge(std::unique_ptr<Delta>& left, std::unique_ptr<Delta> right) {
  if (right == nullptr) return;
  if (left == nullptr) {
    left = std::move(right);
    return;
  }
  left->values.add_rows(right->values, right->touched);
  for (std::size_t row = 0; row < left->touched.size(); ++row) {
    left->touched[row] = left->touched[row] | right->touched[row];
  }
}

std::unique_ptr<Delta> copy_of(const Delta& delta) {
  auto result = std::make_unique<Delta>(delta.values.shape());
  result->values = delta.values.copy();
  result->touched = delta.touched;
  return result;
}

}  // namespace

Status check_table(const TableSpec& spec) {
  auto problem = [&spec](std::string_view what) {
    return error(Code::invalid, "table '{}': {}", spec.name, what);
  };
  if (spec.name.empty()) return error(Code::invalid, "a table without a name");
  if (spec.rows == 0) return problem("it has no rows");
  if (spec.width == 0 || spec.width > width_max) return problem("width must be from 1 to 16777216");
  if (spec.blocks == 0 || spec.blocks > blocks_max)
    return problem("blocks must be from 1 to 1048576");
  if (spec.rows / spec.blocks >= block_rows_max) return problem("more than 2^32 rows in a block");
  static_assert(block_rows_max * blocks_max < std::numeric_limits<std::uint64_t>::max() / 2);
  if (spec.staleness < staleness_unbounded) return problem("staleness must be at least 0");
  return {};
}

bool DeltaTree::add(ShardId shard, std::unique_ptr<Delta> delta) {
  Node node{0, shard, std::move(delta)};
  for (;;) {
    if ((ShardId{1} << node.level) >= shards_) break;
    const ShardId sibling = node.index ^ 1;
    if ((std::uint64_t{sibling} << node.level) < shards_) {
      const auto found = std::ranges::find_if(waiting_, [&](const Node& other) {
        return other.level == node.level && other.index == sibling;
      });
      if (found == waiting_.end()) break;
      Node& left = sibling < node.index ? *found : node;
      Node& right = sibling < node.index ? node : *found;
      merge(left.sum, std::move(right.sum));
      node.sum = std::move(left.sum);
      waiting_.erase(found);
    }
    ++node.level;
    node.index >>= 1;
  }
  waiting_.push_back(std::move(node));
  return --missing_ == 0;
}

std::unique_ptr<Delta> DeltaTree::take() {
  CHECK(missing_ == 0 && waiting_.size() == 1);
  return std::move(waiting_.front().sum);
}

TableStore::TableStore(TableSpec spec, RowKind kind, Element element, ShardId shards)
    : spec_(std::move(spec)), shards_(shards) {
  CHECK(check_table(spec_).has_value() && shards >= 1);
  rows_per_block_ = (spec_.rows + spec_.blocks - 1) / spec_.blocks;
  for (RowId first = 0; first < spec_.rows; first += rows_per_block_) {
    BlockShape shape{kind, element, first, 0, kind == RowKind::scalar ? 1 : spec_.width};
    shape.rows = static_cast<std::uint32_t>(std::min(rows_per_block_, spec_.rows - first));
    auto slot = std::make_unique<Slot>(shape);
    slot->version = std::make_unique<Version>(Block(shape));
    if (spec_.staleness != 0) slot->own.resize(shards);
    blocks_.push_back(std::move(slot));
  }
}

Clock TableStore::applied_next(BlockId block) const {
  if (spec_.sharing == Sharing::leased) return std::numeric_limits<Clock>::max();
  return blocks_[block]->applied_next.load(std::memory_order_acquire);  // pairs with apply()
}

Pin TableStore::pin(ShardId shard, BlockId block) {
  Slot& slot = *blocks_[block];
  const MutexLock lock(slot.mutex);
  if (!slot.own.empty()) {
    forget_applied(slot, shard);
    const std::deque<Own>& own = slot.own[shard];
    if (!own.empty()) {
      auto mine = std::make_unique<Block>(slot.version->values.copy());
      for (const Own& entry : own) mine->add_rows(entry.delta->values, entry.delta->touched);
      return Pin(std::move(mine));
    }
  }
  slot.version->readers.fetch_add(1, std::memory_order_relaxed);
  return {&slot.version->values, &slot.version->readers};
}

// REQUIRES: the slot's lock. Drops the shard's own commits that are in the values.
void TableStore::forget_applied(Slot& slot, ShardId shard) {
  std::deque<Own>& own = slot.own[shard];
  while (!own.empty() && own.front().clock < slot.first_open) own.pop_front();
}

void TableStore::commit(ShardId shard, Clock clock, BlockId block, std::unique_ptr<Delta> delta) {
  Slot& slot = *blocks_[block];
  const MutexLock lock(slot.mutex);
  if (!slot.own.empty()) {
    forget_applied(slot, shard);
    if (delta != nullptr) slot.own[shard].push_back({clock, copy_of(*delta)});
  }
  CHECK(clock >= slot.first_open, "clock {} of table '{}' is closed", clock, spec_.name);
  while (slot.open.size() <= static_cast<std::size_t>(clock - slot.first_open)) {
    slot.open.emplace_back(shards_);
  }
  const auto at = static_cast<std::size_t>(clock - slot.first_open);
  if (!slot.open[at].add(shard, std::move(delta))) return;
  CHECK(at == 0, "clock {} of table '{}' closed before {}", clock, spec_.name, slot.first_open);
  apply(slot, slot.open.front().take());
  slot.open.pop_front();
  ++slot.first_open;
  slot.applied_next.store(slot.first_open, std::memory_order_release);  // pairs with applied_next()
}

// REQUIRES: the slot's lock. Values that somebody reads are left alone and replaced by a changed
// copy.
void TableStore::apply(Slot& slot, std::unique_ptr<Delta> sum) {
  std::erase_if(slot.old, [](const auto& version) {
    return version->readers.load(std::memory_order_acquire) == 0;  // pairs with ~Pin()
  });
  if (sum == nullptr) return;
  if (slot.version->readers.load(std::memory_order_acquire) != 0) {  // pairs with ~Pin()
    auto changed = std::make_unique<Version>(slot.version->values.copy());
    slot.old.push_back(std::exchange(slot.version, std::move(changed)));
  }
  slot.version->values.add_rows(sum->values, sum->touched);
}

void TableStore::set_clock(Clock next) {
  for (auto& slot : blocks_) {
    const MutexLock lock(slot->mutex);
    slot->open.clear();
    slot->first_open = next;
    slot->applied_next.store(next, std::memory_order_release);
    for (auto& own : slot->own) own.clear();
    slot->claimed_clock = -1;
  }
}

bool TableStore::claim(BlockId block, bool exclusive, ShardId shard, Clock clock) {
  Slot& slot = *blocks_[block];
  const MutexLock lock(slot.mutex);
  if (slot.claimed_clock != clock) {
    slot.claimed_clock = clock;
    slot.claimed_by = shard;
    slot.claimed_by_many = slot.claimed_exclusively = false;
  }
  const bool is_other = slot.claimed_by_many || slot.claimed_by != shard;
  if (is_other && (exclusive || slot.claimed_exclusively)) return false;
  slot.claimed_by_many = is_other;
  slot.claimed_exclusively = slot.claimed_exclusively || exclusive;
  return true;
}

bool TableStore::acquire(BlockId block, bool exclusive) {
  std::atomic<int>& holders = blocks_[block]->holders;
  int seen = holders.load();
  for (;;) {
    if (seen < 0 || (exclusive && seen > 0)) return false;
    if (holders.compare_exchange_weak(seen, exclusive ? -1 : seen + 1)) return true;
  }
}

void TableStore::release(BlockId block, bool exclusive) {
  std::atomic<int>& holders = blocks_[block]->holders;
  if (exclusive) {
    holders.store(0);
  } else {
    holders.fetch_sub(1);
  }
}

}  // namespace castor::ps

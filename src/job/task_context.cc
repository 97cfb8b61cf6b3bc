#include "job/task_context.h"

#include <algorithm>
#include <iterator>

namespace castor {

bool TaskContext::holds(TableId table, BlockId block, bool exclusively) const {
  return std::ranges::any_of(held_, [&](const Held& held) {
    return held.table == table && held.block == block && (held.exclusive || !exclusively);
  });
}

Status TaskContext::hold(Held wanted, bool is_sweep) {
  ps::TableStore& table = *store_.tables[wanted.table].table;
  const auto conflict = [&](std::string_view with) {
    return error(Code::invalid,
                 "the task of shard {} at clock {} {} block {} of table '{}' {}: their touches() "
                 "conflict",
                 task_.shard, task_.clock, wanted.exclusive ? "leases" : "reads", wanted.block,
                 table.spec().name, with);
  };
  if (is_sweep && !table.claim(wanted.block, wanted.exclusive, task_.shard, task_.clock)) {
    return conflict("that another shard's task of the same clock touches too");
  }
  if (!table.acquire(wanted.block, wanted.exclusive)) {
    return conflict("while another task holds it");
  }
  held_.push_back(wanted);
  return {};
}

// A block as this shard may read it: with what its earlier tasks of open clocks added.
ps::Pin TaskContext::pinned(TableId id, BlockId block) const {
  ps::Pin pin = store_.tables[id].table->pin(task_.shard, block);
  std::unique_ptr<ps::Block> mine;
  for (const job::OpenClock& open : store_.open[task_.shard]) {
    for (const job::OpenClock::Change& change : open.changes) {
      if (change.table != id || change.block != block) continue;
      if (mine == nullptr) mine = std::make_unique<ps::Block>(pin.block().copy());
      mine->add_rows(change.delta->values, change.delta->touched);
    }
  }
  if (mine == nullptr) return pin;
  return ps::Pin(std::move(mine));
}

Result<std::pair<BlockId, BlockId>> TaskContext::range_of(const TouchSet::Entry& entry) const {
  if (entry.table >= store_.tables.size()) {
    return error(Code::invalid, "touches() names a table that this job does not have");
  }
  const ps::TableStore& table = *store_.tables[entry.table].table;
  if (entry.block == all_blocks) return std::pair(BlockId{0}, table.blocks());
  if (entry.block >= table.blocks()) {
    return error(Code::invalid, "touches() names block {} of table '{}', which has {}", entry.block,
                 table.spec().name, table.blocks());
  }
  if (entry.mode == TouchSet::Mode::lease && table.spec().sharing == Sharing::bounded) {
    return error(Code::invalid, "touches() leases table '{}', which is bounded", table.spec().name);
  }
  return std::pair(entry.block, entry.block + 1);
}

// Blocks of leased tables in one mode. What the task holds already, it needs not hold again.
Status TaskContext::acquire_leased(const TouchSet& touches, TouchSet::Mode mode, bool is_sweep) {
  for (const TouchSet::Entry& entry : touches.entries()) {
    if (entry.mode != mode) continue;
    TRY_AS(const auto range, range_of(entry));
    if (store_.tables[entry.table].table->spec().sharing != Sharing::leased) continue;
    for (BlockId block = range.first; block < range.second; ++block) {
      if (holds(entry.table, block, mode == TouchSet::Mode::lease)) continue;
      TRY(hold({entry.table, block, mode == TouchSet::Mode::lease}, is_sweep));
    }
  }
  return {};
}

Status TaskContext::acquire(const Task& task, const TouchSet& touches, bool is_sweep) {
  CHECK(pins_.empty() && held_.empty());
  task_ = task;
  rng_.reset();
  next_pin_ = 0;
  last_delta_ = nullptr;
  TRY(acquire_leased(touches, TouchSet::Mode::lease, is_sweep));
  TRY(acquire_leased(touches, TouchSet::Mode::read, is_sweep));
  for (const TouchSet::Entry& entry : touches.entries()) {
    if (store_.tables[entry.table].table->spec().sharing == Sharing::leased) continue;
    TRY_AS(const auto range, range_of(entry));
    for (BlockId block = range.first; block < range.second; ++block) {
      pins_.push_back({entry.table, block, pinned(entry.table, block)});
    }
  }
  return {};
}

void TaskContext::release() {
  pins_.clear();
  for (const Held& held : held_)
    store_.tables[held.table].table->release(held.block, held.exclusive);
  held_.clear();
}

void TaskContext::require_lease(TableId table, BlockId block) const {
  if (mode_ != Mode::task) return;
  CHECK(holds(table, block, true), "the task did not declare a lease of block {} of table '{}'",
        block, store_.tables[table].table->spec().name);
}

const ps::Block& TaskContext::readable(TableId table, BlockId block) const {
  for (std::size_t i = 0; i < pins_.size(); ++i) {
    const std::size_t at = (next_pin_ + i) % pins_.size();
    if (pins_[at].table != table || pins_[at].block != block) continue;
    next_pin_ = at + 1;
    return pins_[at].pin.block();
  }
  CHECK(mode_ != Mode::task || holds(table, block, false),
        "the task did not declare a read of block {} of table '{}'", block,
        store_.tables[table].table->spec().name);
  return store_.tables[table].table->values(block);
}

ps::Delta& TaskContext::delta_of(TableId table, BlockId block) {
  if (last_delta_ != nullptr && last_table_ == table && last_block_ == block) return *last_delta_;
  const ps::TableStore& store = *store_.tables[table].table;
  CHECK(mode_ == Mode::task, "increments belong into push() and derive()");
  CHECK(store.spec().sharing == Sharing::bounded, "increment of the leased table '{}'",
        store.spec().name);
  std::vector<job::OpenClock>& open = store_.open[task_.shard];
  auto found = std::ranges::find(open, task_.clock, &job::OpenClock::clock);
  CHECK(found != open.end(), "the runtime opens a clock before its first task");
  auto change = std::ranges::find_if(found->changes, [&](const job::OpenClock::Change& other) {
    return other.table == table && other.block == block;
  });
  if (change == found->changes.end()) {
    found->changes.push_back({table, block, std::make_unique<ps::Delta>(store.shape(block))});
    change = std::prev(found->changes.end());
  }
  last_table_ = table, last_block_ = block;
  return *(last_delta_ = change->delta.get());
}

}  // namespace castor

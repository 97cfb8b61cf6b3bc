#include "job/task_context.h"

#include <algorithm>

namespace castor {

Status TaskContext::hold(TableId id, BlockId block, bool exclusive) {
  ps::TableStore& table = *store_.tables[id].table;
  if (!table.acquire(block, exclusive)) {
    return error(Code::invalid,
                 "the task of shard {} at clock {} {} block {} of table '{}' while another task of the "
                 "same clock holds it: their touches() conflict",
                 task_.shard, task_.clock, exclusive ? "leases" : "reads", block, table.spec().name);
  }
  held_.push_back({id, block, exclusive});
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

Status TaskContext::acquire(const Task& task, const TouchSet& touches) {
  CHECK(pins_.empty() && held_.empty());
  task_ = task;
  rng_.reset();
  for (const TouchSet::Entry& entry : touches.entries()) {
    ps::TableStore& table = *store_.tables[entry.table].table;
    const BlockId first = entry.block == all_blocks ? 0 : entry.block;
    const BlockId last = entry.block == all_blocks ? table.blocks() : entry.block + 1;
    if (last > table.blocks()) {
      return error(Code::invalid, "touches() names block {} of table '{}', which has {}", entry.block,
                   table.spec().name, table.blocks());
    }
    const bool leases = entry.mode == TouchSet::Mode::lease;
    if (leases && table.spec().sharing == Sharing::bounded) {
      return error(Code::invalid, "touches() leases table '{}', which is bounded", table.spec().name);
    }
    for (BlockId block = first; block < last; ++block) {
      if (table.spec().sharing == Sharing::leased) {
        TRY(hold(entry.table, block, leases));
      } else {
        pins_.push_back({entry.table, block, pinned(entry.table, block)});
      }
    }
  }
  return {};
}

void TaskContext::release() {
  pins_.clear();
  for (const Held& held : held_) store_.tables[held.table].table->release(held.block, held.exclusive);
  held_.clear();
}

void TaskContext::require_lease(TableId table, BlockId block) const {
  if (mode_ != Mode::task) return;
  const bool found = std::ranges::any_of(held_, [&](const Held& held) {
    return held.table == table && held.block == block && held.exclusive;
  });
  CHECK(found, "the task did not declare a lease of block {} of table '{}'", block,
        store_.tables[table].table->spec().name);
}

const ps::Block& TaskContext::readable(TableId table, BlockId block) const {
  for (const Pinned& pinned : pins_) {
    if (pinned.table == table && pinned.block == block) return pinned.pin.block();
  }
  const bool found = mode_ != Mode::task || std::ranges::any_of(held_, [&](const Held& held) {
    return held.table == table && held.block == block;
  });
  CHECK(found, "the task did not declare a read of block {} of table '{}'", block,
        store_.tables[table].table->spec().name);
  return store_.tables[table].table->values(block);
}

ps::Delta& TaskContext::delta_of(TableId table, BlockId block) {
  const ps::TableStore& store = *store_.tables[table].table;
  CHECK(mode_ == Mode::task, "increments belong into push() and derive()");
  CHECK(store.spec().sharing == Sharing::bounded, "increment of the leased table '{}'",
        store.spec().name);
  std::vector<job::OpenClock>& open = store_.open[task_.shard];
  auto found = std::ranges::find(open, task_.clock, &job::OpenClock::clock);
  CHECK(found != open.end(), "the runtime opens a clock before its first task");
  for (const job::OpenClock::Change& change : found->changes) {
    if (change.table == table && change.block == block) return *change.delta;
  }
  found->changes.push_back({table, block, std::make_unique<ps::Delta>(store.shape(block))});
  return *found->changes.back().delta;
}

}  // namespace castor

#pragma once
// Handles a program keeps: cheap, copyable names of what the job stores for it. A Table is shared
// model state; a Data is one shard's immutable, reloadable input; a State is one shard's mutable
// part of the model, which moves with its shard.
//
// Thread: any (plain values).
#include <cstdint>
#include <utility>

#include "core/ids.h"
#include "ps/rows.h"
#include "ps/table.h"
#include "schedule/schedule.h"

namespace castor {

template <Row R>
class Table {
 public:
  Table() = default;
  Table(TableId id, std::uint64_t rows, std::uint32_t width, std::uint64_t rows_per_block)
      : id_(id), width_(width), rows_(rows), rows_per_block_(rows_per_block) {}

  TableId id() const { return id_; }
  std::uint64_t rows() const { return rows_; }
  std::uint32_t width() const { return width_; }
  std::uint32_t blocks() const {
    return static_cast<std::uint32_t>((rows_ + rows_per_block_ - 1) / rows_per_block_);
  }
  BlockId block_of(RowId row) const { return static_cast<BlockId>(row / rows_per_block_); }
  // Rows [first, second) of a block.
  std::pair<RowId, RowId> range(BlockId block) const {
    const RowId first = block * rows_per_block_;
    return {first, first + rows_per_block_ < rows_ ? first + rows_per_block_ : rows_};
  }

 private:
  TableId id_ = 0;
  std::uint32_t width_ = 0;
  std::uint64_t rows_ = 0, rows_per_block_ = 1;
};

template <class D>
struct Data {
  std::uint32_t id = 0;
};

template <class S>
struct State {
  std::uint32_t id = 0;
};

// The specification, for a table whose blocks are leased.
inline TableSpec leased(TableSpec spec) {
  spec.sharing = Sharing::leased;
  return spec;
}

template <Row R>
Schedule rotate(const Table<R>& table, Rotate rule = {}) {
  return Schedule(schedule::Phase{rule, table.blocks(), table.id()});
}
template <Row R>
Schedule grid(const Table<R>& table, Grid rule = {}) {
  return Schedule(schedule::Phase{rule, table.blocks(), table.id()});
}

}  // namespace castor

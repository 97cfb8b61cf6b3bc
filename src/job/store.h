#pragma once
// Everything a job holds for its program in this process: tables, shard state, shard data.
// Type-erased: the typed handles of handles.h index into it.
//
// Thread: set up by one thread; afterwards each shard's state and data belong to the task of that
// shard.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "core/ids.h"
#include "core/rng.h"
#include "ps/table.h"

namespace castor::job {

// One kind of per-shard value: how to make, encode and decode it. The object is a void* in this
// process.
struct StateKind {
  std::string name;
  bool derived = false;  // rebuild() can make it again: never checkpointed
  std::shared_ptr<void> (*make)() = nullptr;
  void (*encode)(ByteWriter&, const void*) = nullptr;
  void (*decode)(ByteReader&, void*) = nullptr;
  std::vector<std::shared_ptr<void>> values;  // by shard
};

struct DataKind {
  std::string name;
  std::function<Result<std::shared_ptr<const void>>(ShardId)> load;
  std::vector<std::shared_ptr<const void>> values;  // by shard
};

struct TableEntry {
  std::unique_ptr<ps::TableStore> table;
  std::function<void(ps::Block&, Rng&)> fill;  // may be empty: rows start at zero
};

// What the tasks of one shard have added in one clock, until the shard ends that clock and commits.
struct OpenClock {
  struct Change {
    TableId table = 0;
    BlockId block = 0;
    std::unique_ptr<ps::Delta> delta;
  };
  Clock clock = 0;
  std::uint32_t tasks_done = 0;
  std::vector<Change> changes;
};

struct Store {
  ShardId shards = 1;
  std::vector<std::vector<OpenClock>>
      open;  // by shard, earliest clock first; each its shard's task's
  std::vector<TableEntry> tables;
  std::vector<StateKind> states;
  std::vector<DataKind> data;
};

}  // namespace castor::job

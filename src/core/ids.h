#pragma once
// The words of a job: what is virtual and fixed for its life (shards, blocks, rows), and its clock.
// Physical time is core/time.h; machines are a placement and appear nowhere here but as WorkerId.
//
// Thread: any (plain values).
#include <cstdint>

namespace castor {

using RowId = std::uint64_t;    // a row of a table
using VarId = std::uint64_t;    // a row of the scheduled table, when a scheduler picks rows
using ShardId = std::uint32_t;  // a virtual part of the data
using BlockId = std::uint32_t;  // contiguous rows of a table
using TableId = std::uint32_t;
using WorkerId = std::uint32_t;  // a process of a job
using Clock = std::int64_t;      // a job's logical clock: clocks 0, 1, 2, ...
using Epoch = std::uint32_t;     // membership number

}  // namespace castor

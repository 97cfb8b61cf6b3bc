#pragma once
// When a read may be served: one predicate, of which every consistency model is an entry.
// A shard at clock c that reads a table of staleness s must see every commit of every shard stamped
// <= c - s - 1, and all of its own (Ho et al., "More effective distributed ML via a stale
// synchronous parallel parameter server", NIPS 2013). s = 0 is bulk-synchronous (BSP).
//
// Thread: any (pure).
#include <span>
#include <string_view>

#include "core/ids.h"

namespace castor::ps {

inline constexpr int staleness_unbounded = -1;  // async

struct ReadState {
  Clock reader = 0;        // the clock of the task that reads
  Clock applied_next = 0;  // every commit of clocks < applied_next is in the values
};

struct Consistency {
  std::string_view name, guarantee;
  // The latest clock whose tasks may read values that hold every commit of clocks < applied_next:
  // the whole definition.
  Clock (*latest_reader)(Clock applied_next, int staleness);

  bool may_read(const ReadState& read, int staleness) const {
    return read.reader <= latest_reader(read.applied_next, staleness);
  }
};

std::span<const Consistency> consistencies();

// The entry for a table's staleness: bsp for 0, ssp above, async for staleness_unbounded.
const Consistency& consistency_of(int staleness);

}  // namespace castor::ps

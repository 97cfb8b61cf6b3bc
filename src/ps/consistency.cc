#include "ps/consistency.h"

#include <array>
#include <limits>

namespace castor::ps {
namespace {

constexpr std::array entries = {
    Consistency{"bsp", "a read sees exactly the commits of all earlier clocks",
                [](Clock applied_next, int) { return applied_next; }},
    Consistency{"ssp",
                "a read misses at most the commits of the last s clocks, and none of its own",
                [](Clock applied_next, int staleness) { return applied_next + staleness; }},
    Consistency{"async", "a read sees its own commits, and whatever else has arrived",
                [](Clock, int) { return std::numeric_limits<Clock>::max(); }},
};

}  // namespace

std::span<const Consistency> consistencies() { return entries; }

const Consistency& consistency_of(int staleness) {
  if (staleness == staleness_unbounded) return entries[2];
  return entries[staleness == 0 ? 0 : 1];
}

}  // namespace castor::ps

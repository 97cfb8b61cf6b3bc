#include "ps/consistency.h"

#include <array>

namespace castor::ps {
namespace {

constexpr std::array entries = {
    Consistency{"bsp", "a read sees exactly the commits of all earlier clocks",
                [](const ReadState& read, int) { return read.applied_next >= read.reader; }},
    Consistency{"ssp",
                "a read misses at most the commits of the last s clocks, and none of its own",
                [](const ReadState& read, int staleness) {
                  return read.applied_next >= read.reader - staleness;
                }},
    Consistency{"async", "a read sees its own commits, and whatever else has arrived",
                [](const ReadState&, int) { return true; }},
};

}  // namespace

std::span<const Consistency> consistencies() { return entries; }

const Consistency& consistency_of(int staleness) {
  if (staleness == staleness_unbounded) return entries[2];
  return entries[staleness == 0 ? 0 : 1];
}

}  // namespace castor::ps

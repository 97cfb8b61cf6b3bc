#pragma once
// Ratings of one user shard arranged for mf_sgd(): item block by item block, within a block user by
// user, 6 bytes a rating and 8 a run. A run is a user's ratings in a block; a (user, item) pair
// observed n times is spread over n runs of that user, so that any piece of a run touches each item
// at most once.
//
// Thread: any (plain values).
// Invariant of a built layout: see check_layout(). It does not depend on the order of the input.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "kernels/mf_kernel.h"

namespace castor::kernels {

inline constexpr std::uint32_t mf_block_rows_max = 65536;

// One (user shard, item block): items are offsets from the first row of the block.
struct MfBlock {
  std::span<const MfRun> runs;
  std::span<const std::uint16_t> items;
  std::span<const float> ratings;
};

// Where a block lies in the arrays of its layout.
struct MfExtent {
  std::uint64_t run_begin = 0;
  std::uint64_t run_end = 0;
  std::uint64_t rating_begin = 0;
  std::uint64_t rating_end = 0;
};

struct MfLayout {
  std::vector<MfExtent> blocks;
  std::vector<MfRun> runs;
  std::vector<std::uint16_t> items;
  std::vector<float> ratings;

  // REQUIRES: id < blocks.size().
  MfBlock block(BlockId id) const;
};

struct MfLayoutShape {
  std::uint32_t users = 0;  // of the shard: users are numbered from 0 within it
  // First item of each block, ascending, and at the end the number of items: blocks + 1 values.
  std::span<const std::uint32_t> item_starts;
};

// random(i), called once for each i in [0, ratings), drives the order inside runs and must depend
// on i alone. An empty function leaves runs sorted by item.
using MfRandom = std::function<std::uint64_t(std::uint64_t)>;

// Peak memory beyond input and result: 4 bytes a rating and 4 a user.
// REQUIRES: every user < shape.users, every item < shape.item_starts.back(); no block above
// mf_block_rows_max rows; fewer than 2^32 ratings.
MfLayout build_layout(std::span<const MfRating> ratings, const MfLayoutShape& shape,
                      const MfRandom& random);

// For a layout read back from storage: Code::corrupt unless every block covers its part of the
// arrays in order, runs are non-empty and of valid users in ascending order, and items are valid
// and distinct in each run.
Status check_layout(const MfLayout& layout, const MfLayoutShape& shape);

}  // namespace castor::kernels

#pragma once
// What the solvers that work on whole rows share: the ratings as rows of users and as rows of
// items, start values, penalties, probes of test ratings, and the passing of clocks to passes. Rows
// are in bands: shard d has band d of the users and band d of the items (band_of in mf_input.h); by
// position throughout.
//
// Ratings are divided by their standard deviation while training, so that sums of floats stay in
// range whatever the units are; factors carry its square root.
//
// Thread: any (plain values and pure functions), unless it says otherwise.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/aligned.h"
#include "core/rng.h"
#include "programs/mf_solver.h"

namespace castor::programs {

// A band of rows of one side with its ratings; columns are rows of the other side, ascending.
struct SidePiece {
  std::vector<std::uint64_t> begin;  // rows + 1
  AlignedVector<std::int32_t> columns;
  AlignedVector<float> values;  // divided by `scale`

  std::uint32_t rows() const { return static_cast<std::uint32_t>(begin.size() - 1); }
};

// By shard. Beyond the input: 16 bytes a rating and, while it is made, 4 a rating of the shards at
// work.
struct SidePieces {
  std::vector<SidePiece> users, items;
};

struct SideRule {
  float scale = 1;
  bool merge = false;  // adds up the values of a pair that occurs several times
};

// The same for any number of threads and, but for pairs that occur several times, any order of the
// input.
SidePieces side_pieces(const MfInput& input, const SideRule& rule, world::Pool& pool);

enum class SideRole : std::uint8_t { users, items };

inline const Side& side_of(const MfInput& input, SideRole role) {
  return role == SideRole::users ? input.users : input.items;
}

// The given row of a warm start, rank values as they are; empty when there is none or it is all
// zero.
std::span<const float> given_row(const MfInput& input, const MfFactors* start, SideRole role,
                                 std::uint32_t position);

// The sum over rows of w |x|^2, w = 1 or the ratings of the row; rows without ratings are 0.
// `rows` are those of a band, `stride` floats each.
double penalty_of(std::span<const float> rows, std::size_t stride,
                  std::span<const std::uint32_t> degrees, bool by_degree);

// The ratings of one shard's users that only measure the model, grouped by band of items; users and
// items by place in their bands.
struct Probe {
  std::vector<std::vector<kernels::MfRating>> bands;
  std::vector<float> unknown;  // values whose user or item is not in the training set
};

Probe probe_of(const MfInput& input, const ShardedRatings& ratings, ShardId shard);

// The squared error on a probe: predictions are scale x product, and the mean where a row was never
// trained. `items` gives the rows of a band of items.
MetricPart probe_error(const Probe& probe, const MfInput& input, std::uint32_t rank, float scale,
                       std::span<const float> users,
                       FunctionRef<std::span<const float>(std::uint32_t band)> items);

// Copies the rows of a band to where they belong by index, times sqrt(scale).
void copy_by_index(const Side& side, std::uint32_t first, std::span<const float> rows,
                   std::size_t stride, float scale, std::span<float> out);

// The callers of a solver count in passes; the job counts clocks.
RunOptions in_clocks(RunOptions options, Clock clocks_per_pass);
Report in_passes(Report report, Clock clocks_per_pass);

}  // namespace castor::programs

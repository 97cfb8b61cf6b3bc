#pragma once
// Ratings prepared for any of the solvers: users and items relabelled at random (which evens out
// bands and blocks), cut into bands of equal size, grouped by user shard in place. "Position" is
// the number after relabelling, "index" the one before.
//
// Thread: built by one; afterwards read by any.
#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "data/ratings.h"
#include "kernels/mf_kernel.h"

namespace castor::programs {

// Rows [first, first + count) of `total`, the part `part` of `parts` parts of equal size. Later
// parts may be empty when there are fewer rows than parts.
struct Band {
  std::uint32_t first = 0, count = 0;
};
Band band_of(std::uint32_t total, std::uint32_t parts, std::uint32_t part);

// The rows of one side: where each went.
struct Side {
  std::vector<std::uint32_t> position_of;  // by index
  std::vector<std::uint32_t> index_at;     // by position
  std::vector<std::uint32_t> degree;       // by position: its training ratings
  std::uint32_t count() const { return static_cast<std::uint32_t>(index_at.size()); }
};

// Ratings by position, grouped by user shard.
class ShardedRatings {
 public:
  std::span<const kernels::MfRating> all() const { return ratings_; }
  std::span<const kernels::MfRating> of(ShardId shard) const {
    return std::span(ratings_).subspan(begin_[shard], begin_[shard + 1] - begin_[shard]);
  }
  std::size_t size() const { return ratings_.size(); }
  // Frees the ratings; of() is empty afterwards.
  void clear();

 private:
  friend ShardedRatings shard_ratings(std::vector<data::Rating> ratings, const Side& users,
                                      const Side& items, ShardId shards);
  std::vector<kernels::MfRating> ratings_;
  std::vector<std::size_t> begin_;  // by shard, and the end
};

// A rating whose user or item is not in the training set keeps the index npos and is in shard 0.
ShardedRatings shard_ratings(std::vector<data::Rating> ratings, const Side& users,
                             const Side& items, ShardId shards);

struct MfInput {
  ShardId shards = 1;
  Side users, items;
  double mean = 0, deviation = 1;  // of the training values; deviation is 1 when they are all equal
  float value_least = 0, value_most = 0;
  std::uint64_t fingerprint = 0;             // of the training ratings
  std::uint64_t validation_fingerprint = 0;  // of the validation ratings
  ShardedRatings train, test, validation;    // the last two may be empty
};

struct MfCounts {
  std::uint32_t users = 0, items = 0;
};

// Consumes the ratings. REQUIRES: train is not empty.
MfInput prepare_input(std::vector<data::Rating> train, std::vector<data::Rating> test,
                      std::vector<data::Rating> validation, MfCounts counts, ShardId shards,
                      std::uint64_t seed);

}  // namespace castor::programs

#pragma once
// How wrong a factor model is on ratings, in parallel and the same for any number of threads.
//
// Thread: one at a time a pool.
#include <cmath>
#include <cstdint>

#include "programs/mf_solver.h"

namespace castor::programs {

struct Errors {
  double squared = 0, absolute = 0;  // sums
  std::uint64_t count = 0;
  std::uint64_t unknown = 0;  // of count: user or item not in the model

  double rmse() const { return count == 0 ? 0 : std::sqrt(squared / static_cast<double>(count)); }
  double mae() const { return count == 0 ? 0 : absolute / static_cast<double>(count); }
};

// What is predicted where the user, the item or both are not in the model (IdMap::npos): the mean,
// with the bias of the one that is; 0 for an implicit model. By index.
float predict_unknown(const MfFactors& factors, std::uint32_t user, std::uint32_t item);

// `ratings` by position of `input`, factors by index.
Errors errors_of(const MfFactors& factors, const ShardedRatings& ratings, const MfInput& input,
                 world::Pool& pool);

// `ratings` by index.
Errors errors_of(const MfFactors& factors, std::span<const data::Rating> ratings,
                 world::Pool& pool);

}  // namespace castor::programs

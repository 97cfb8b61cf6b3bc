#pragma once
// Small rating sets with a planted structure, for the tests of the factorisation programs.
//
// Thread: any (pure).
#include <cmath>
#include <vector>

#include "core/rng.h"
#include "data/ratings.h"
#include "programs/mf_input.h"
#include "programs/mf_solver.h"

namespace castor::programs::testing {

struct PlantedShape {
  std::uint32_t users = 60, items = 40, rank = 3;
  double density = 0.4, noise = 0;
  std::uint64_t seed = 1;
};

// Ratings of a planted low-rank matrix with mean about 3; every user and item is rated at least
// once when density allows.
inline std::vector<data::Rating> planted(const PlantedShape& shape) {
  Rng rng({shape.seed, 0, 0, 0});
  std::vector<double> p(shape.users * shape.rank), q(shape.items * shape.rank);
  for (double& value : p) value = rng.normal() / std::sqrt(shape.rank);
  for (double& value : q) value = rng.normal();
  std::vector<data::Rating> ratings;
  for (std::uint32_t u = 0; u < shape.users; ++u) {
    for (std::uint32_t i = 0; i < shape.items; ++i) {
      const bool first = u % shape.items == i || i % shape.users == u;
      if (!first && rng.uniform() > shape.density) continue;
      double value = 3;
      for (std::uint32_t k = 0; k < shape.rank; ++k)
        value += p[u * shape.rank + k] * q[i * shape.rank + k];
      ratings.push_back({u, i, static_cast<float>(value + shape.noise * rng.normal())});
    }
  }
  return ratings;
}

inline MfInput input_of(std::vector<data::Rating> train, MfCounts counts, ShardId shards,
                        std::uint64_t seed = 1, std::vector<data::Rating> test = {},
                        std::vector<data::Rating> validation = {}) {
  return prepare_input(std::move(train), std::move(test), std::move(validation), counts, shards,
                       seed);
}

}  // namespace castor::programs::testing

#include "programs/mf_errors.h"

#include <algorithm>
#include <vector>

namespace castor::programs {
namespace {

constexpr std::size_t piece =
    1u << 16;  // ratings summed at once: fixed, so that sums do not depend on threads
constexpr std::uint32_t unknown = data::IdMap::npos;

// rating_at(i) gives the i-th rating by index.
template <class F>
Errors summed(const MfFactors& factors, std::size_t count, world::Pool& pool, F&& rating_at) {
  const kernels::MfModel model = factors.view();
  std::vector<Errors> parts((count + piece - 1) / piece);
  pool.run(parts.size(), 1, [&](std::size_t first, std::size_t last) {
    std::vector<kernels::MfRating> known;
    for (std::size_t part = first; part < last; ++part) {
      Errors& errors = parts[part];
      known.clear();
      for (std::size_t i = part * piece; i < std::min(count, (part + 1) * piece); ++i) {
        const kernels::MfRating rating = rating_at(i);
        ++errors.count;
        if (rating.user != unknown && rating.item != unknown) {
          known.push_back(rating);
          continue;
        }
        const double wrong = rating.rating - predict_unknown(factors, rating.user, rating.item);
        errors.squared += wrong * wrong;
        errors.absolute += std::abs(wrong);
        ++errors.unknown;
      }
      const kernels::MfErrors sums = kernels::mf_errors(known, model);
      errors.squared += sums.squared;
      errors.absolute += sums.absolute;
    }
  });
  Errors total;
  for (const Errors& part : parts) {
    total.squared += part.squared;
    total.absolute += part.absolute;
    total.count += part.count;
    total.unknown += part.unknown;
  }
  return total;
}

}  // namespace

float predict_unknown(const MfFactors& factors, std::uint32_t user, std::uint32_t item) {
  if (factors.implicit) return 0;
  float value = factors.mean;
  if (user != unknown && !factors.user_biases.empty()) value += factors.user_biases[user].value;
  if (item != unknown && !factors.item_biases.empty()) value += factors.item_biases[item].value;
  return value;
}

Errors errors_of(const MfFactors& factors, const ShardedRatings& ratings, const MfInput& input,
                 world::Pool& pool) {
  const std::span<const kernels::MfRating> all = ratings.all();
  auto index = [](const Side& side, std::uint32_t position) {
    return position == unknown ? unknown : side.index_at[position];
  };
  return summed(factors, all.size(), pool, [&](std::size_t i) -> kernels::MfRating {
    return {index(input.users, all[i].user), index(input.items, all[i].item), all[i].rating};
  });
}

Errors errors_of(const MfFactors& factors, std::span<const data::Rating> ratings,
                 world::Pool& pool) {
  return summed(factors, ratings.size(), pool, [&](std::size_t i) -> kernels::MfRating {
    return {ratings[i].user, ratings[i].item, ratings[i].value};
  });
}

}  // namespace castor::programs

#pragma once
// Which ratings are held out for testing. Deterministic: a function of the ratings, the options and
// the seed, whatever the number of threads.
//
// Thread: any (plain values).
#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.h"
#include "core/result.h"
#include "data/ratings.h"

namespace castor::data {

struct SplitOptions {
  double test = 0.1;          // share held out; not used when per_user > 0
  std::int64_t per_user = 0;  // ratings of each user held out; every user keeps at least one
  std::string by = "random";  // random; last: the last ones of each user in input order
  std::int64_t seed = 1;
};

std::vector<Field> fields(SplitOptions& options);

// One byte a rating: 1 = held out. Code::invalid when nothing would be left to train on or to test.
//   test + random: each rating on its own with probability `test`
//   test + last:   the last round(test * n) of each user's n ratings, at most n - 1
//   per_user:      min(per_user, n - 1) of each user's n ratings, at random or the last
Result<std::vector<std::uint8_t>> held_out(const Ratings& ratings, const SplitOptions& options);

}  // namespace castor::data

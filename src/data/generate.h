#pragma once
// Synthetic ratings: a planted model of low rank with biases and noise, users of log-normal
// activity, items of Zipf-like popularity, values in half steps from 0.5 to 5, no pair twice. The
// result is a function of the options alone, whatever the number of threads.
//
// Thread: one at a time per pool.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/fields.h"
#include "core/function_ref.h"
#include "core/result.h"
#include "data/ratings.h"
#include "world/files.h"
#include "world/pool.h"

namespace castor::data {

struct GenerateOptions {
  std::int64_t users = 1000;
  std::int64_t items = 500;
  std::int64_t ratings = 50000;  // exactly so many; at most nine tenths of users * items
  std::int64_t rank = 8;
  double noise = 0.75;  // standard deviation, before rounding to half steps
  double test = 0;      // share that goes to the test file
  std::int64_t seed = 1;
};

std::vector<Field> fields(GenerateOptions& options);

struct GenerateReport {
  std::uint64_t ratings = 0;       // all
  std::uint64_t test_ratings = 0;  // of them in the test file
  // Root mean square error of the planted model against the values: what no model can beat by much.
  double rmse_floor = 0;
  double test_rmse_floor = 0;  // the same on the test file; 0 without one
};

// Gives ratings to `sink` user by user, with indices from 0; `test` says which are held out.
using RatingsSink =
    FunctionRef<Status(std::span<const Rating> ratings, std::span<const std::uint8_t> test)>;
Result<GenerateReport> generate_ratings(world::Pool& pool, const GenerateOptions& options,
                                        RatingsSink sink);

// Writes them to `path`, and those held out to `test_path` ("" when options.test is 0), as
// format_for(path) says, with decimal ids from 1. Files appear at the end, whole, or not at all.
Result<GenerateReport> generate_ratings(world::Files& files, world::Pool& pool,
                                        const GenerateOptions& options, const std::string& path,
                                        const std::string& test_path);

}  // namespace castor::data

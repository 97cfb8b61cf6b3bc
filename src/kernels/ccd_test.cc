#include "kernels/ccd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/rng.h"
#include "core/text.h"

namespace castor::kernels {
namespace {

struct Rating {
  std::uint32_t row, column;
  float value;
};

// One side's view of a small problem with two coordinates.
struct Side {
  std::vector<std::uint64_t> begin;
  std::vector<std::int32_t> columns;
  std::vector<float> residuals;
  std::vector<float> x, x_before;

  CcdRows rows() { return {begin, columns, residuals, x, x_before}; }
};

Side side_of(const std::vector<Rating>& ratings, std::uint32_t rows, bool transposed, Rng& rng) {
  Side side;
  side.begin = {0};
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (const Rating& rating : ratings) {
      if ((transposed ? rating.column : rating.row) != row) continue;
      side.columns.push_back(static_cast<std::int32_t>(transposed ? rating.row : rating.column));
      side.residuals.push_back(rating.value);
    }
    side.begin.push_back(side.columns.size());
    side.x.push_back(static_cast<float>(rng.normal()));
    side.x_before.push_back(static_cast<float>(rng.normal()));
  }
  return side;
}

std::vector<float> pairs_of(const std::vector<float>& left, const std::vector<float>& right) {
  std::vector<float> pairs;
  for (std::size_t i = 0; i < left.size(); ++i) pairs.insert(pairs.end(), {left[i], right[i]});
  return pairs;
}

constexpr std::uint32_t user_count = 24, item_count = 40;

// Users with 0, 1, 2, ... ratings, some pairs twice.
std::vector<Rating> staircase(Rng& rng) {
  std::vector<Rating> ratings;
  for (std::uint32_t user = 0; user < user_count; ++user) {
    for (std::uint32_t n = 0; n < user + (user == user_count - 1 ? 30 : 0); ++n) {
      ratings.push_back({user, static_cast<std::uint32_t>(rng.below(item_count - 1)),
                         static_cast<float>(3 + rng.normal())});
    }
  }
  return ratings;
}

double weight_of(const CcdParameters& parameters, std::size_t degree) {
  return parameters.by_degree ? double{parameters.lambda} * static_cast<double>(degree)
                              : double{parameters.lambda};
}

// The minimiser for row i of (s, y), and a bound on what floats may be off.
double closed_form(const Side& side, std::size_t i, const std::vector<float>& s,
                   const std::vector<float>& y, const CcdParameters& parameters, double* bound) {
  double above = 0, below = 0, scale = 0;
  for (std::uint64_t r = side.begin[i]; r < side.begin[i + 1]; ++r) {
    const double value = y[static_cast<std::size_t>(side.columns[r])];
    above += s[r] * value;
    scale += std::abs(s[r] * value);
    below += value * value;
  }
  below += weight_of(parameters, side.begin[i + 1] - side.begin[i]);
  *bound = 32 * std::numeric_limits<float>::epsilon() * (scale / below + std::abs(above / below));
  return above / below;
}

void expect_minimisers(const Side& side, const std::vector<float>& y,
                       const CcdParameters& parameters, const std::vector<float>& x_old) {
  for (std::size_t i = 0; i < side.x.size(); ++i) {
    if (side.begin[i] == side.begin[i + 1]) {
      EXPECT_EQ(side.x[i], x_old[i]);
      continue;
    }
    double bound = 0;
    const double expected = closed_form(side, i, side.residuals, y, parameters, &bound);
    EXPECT_NEAR(side.x[i], expected, bound) << "row " << i;
  }
}

TEST(Ccd, EachSweepSetsRowsToTheirMinimisersAndRenewsResiduals) {
  for (const InstructionSet set : instruction_sets()) {
    for (const bool by_degree : {false, true}) {
      SCOPED_TRACE(text("{}, by degree {}", name_of(set), by_degree));
      Rng rng({.seed = 1});
      const std::vector<Rating> ratings = staircase(rng);
      Side users = side_of(ratings, user_count, false, rng);
      Side items = side_of(ratings, item_count, true, rng);
      const CcdParameters parameters{.lambda = 0.3F, .by_degree = by_degree};
      const std::vector<float> items_old = items.x, users_old = users.x;
      const std::vector<float> given = users.residuals;

      ccd_first(items.rows(), pairs_of(users.x_before, users.x), parameters, set);
      expect_minimisers(items, users.x, parameters, items_old);
      ccd_second(users.rows(), pairs_of(items.x_before, items_old), items.x, parameters, set);
      expect_minimisers(users, items.x, parameters, users_old);
      for (std::size_t i = 0; i < user_count; ++i) {
        for (std::uint64_t r = users.begin[i]; r < users.begin[i + 1]; ++r) {
          const auto c = static_cast<std::size_t>(users.columns[r]);
          const double expected = given[r] - double{users.x_before[i]} * items.x_before[c] +
                                  double{users_old[i]} * items_old[c];
          EXPECT_NEAR(users.residuals[r], expected, 1e-5);
        }
      }

      const std::vector<float> residuals = users.residuals, users_then = users.x;
      ccd_again(items.rows(), users.x, parameters, set);
      expect_minimisers(items, users.x, parameters, items_old);
      ccd_again(users.rows(), items.x, parameters, set);
      expect_minimisers(users, items.x, parameters, users_then);
      EXPECT_EQ(users.residuals, residuals);
    }
  }
}

TEST(Ccd, BothCopiesOfTheResidualsHoldTheSameBits) {
  for (const InstructionSet set : instruction_sets()) {
    Rng rng({.seed = 2});
    const std::vector<Rating> ratings = staircase(rng);
    Side users = side_of(ratings, user_count, false, rng);
    Side items = side_of(ratings, item_count, true, rng);
    ccd_subtract(users.rows(), items.x_before, set);
    Side taken = items;
    taken.x = items.x_before;
    ccd_subtract(taken.rows(), users.x, set);
    items.residuals = taken.residuals;
    for (int turn = 0; turn < 3; ++turn) {
      const std::vector<float> items_old = items.x;
      ccd_first(items.rows(), pairs_of(users.x_before, users.x), {0.1F, true}, set);
      ccd_second(users.rows(), pairs_of(items.x_before, items_old), items.x, {0.1F, true}, set);
      std::swap(users.x, users.x_before);
      std::swap(items.x, items.x_before);
    }
    // By pair, in order of occurrence, which is the same in both.
    std::vector<std::uint64_t> next(items.begin.begin(), items.begin.end() - 1);
    for (std::uint64_t r = 0; r < users.columns.size(); ++r) {
      const std::uint64_t there = next[static_cast<std::size_t>(users.columns[r])]++;
      EXPECT_EQ(std::memcmp(&users.residuals[r], &items.residuals[there], sizeof(float)), 0) << r;
    }
  }
}

TEST(Ccd, BandsDoNotChangeTheBits) {
  for (const InstructionSet set : instruction_sets()) {
    Rng rng({.seed = 3});
    const std::vector<Rating> ratings = staircase(rng);
    Side whole = side_of(ratings, user_count, false, rng);
    const Side items = side_of(ratings, item_count, true, rng);
    const std::vector<float> pairs = pairs_of(items.x_before, items.x);
    Side banded = whole;
    ccd_first(whole.rows(), pairs, {0.1F, true}, set);
    for (std::size_t i = 0; i < user_count; ++i) {
      const std::uint64_t begin[] = {0, banded.begin[i + 1] - banded.begin[i]};
      CcdRows rows = banded.rows();
      rows.begin = begin;
      rows.columns = rows.columns.subspan(banded.begin[i], begin[1]);
      rows.residuals = rows.residuals.subspan(banded.begin[i], begin[1]);
      rows.x = rows.x.subspan(i, 1);
      rows.x_before = rows.x_before.subspan(i, 1);
      ccd_first(rows, pairs, {0.1F, true}, set);
    }
    EXPECT_EQ(whole.x, banded.x);
    EXPECT_EQ(whole.residuals, banded.residuals);
  }
}

TEST(Ccd, WhereNothingSaysWhatARowShouldBeItStaysAsItIs) {
  for (const InstructionSet set : instruction_sets()) {
    Rng rng({.seed = 4});
    Side users = side_of(staircase(rng), user_count, false, rng);
    const std::vector<float> zeros(item_count, 0), before = users.x;
    ccd_again(users.rows(), zeros, {}, set);
    EXPECT_EQ(users.x, before);
  }
}

TEST(Ccd, SquaredErrorIsThatOfTheDefinition) {
  for (const InstructionSet set : instruction_sets()) {
    Rng rng({.seed = 5});
    const std::vector<Rating> ratings = staircase(rng);
    Side users = side_of(ratings, user_count, false, rng);
    const Side items = side_of(ratings, item_count, true, rng);
    double expected = 0;
    for (std::size_t i = 0; i < user_count; ++i) {
      for (std::uint64_t r = users.begin[i]; r < users.begin[i + 1]; ++r) {
        const double y = items.x[static_cast<std::size_t>(users.columns[r])];
        expected += std::pow(users.residuals[r] - users.x[i] * y, 2);
      }
    }
    EXPECT_NEAR(ccd_squared_error(users.rows(), items.x, set), expected, 1e-5 * expected);
    ccd_subtract(users.rows(), items.x, set);
    const std::vector<float> zeros(item_count, 0);
    EXPECT_NEAR(ccd_squared_error(users.rows(), zeros, set), expected, 1e-5 * expected);
  }
}

TEST(Ccd, NumbersThatAreNoneDoNotCrash) {
  for (const InstructionSet set : instruction_sets()) {
    Rng rng({.seed = 6});
    Side users = side_of(staircase(rng), user_count, false, rng);
    users.residuals[5] = std::nanf("");
    users.residuals[9] = std::numeric_limits<float>::infinity();
    const std::vector<float> ones(item_count, 1);
    ccd_again(users.rows(), ones, {0.1F, false}, set);
    EXPECT_TRUE(std::isfinite(users.x[1]));
  }
}

TEST(CcdDeathTest, ArraysOfTheWrongSizeAreABug) {
  Rng rng({.seed = 7});
  Side users = side_of(staircase(rng), user_count, false, rng);
  const std::vector<float> ones(item_count, 1);
  CcdRows rows = users.rows();
  rows.x = rows.x.first(3);
  EXPECT_DEATH(ccd_again(rows, ones, {}), "25 begins for 3 rows");
}

}  // namespace
}  // namespace castor::kernels

#include "kernels/als.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/property.h"
#include "core/rng.h"
#include "kernels/mf_sgd.h"

namespace castor::kernels {
namespace {

constexpr std::uint32_t every_rank[] = {1, 3, 16, 17, 32, 40, 130};
constexpr std::uint32_t others_count = 90;

// Rows with so many ratings: around the widths of vectors and tiles, and more than are gathered at
// once at any rank.
constexpr std::uint32_t every_degree[] = {0, 1, 2, 15, 16, 17, 60, 300};

struct Problem {
  std::uint32_t rank = 0;
  std::uint32_t block_rows = 1;
  std::vector<std::uint64_t> begin = {0};
  std::vector<std::int32_t> columns;
  std::vector<float> values;
  AlignedVector<float> mine;
  std::vector<AlignedVector<float>> blocks;
  std::vector<const float*> block_list;

  RatedRows ratings() const { return {begin, columns, values}; }
  OtherRows others() const { return {block_list, block_rows, others_count}; }
  std::span<const float> other(std::int32_t column) const {
    const auto c = static_cast<std::uint32_t>(column);
    return {block_list[c / block_rows] + c % block_rows * mf_stride(rank), rank};
  }
  std::span<const float> row(std::uint32_t i) const {
    return mine.span().subspan(i * mf_stride(rank), rank);
  }
  std::uint64_t degree(std::uint32_t i) const { return begin[i + 1] - begin[i]; }
};

Problem make_problem(std::uint32_t rank, std::uint32_t block_rows, Rng& rng,
                     std::span<const std::uint32_t> degrees = every_degree) {
  Problem p;
  p.rank = rank;
  p.block_rows = block_rows;
  const std::size_t stride = mf_stride(rank);
  for (std::uint32_t first = 0; first < others_count; first += block_rows) {
    const std::uint32_t count = std::min(block_rows, others_count - first);
    AlignedVector<float> block(count * stride);
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (i % stride < rank) block[i] = static_cast<float>(rng.normal());
    }
    p.block_list.push_back(block.data());
    p.blocks.push_back(std::move(block));
  }
  for (const std::uint32_t degree : degrees) {
    for (std::uint32_t n = 0; n < degree; ++n) {  // columns may repeat
      p.columns.push_back(static_cast<std::int32_t>(rng.below(others_count)));
      p.values.push_back(static_cast<float>(3 + rng.normal()));
    }
    p.begin.push_back(p.columns.size());
  }
  p.mine = AlignedVector<float>(degrees.size() * stride);
  for (std::size_t i = 0; i < p.mine.size(); ++i) {
    if (i % stride < rank) p.mine[i] = static_cast<float>(rng.normal());
  }
  return p;
}

using Doubles = std::vector<double>;

// Gaussian elimination with pivoting of (a | x).
Doubles solved(Doubles a, Doubles x) {
  const std::size_t n = x.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i) {
      if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
    }
    for (std::size_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[pivot * n + j]);
    std::swap(x[k], x[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / a[k * n + k];
      for (std::size_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
      x[i] -= factor * x[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) x[k] -= a[k * n + j] * x[j];
    x[k] /= a[k * n + k];
  }
  return x;
}

Doubles solve_ref(const Problem& p, std::uint32_t i, const AlsParameters& parameters) {
  const std::size_t n = p.rank;
  Doubles a(n * n), b(n);
  for (std::uint64_t r = p.begin[i]; r < p.begin[i + 1]; ++r) {
    const auto q = p.other(p.columns[r]);
    for (std::size_t j = 0; j < n; ++j) {
      b[j] += double{p.values[r]} * q[j];
      for (std::size_t k = 0; k < n; ++k) a[j * n + k] += double{q[j]} * q[k];
    }
  }
  const double weight = parameters.by_degree ? static_cast<double>(p.degree(i)) : 1;
  for (std::size_t j = 0; j < n; ++j) a[j * n + j] += parameters.lambda * weight;
  return solved(a, b);
}

// Of the Gram matrix of n normal rows, each perhaps twice, plus the least eigenvalue that L2
// leaves.
double condition_of(const Problem& p, std::uint32_t i, const AlsParameters& parameters) {
  const auto n = static_cast<double>(p.degree(i));
  const double largest = 2 * std::pow(std::sqrt(n) + std::sqrt(p.rank), 2);
  return 1 + largest / (parameters.lambda * (parameters.by_degree ? n : 1));
}

// The minimiser of als_cg's objective, over all others one by one.
Doubles implicit_ref(const Problem& p, std::uint32_t i, float lambda) {
  const std::size_t n = p.rank;
  Doubles a(n * n), b(n), weight(others_count, 1), preference(others_count, 0);
  for (std::uint64_t r = p.begin[i]; r < p.begin[i + 1]; ++r) {
    const auto c = static_cast<std::size_t>(p.columns[r]);
    weight[c] = 1 + std::abs(double{p.values[r]});
    preference[c] = p.values[r] > 0 ? 1 : 0;
  }
  for (std::uint32_t c = 0; c < others_count; ++c) {
    const auto q = p.other(static_cast<std::int32_t>(c));
    for (std::size_t j = 0; j < n; ++j) {
      b[j] += weight[c] * preference[c] * q[j];
      for (std::size_t k = 0; k < n; ++k) a[j * n + k] += weight[c] * q[j] * q[k];
    }
  }
  for (std::size_t j = 0; j < n; ++j) a[j * n + j] += lambda;
  return solved(a, b);
}

// As als_cg wants it: each pair once, some dislikes among them.
Problem make_implicit(std::uint32_t rank, Rng& rng) {
  constexpr std::uint32_t degrees[] = {0, 1, 17, 80};
  Problem p = make_problem(rank, 32, rng, degrees);
  for (std::uint32_t i = 0; i + 1 < p.begin.size(); ++i) {
    for (std::uint64_t r = p.begin[i]; r < p.begin[i + 1]; ++r) {
      p.columns[r] = static_cast<std::int32_t>(r - p.begin[i]);
      if (r % 7 == 3) p.values[r] = -p.values[r];
    }
  }
  return p;
}

AlignedVector<float> gram_of(const Problem& p, InstructionSet set) {
  const std::size_t stride = mf_stride(p.rank);
  AlignedVector<float> all(others_count * stride), gram(stride * stride);
  for (std::uint32_t c = 0; c < others_count; ++c) {
    std::ranges::copy(p.other(static_cast<std::int32_t>(c)), all.begin() + c * stride);
  }
  als_gram(all.span(), p.rank, gram.span(), set);
  return gram;
}

// x is within rounding of `expected` for a system whose condition number is not above `condition`.
void expect_near(std::span<const float> x, const Doubles& expected, double condition) {
  double length = 0, off = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    length += expected[k] * expected[k];
    off += (x[k] - expected[k]) * (x[k] - expected[k]);
  }
  const double epsilon = std::numeric_limits<float>::epsilon();
  EXPECT_LE(std::sqrt(off), 4 * epsilon * condition * std::sqrt(length));
}

TEST(Als, RowsAreTheSolutionsOfTheirNormalEquations) {
  for (const InstructionSet set : instruction_sets()) {
    for (const std::uint32_t rank : every_rank) {
      for (const bool by_degree : {false, true}) {
        for (const std::uint32_t block_rows : {1U, 7U, 64U, others_count}) {
          SCOPED_TRACE(text("{}, rank {}, by degree {}", name_of(set), rank, by_degree));
          Rng rng({.seed = rank});
          Problem p = make_problem(rank, block_rows, rng);
          const AlsParameters parameters{.rank = rank, .lambda = 0.5F, .by_degree = by_degree};
          AlsScratch scratch(rank);
          als_solve(p.ratings(), p.others(), p.mine.span(), parameters, scratch, set);
          for (std::uint32_t i = 0; i < std::size(every_degree); ++i) {
            if (p.degree(i) == 0) {
              for (const float x : p.row(i)) EXPECT_EQ(x, 0);
            } else {
              expect_near(p.row(i), solve_ref(p, i, parameters), condition_of(p, i, parameters));
            }
          }
        }
      }
    }
  }
}

TEST(Als, ARowWithoutRatingsBecomesZeroAndPaddingStaysZero) {
  Rng rng({.seed = 1});
  Problem p = make_problem(17, 64, rng);
  AlsScratch scratch(17);
  als_solve(p.ratings(), p.others(), p.mine.span(), {.rank = 17, .lambda = 1}, scratch);
  for (std::size_t k = 0; k < 32; ++k) EXPECT_EQ(p.mine[k], 0);
  for (std::size_t i = 0; i < p.mine.size(); ++i) {
    if (i % 32 >= 17) {
      EXPECT_EQ(p.mine[i], 0);
    }
  }
}

double objective_of(const Problem& p, std::uint32_t i, double lambda) {
  double sum = 0;
  for (const float x : p.row(i)) sum += lambda * x * x;
  for (std::uint64_t r = p.begin[i]; r < p.begin[i + 1]; ++r) {
    double error = p.values[r];
    const auto q = p.other(p.columns[r]);
    for (std::uint32_t k = 0; k < p.rank; ++k) error -= double{p.row(i)[k]} * q[k];
    sum += error * error;
  }
  return sum;
}

// Without L2 and with fewer ratings than coordinates, or others that lie in a plane, the system is
// singular: any minimiser will do, and two rounds come near one.
TEST(Als, SingularSystemsAreSolvedTooAndTheObjectiveNeverRises) {
  for (const InstructionSet set : instruction_sets()) {
    for (const std::uint32_t rank : {3U, 16U, 40U}) {
      SCOPED_TRACE(text("{}, rank {}", name_of(set), rank));
      Rng rng({.seed = rank});
      constexpr std::uint32_t degrees[] = {1, 2, 5, 20, 39, 100};
      Problem p = make_problem(rank, 64, rng, degrees);
      for (AlignedVector<float>& block : p.blocks) {  // the last coordinate repeats the first one
        for (std::size_t i = 0; i < block.size(); i += mf_stride(rank))
          block[i + rank - 1] = block[i];
      }
      AlsScratch scratch(rank);
      std::vector<double> before;
      for (std::uint32_t i = 0; i < std::size(degrees); ++i)
        before.push_back(objective_of(p, i, 0));
      for (int round = 0; round < 3; ++round) {
        als_solve(p.ratings(), p.others(), p.mine.span(), {.rank = rank}, scratch, set);
        for (std::uint32_t i = 0; i < std::size(degrees); ++i) {
          const double now = objective_of(p, i, 0);
          EXPECT_LE(now, before[i] + 1e-6) << "round " << round << ", row " << i;
          if (degrees[i] < rank / 2) {
            EXPECT_LT(now, 1e-4) << "row " << i;
          }
          before[i] = now;
        }
      }
    }
  }
}

TEST(Als, RatingsThatAreNoNumbersHarmTheirRowOnly) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf(""), 3e38F}) {
    Rng rng({.seed = 1});
    Problem p = make_problem(16, 64, rng);
    const AlsParameters parameters{.rank = 16, .lambda = 0.5F};
    p.values[p.begin[3]] = bad;
    AlsScratch scratch(16);
    als_solve(p.ratings(), p.others(), p.mine.span(), parameters, scratch);
    for (std::uint32_t i = 4; i < std::size(every_degree); ++i) {
      expect_near(p.row(i), solve_ref(p, i, parameters), condition_of(p, i, parameters));
    }
  }
}

TEST(Als, BandsDoNotChangeTheBits) {
  for (const InstructionSet set : instruction_sets()) {
    Rng rng({.seed = 3});
    Problem p = make_problem(32, 13, rng);
    const AlsParameters parameters{.rank = 32, .lambda = 0.1F, .by_degree = true};
    AlsScratch scratch(32);
    AlignedVector<float> by_row = p.mine.copy();
    als_solve(p.ratings(), p.others(), p.mine.span(), parameters, scratch, set);
    for (std::uint32_t i = 0; i < std::size(every_degree); ++i) {
      RatedRows one = p.ratings();
      one.begin = one.begin.subspan(i, 2);
      als_solve(one, p.others(), by_row.span().subspan(i * 32, 32), parameters, scratch, set);
    }
    EXPECT_EQ(std::memcmp(by_row.data(), p.mine.data(), by_row.size() * sizeof(float)), 0);
  }
}

TEST(Als, GramIsTheSumOfOuterProducts) {
  for (const InstructionSet set : instruction_sets()) {
    for (const std::uint32_t rank : every_rank) {
      for (const std::size_t count : {0U, 1U, 15U, 256U, 257U, 1000U}) {
        Rng rng({.seed = count});
        const std::size_t stride = mf_stride(rank);
        AlignedVector<float> rows(count * stride), gram(stride * stride);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          if (i % stride < rank) rows[i] = static_cast<float>(rng.normal());
        }
        als_gram(rows.span(), rank, gram.span(), set);
        for (std::size_t j = 0; j < stride; ++j) {
          for (std::size_t k = 0; k < stride; ++k) {
            double sum = 0, scale = 0;
            for (std::size_t r = 0; r < count; ++r) {
              const double product = double{rows[r * stride + j]} * rows[r * stride + k];
              sum += product;
              scale += std::abs(product);
            }
            const double tolerance = std::numeric_limits<float>::epsilon() * scale * 16;
            ASSERT_NEAR(gram[j * stride + k], sum, tolerance) << j << " " << k;
          }
        }
      }
    }
  }
}

TEST(Als, EnoughConjugateGradientStepsSolveTheWeightedSystemOverAllPairs) {
  for (const InstructionSet set : instruction_sets()) {
    for (const std::uint32_t rank : {1U, 5U, 16U, 33U}) {
      SCOPED_TRACE(text("{}, rank {}", name_of(set), rank));
      Rng rng({.seed = rank});
      Problem p = make_implicit(rank, rng);
      AlsScratch scratch(rank);
      als_cg(p.ratings(), p.others(), gram_of(p, set).span(), p.mine.span(),
             {.rank = rank, .lambda = 2, .cg_steps = 100}, scratch, set);
      for (const float x : p.row(0)) EXPECT_EQ(x, 0);
      for (std::uint32_t i = 1; i < 4; ++i) expect_near(p.row(i), implicit_ref(p, i, 2), 500);
    }
  }
}

TEST(Als, ConjugateGradientsGoOnFromTheRowAsItIs) {
  Rng rng({.seed = 4});
  Problem p = make_implicit(33, rng);
  const AlignedVector<float> gram = gram_of(p, best_instruction_set());
  AlsScratch scratch(33);
  std::vector<double> before(4, 1e30);
  for (int round = 0; round < 6; ++round) {
    als_cg(p.ratings(), p.others(), gram.span(), p.mine.span(),
           {.rank = 33, .lambda = 2, .cg_steps = 3}, scratch);
    for (std::uint32_t i = 1; i < 4; ++i) {
      double off = 0;
      const Doubles expected = implicit_ref(p, i, 2);
      for (std::uint32_t k = 0; k < 33; ++k) off += std::pow(p.row(i)[k] - expected[k], 2);
      EXPECT_LT(off, round == 0 ? 1e30 : before[i] + 1e-9);
      before[i] = off;
    }
  }
  for (std::uint32_t i = 1; i < 4; ++i) EXPECT_LT(before[i], 1e-3);
}

TEST(Als, ErrorsAreThoseOfTheDefinition) {
  for (const InstructionSet set : instruction_sets()) {
    for (const std::uint32_t rank : every_rank) {
      Rng rng({.seed = rank});
      const Problem p = make_problem(rank, 7, rng);
      double squared = 0, implicit = 0;
      for (std::uint32_t i = 0; i < std::size(every_degree); ++i) {
        for (std::uint64_t r = p.begin[i]; r < p.begin[i + 1]; ++r) {
          double s = 0;
          const auto q = p.other(p.columns[r]);
          for (std::uint32_t k = 0; k < rank; ++k) s += double{p.row(i)[k]} * q[k];
          const double v = p.values[r];
          squared += (v - s) * (v - s);
          implicit += (1 + std::abs(v)) * std::pow((v > 0 ? 1 : 0) - s, 2) - s * s;
        }
      }
      EXPECT_NEAR(als_squared_error(p.ratings(), p.others(), p.mine.span(), rank, set), squared,
                  1e-5 * squared);
      EXPECT_NEAR(als_implicit_error(p.ratings(), p.others(), p.mine.span(), rank, set), implicit,
                  1e-5 * implicit);
    }
  }
}

TEST(AlsDeathTest, TablesOfTheWrongSizeAreABug) {
  Rng rng({.seed = 1});
  Problem p = make_problem(16, 64, rng);
  AlsScratch scratch(16);
  EXPECT_DEATH(als_solve(p.ratings(), p.others(), p.mine.span().first(16), {.rank = 16}, scratch),
               "16 floats for 8 rows");
  EXPECT_DEATH(als_solve(p.ratings(), p.others(), p.mine.span(), {.rank = 0}, scratch), "rank 0");
}

}  // namespace
}  // namespace castor::kernels

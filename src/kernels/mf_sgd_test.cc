#include "kernels/mf_sgd.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "core/aligned.h"
#include "core/rng.h"
#include "kernels/mf_predict.h"

namespace castor::kernels {
namespace {

constexpr std::uint32_t every_rank[] = {1, 3, 8, 9, 16, 17, 32, 64, 100, 128, 200};

struct Kind {
  bool biases = false;
  bool plain = false;
};

constexpr Kind every_kind[] = {{false, false}, {true, false}, {false, true}, {true, true}};

struct Problem {
  MfLayout layout;
  AlignedVector<float> user_rows, item_rows;
  std::vector<MfUserSide> user_sides;
  std::vector<MfItemSide> item_sides;
  std::vector<MfBias> user_biases, item_biases;
  std::vector<float> user_inverse_degrees, item_inverse_degrees;
  MfParameters parameters;

  MfBlock block() const { return layout.block(0); }

  MfTables tables() {
    return {.user_rows = user_rows.span(),
            .item_rows = item_rows.span(),
            .user_sides = user_sides,
            .item_sides = item_sides,
            .user_biases = user_biases,
            .item_biases = item_biases,
            .user_inverse_degrees = user_inverse_degrees,
            .item_inverse_degrees = item_inverse_degrees};
  }

  double pass(InstructionSet set) { return mf_sgd(block(), tables(), parameters, set); }

  MfModel model() const {
    return {.rank = parameters.rank,
            .user_rows = user_rows.span(),
            .item_rows = item_rows.span(),
            .user_biases = user_biases,
            .item_biases = item_biases,
            .shift = user_biases.empty() ? 0 : parameters.mean};
  }
};

void start_rows(Problem& problem, Rng& rng) {
  const std::uint32_t rank = problem.parameters.rank;
  const std::size_t stride = mf_stride(rank);
  std::vector<float> uniforms(rank);
  const auto start = [&](std::span<float> rows, MfRole role) {
    for (std::size_t i = 0; i < rows.size(); i += stride) {
      for (float& u : uniforms) u = rng.uniform_float();
      start_row(rows.subspan(i, stride), role, {.rank = rank, .product = 2}, uniforms);
    }
  };
  start(problem.user_rows.span(), MfRole::user);
  start(problem.item_rows.span(), MfRole::item);
  refresh_norms(problem.item_rows.span(), rank, problem.item_sides);
}

struct Sizes {
  std::uint32_t users = 20;
  std::uint32_t items = 40;
};

// User u rates u + 1 items, so that batches of every size occur.
std::vector<MfRating> staircase(const Sizes& sizes, Rng& rng) {
  std::vector<MfRating> ratings;
  for (std::uint32_t u = 0; u < sizes.users; ++u) {
    for (std::uint32_t j = 0; j <= u; ++j) {
      const std::uint32_t item = (u * 7 + j * 3) % sizes.items;
      ratings.push_back({.user = u, .item = item, .rating = 1 + 3 * rng.uniform_float()});
    }
  }
  return ratings;
}

Problem make_problem(const std::vector<MfRating>& ratings, const Sizes& sizes, std::uint32_t rank,
                     Kind kind) {
  Rng rng({.seed = rank});
  Problem problem;
  const std::vector<std::uint32_t> starts = {0, sizes.items};
  problem.layout = build_layout(ratings, {.users = sizes.users, .item_starts = starts},
                                [](std::uint64_t i) { return mix64(i); });
  problem.user_rows = AlignedVector<float>(sizes.users * mf_stride(rank));
  problem.item_rows = AlignedVector<float>(sizes.items * mf_stride(rank));
  problem.user_sides.assign(sizes.users, {1, 1});
  problem.item_sides.assign(sizes.items, {1, 0, 1, 0});
  if (kind.biases) {
    problem.user_biases.assign(sizes.users, {0.25F, 1});
    problem.item_biases.assign(sizes.items, {-0.5F, 1});
  }
  if (kind.plain) {
    for (std::uint32_t u = 0; u < sizes.users; ++u) {
      problem.user_inverse_degrees.push_back(1.0F / static_cast<float>(u + 1));
    }
    for (std::uint32_t i = 0; i < sizes.items; ++i) {
      problem.item_inverse_degrees.push_back(1.0F / static_cast<float>(i % 9 + 1));
    }
  }
  problem.parameters = {
      .rank = rank, .rate = 0.1F, .lambda = 0.07F, .lambda_bias = 0.2F, .mean = 0.6F};
  start_rows(problem, rng);
  return problem;
}

Problem staircase_problem(std::uint32_t rank, Kind kind = {}) {
  Rng rng({.seed = 1000 + rank});
  const Sizes sizes;
  return make_problem(staircase(sizes, rng), sizes, rank, kind);
}

// The update of mf_sgd.h in double, one rating and one coordinate after the other.
class Reference {
 public:
  explicit Reference(const Problem& problem)
      : problem_(problem),
        user_rows(problem.user_rows.begin(), problem.user_rows.end()),
        item_rows(problem.item_rows.begin(), problem.item_rows.end()) {
    for (const MfUserSide& s : problem.user_sides) user_sums.push_back({s.sum_slow, s.sum_fast});
    for (const MfItemSide& s : problem.item_sides) item_sums.push_back({s.sum_slow, s.sum_fast});
    for (const MfBias& b : problem.user_biases) user_biases.push_back({b.value, b.sum});
    for (const MfBias& b : problem.item_biases) item_biases.push_back({b.value, b.sum});
  }

  void pass() {
    const MfBlock block = problem_.block();
    std::uint32_t begin = 0;
    for (const MfRun& run : block.runs) {
      while (begin < run.end) {
        const std::uint32_t size = std::min(8U, run.end - begin);
        batch(run.user, block.items.subspan(begin, size), block.ratings.subspan(begin, size));
        begin += size;
      }
    }
  }

  struct Sums {
    double slow, fast;
  };
  struct Bias {
    double value, sum;
  };

 private:
  const Problem& problem_;

  std::size_t stride() const { return mf_stride(problem_.parameters.rank); }

  double error(std::uint32_t user, std::uint32_t item, float rating) const {
    double guess = 0;
    for (std::size_t k = 0; k < stride(); ++k) {
      guess += user_rows[user * stride() + k] * item_rows[item * stride() + k];
    }
    if (!user_biases.empty()) {
      guess += static_cast<double>(problem_.parameters.mean) + user_biases[user].value +
               item_biases[item].value;
    }
    return static_cast<double>(rating) - guess;
  }

  double user_share(std::uint32_t user) const {
    return problem_.user_inverse_degrees.empty() ? 1.0 : problem_.user_inverse_degrees[user];
  }
  double item_share(std::uint32_t item) const {
    return problem_.item_inverse_degrees.empty() ? 1.0 : problem_.item_inverse_degrees[item];
  }

  void batch(std::uint32_t user, std::span<const std::uint16_t> items,
             std::span<const float> ratings) {
    std::vector<double> errors;
    for (std::size_t j = 0; j < items.size(); ++j) {
      errors.push_back(error(user, items[j], ratings[j]));
      loss += errors[j] * errors[j];
    }
    const std::size_t rank = problem_.parameters.rank;
    const std::size_t slow = std::min<std::size_t>(rank, mf_slow_count);
    step(user, items, errors, 0, slow);
    if (rank > slow) step(user, items, errors, slow, rank);
    if (!user_biases.empty()) step_biases(user, items, errors);
  }

  // One part of the rows: coordinates [first, end).
  void step(std::uint32_t user, std::span<const std::uint16_t> items,
            const std::vector<double>& errors, std::size_t first, std::size_t end) {
    const MfParameters& given = problem_.parameters;
    const double lambda = static_cast<double>(given.lambda), rate = static_cast<double>(given.rate);
    const double count = static_cast<double>(end - first);
    const auto sum_of = [&](Sums& sums) -> double& { return first == 0 ? sums.slow : sums.fast; };
    double* p = &user_rows[user * stride()];
    const std::vector<double> old_p(p, p + end);
    std::vector<double> slope(end, 0);
    double squares = 0;
    for (std::size_t j = 0; j < items.size(); ++j) {
      double* q = &item_rows[items[j] * stride()];
      double& sum = sum_of(item_sums[items[j]]);
      const double item_step = rate / std::sqrt(sum);
      for (std::size_t k = first; k < end; ++k) {
        const double user_slope = errors[j] * q[k] - lambda * user_share(user) * old_p[k];
        const double item_slope = errors[j] * old_p[k] - lambda * item_share(items[j]) * q[k];
        slope[k] += user_slope;
        squares += user_slope * user_slope;
        sum += item_slope * item_slope / count;
        q[k] += item_step * item_slope;
      }
    }
    double& sum = sum_of(user_sums[user]);
    sum += squares / count;
    for (std::size_t k = first; k < end; ++k) p[k] += rate / std::sqrt(sum) * slope[k];
  }

  void step_biases(std::uint32_t user, std::span<const std::uint16_t> items,
                   const std::vector<double>& errors) {
    const double lambda = static_cast<double>(problem_.parameters.lambda_bias);
    const double rate = static_cast<double>(problem_.parameters.rate);
    Bias& own = user_biases[user];
    double total = 0;
    for (std::size_t j = 0; j < items.size(); ++j) {
      Bias& other = item_biases[items[j]];
      const double slope = errors[j] - lambda * item_share(items[j]) * other.value;
      other.value += rate / std::sqrt(other.sum) * slope;
      other.sum += slope * slope;
      const double user_slope = errors[j] - lambda * user_share(user) * own.value;
      own.sum += user_slope * user_slope;
      total += user_slope;
    }
    own.value += rate / std::sqrt(own.sum) * total;
  }

 public:
  std::vector<double> user_rows, item_rows;
  std::vector<Sums> user_sums, item_sums;
  std::vector<Bias> user_biases, item_biases;
  double loss = 0;
};

// Calls body(rank, kind, set) for everything this processor can run.
template <class Body>
void for_everything(Body body) {
  for (std::uint32_t rank : every_rank) {
    for (Kind kind : every_kind) {
      for (InstructionSet set : instruction_sets()) {
        SCOPED_TRACE(
            text("rank {}, biases {}, plain {}, {}", rank, kind.biases, kind.plain, name_of(set)));
        body(rank, kind, set);
      }
    }
  }
}

// AVX-512 takes inverse roots with a relative error of 2^-14, and a coordinate is the sum of its
// steps; the others round only.
double tolerance(InstructionSet set) { return set == InstructionSet::avx512 ? 1e-4 : 1e-5; }

void expect_near(double value, double expected, double relative) {
  EXPECT_NEAR(value, expected, relative * std::max(1.0, std::abs(expected)));
}

TEST(MfSgd, MatchesTheScalarReference) {
  for_everything([](std::uint32_t rank, Kind kind, InstructionSet set) {
    Problem problem = staircase_problem(rank, kind);
    Reference reference(problem);
    reference.pass();
    const double loss = problem.pass(set);
    const double close = tolerance(set);
    expect_near(loss, reference.loss, close);
    for (std::size_t i = 0; i < problem.user_rows.size(); ++i) {
      expect_near(problem.user_rows[i], reference.user_rows[i], close);
    }
    for (std::size_t i = 0; i < problem.item_rows.size(); ++i) {
      expect_near(problem.item_rows[i], reference.item_rows[i], close);
    }
    for (std::size_t u = 0; u < problem.user_sides.size(); ++u) {
      expect_near(problem.user_sides[u].sum_slow, reference.user_sums[u].slow, close);
      expect_near(problem.user_sides[u].sum_fast, reference.user_sums[u].fast, close);
    }
    for (std::size_t i = 0; i < problem.item_sides.size(); ++i) {
      expect_near(problem.item_sides[i].sum_slow, reference.item_sums[i].slow, close);
      expect_near(problem.item_sides[i].sum_fast, reference.item_sums[i].fast, close);
    }
    for (std::size_t u = 0; u < problem.user_biases.size(); ++u) {
      expect_near(problem.user_biases[u].value, reference.user_biases[u].value, close);
      expect_near(problem.user_biases[u].sum, reference.user_biases[u].sum, close);
    }
    for (std::size_t i = 0; i < problem.item_biases.size(); ++i) {
      expect_near(problem.item_biases[i].value, reference.item_biases[i].value, close);
      expect_near(problem.item_biases[i].sum, reference.item_biases[i].sum, close);
    }
  });
}

TEST(MfSgd, LongRowsMatchTheScalarReference) {
  for (InstructionSet set : instruction_sets()) {
    Problem problem = staircase_problem(mf_rank_max);
    Reference reference(problem);
    reference.pass();
    expect_near(problem.pass(set), reference.loss, tolerance(set));
    for (std::size_t i = 0; i < problem.item_rows.size(); ++i) {
      expect_near(problem.item_rows[i], reference.item_rows[i], tolerance(set));
    }
  }
}

TEST(MfSgd, PaddedCoordinatesStayZero) {
  for_everything([](std::uint32_t rank, Kind kind, InstructionSet set) {
    Problem problem = staircase_problem(rank, kind);
    for (int pass = 0; pass < 3; ++pass) problem.pass(set);
    const std::size_t stride = mf_stride(rank);
    const auto expect_zero = [&](const AlignedVector<float>& rows) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i % stride >= rank) {
          EXPECT_EQ(rows[i], 0);
        }
      }
    };
    expect_zero(problem.user_rows);
    expect_zero(problem.item_rows);
  });
}

TEST(MfSgd, AnEmptyFastPartKeepsItsSum) {
  for (InstructionSet set : instruction_sets()) {
    Problem problem = staircase_problem(8);
    problem.pass(set);
    for (const MfUserSide& side : problem.user_sides) EXPECT_EQ(side.sum_fast, 1);
    for (const MfItemSide& side : problem.item_sides) EXPECT_EQ(side.sum_fast, 1);
  }
}

TEST(MfSgd, SameInputGivesSameBits) {
  for_everything([](std::uint32_t rank, Kind kind, InstructionSet set) {
    Problem first = staircase_problem(rank, kind);
    Problem second = staircase_problem(rank, kind);
    for (int pass = 0; pass < 2; ++pass) {
      const double loss_first = first.pass(set), loss_second = second.pass(set);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(loss_first),
                std::bit_cast<std::uint64_t>(loss_second));
    }
    EXPECT_TRUE(std::ranges::equal(first.user_rows.span(), second.user_rows.span()));
    EXPECT_TRUE(std::ranges::equal(first.item_rows.span(), second.item_rows.span()));
  });
}

TEST(MfSgd, CachedNormsFollowTheRows) {
  for_everything([](std::uint32_t rank, Kind kind, InstructionSet set) {
    Problem problem = staircase_problem(rank, kind);
    problem.pass(set);
    std::vector<MfItemSide> fresh = problem.item_sides;
    refresh_norms(problem.item_rows.span(), rank, fresh);
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      expect_near(problem.item_sides[i].norm_slow, fresh[i].norm_slow, 1e-5);
      expect_near(problem.item_sides[i].norm_fast, fresh[i].norm_fast, 1e-5);
    }
  });
}

TEST(MfSgd, AtRateZeroNothingMovesAndTheLossIsThatOfTheModel) {
  for_everything([](std::uint32_t rank, Kind kind, InstructionSet set) {
    Problem problem = staircase_problem(rank, kind);
    problem.parameters.rate = 0;
    const AlignedVector<float> before = problem.item_rows.copy();
    const double loss = problem.pass(set);
    expect_near(loss, mf_errors(problem.block(), problem.model(), set).squared, 1e-5);
    EXPECT_TRUE(std::ranges::equal(before.span(), problem.item_rows.span()));
  });
}

TEST(MfSgd, PlainL2OfRowsRatedOnceIsL2ByDegree) {
  for (InstructionSet set : instruction_sets()) {
    Problem plain = staircase_problem(20, {.biases = true, .plain = true});
    std::ranges::fill(plain.user_inverse_degrees, 1.0F);
    std::ranges::fill(plain.item_inverse_degrees, 1.0F);
    Problem by_degree = staircase_problem(20, {.biases = true, .plain = false});
    plain.pass(set);
    by_degree.pass(set);
    EXPECT_TRUE(std::ranges::equal(plain.user_rows.span(), by_degree.user_rows.span()));
    EXPECT_TRUE(std::ranges::equal(plain.item_rows.span(), by_degree.item_rows.span()));
  }
}

TEST(MfSgd, DivergenceIsNotACrash) {
  for_everything([](std::uint32_t rank, Kind kind, InstructionSet set) {
    Problem problem = staircase_problem(rank, kind);
    problem.parameters.rate = 1e20F;
    for (int pass = 0; pass < 4; ++pass) problem.pass(set);
    EXPECT_FALSE(std::isfinite(problem.pass(set)));
  });
}

TEST(MfSgd, AnEmptyBlockChangesNothing) {
  for (InstructionSet set : instruction_sets()) {
    Problem problem = staircase_problem(16);
    EXPECT_EQ(mf_sgd({}, problem.tables(), problem.parameters, set), 0);
  }
}

// Ratings of a planted model of rank 3, with biases.
std::vector<MfRating> planted(const Sizes& sizes, Rng& rng) {
  std::vector<float> users(sizes.users * 4), items(sizes.items * 4);
  for (float& x : users) x = rng.uniform_float();
  for (float& x : items) x = rng.uniform_float();
  std::vector<MfRating> ratings;
  for (std::uint32_t u = 0; u < sizes.users; ++u) {
    for (std::uint32_t i = 0; i < sizes.items; ++i) {
      float rating = 1 + users[u * 4 + 3] + items[i * 4 + 3];
      for (std::size_t k = 0; k < 3; ++k) rating += users[u * 4 + k] * items[i * 4 + k];
      if (rng.below(2) == 0) ratings.push_back({.user = u, .item = i, .rating = rating});
    }
  }
  return ratings;
}

TEST(MfSgd, EpochsConvergeOnALowRankProblem) {
  const Sizes sizes = {.users = 80, .items = 60};
  Rng rng({.seed = 5});
  const std::vector<MfRating> ratings = planted(sizes, rng);
  for (InstructionSet set : instruction_sets()) {
    for (Kind kind : every_kind) {
      SCOPED_TRACE(text("{}, biases {}, plain {}", name_of(set), kind.biases, kind.plain));
      Problem problem = make_problem(ratings, sizes, 10, kind);
      problem.parameters.lambda = problem.parameters.lambda_bias = 1e-4F;
      double loss = 0;
      for (int epoch = 0; epoch < 60; ++epoch) {
        refresh_norms(problem.item_rows.span(), 10, problem.item_sides);
        loss = problem.pass(set);
      }
      EXPECT_LT(std::sqrt(loss / static_cast<double>(ratings.size())), 0.05);
    }
  }
}

TEST(MfSgd, HeavierL2MakesShorterRows) {
  for (Kind kind : every_kind) {
    double norm[2] = {0, 0};
    for (int heavy = 0; heavy < 2; ++heavy) {
      Problem problem = staircase_problem(32, kind);
      problem.parameters.lambda = heavy == 1 ? 0.5F : 0.01F;
      for (int pass = 0; pass < 10; ++pass) problem.pass(best_instruction_set());
      for (float x : problem.item_rows) norm[heavy] += static_cast<double>(x * x);
    }
    EXPECT_LT(norm[1], norm[0]);
  }
}

TEST(MfSgd, StartingRowsMultiplyToTheChosenProductOnAverage) {
  for (std::uint32_t rank : every_rank) {
    for (float product : {0.0F, 2.0F, -1.0F}) {
      SCOPED_TRACE(text("rank {}, product {}", rank, product));
      Rng rng({.seed = rank});
      std::vector<float> p(mf_stride(rank)), q(mf_stride(rank)), uniforms(rank);
      double total = 0;
      constexpr int pairs = 4000;
      for (int n = 0; n < pairs; ++n) {
        for (float& u : uniforms) u = rng.uniform_float();
        start_row(p, MfRole::user, {.rank = rank, .product = product}, uniforms);
        for (float& u : uniforms) u = rng.uniform_float();
        start_row(q, MfRole::item, {.rank = rank, .product = product}, uniforms);
        for (std::size_t k = 0; k < p.size(); ++k) total += static_cast<double>(p[k] * q[k]);
      }
      EXPECT_NEAR(total / pairs, product, 0.05);
    }
  }
}

TEST(MfSgdDeathTest, TablesOfTheWrongSizeAreABug) {
  Problem problem = staircase_problem(16);
  MfTables tables = problem.tables();
  tables.user_rows = tables.user_rows.first(16);
  EXPECT_DEATH(mf_sgd(problem.block(), tables, problem.parameters), "16 floats for 20 users");
}

TEST(MfSgdDeathTest, RankZeroIsABug) {
  Problem problem = staircase_problem(16);
  problem.parameters.rank = 0;
  EXPECT_DEATH(problem.pass(best_instruction_set()), "rank 0");
}

}  // namespace
}  // namespace castor::kernels

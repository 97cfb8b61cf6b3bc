#include "kernels/mf_predict.h"

#include <gtest/gtest.h>
#include <cmath>
#include <vector>

#include "core/aligned.h"
#include "core/rng.h"
#include "kernels/mf_sgd.h"

namespace castor::kernels {
namespace {

constexpr std::uint32_t every_rank[] = {1, 3, 8, 9, 16, 17, 32, 64, 100, 128, 200, 2048};
constexpr std::uint32_t user_count = 7;
constexpr std::uint32_t item_count = 150;

struct Fixture {
  AlignedVector<float> user_rows, item_rows;
  std::vector<MfBias> user_biases, item_biases;
  std::vector<MfRating> ratings;
  MfModel model;
};

void fill(AlignedVector<float>& rows, std::uint32_t rank, Rng& rng) {
  const std::size_t stride = mf_stride(rank);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % stride < rank) rows[i] = rng.uniform_float() - 0.5F;
  }
}

// Row 0 of the users and row 1 of the items are 0: never trained.
Fixture make_fixture(std::uint32_t rank, bool biases) {
  Rng rng({.seed = rank});
  const std::size_t stride = mf_stride(rank);
  Fixture f;
  f.user_rows = AlignedVector<float>(user_count * stride);
  f.item_rows = AlignedVector<float>(item_count * stride);
  fill(f.user_rows, rank, rng);
  fill(f.item_rows, rank, rng);
  for (std::size_t k = 0; k < stride; ++k) f.user_rows[k] = f.item_rows[stride + k] = 0;
  for (std::uint32_t u = 0; biases && u < user_count; ++u) {
    f.user_biases.push_back({rng.uniform_float(), 1});
  }
  for (std::uint32_t i = 0; biases && i < item_count; ++i) {
    f.item_biases.push_back({rng.uniform_float(), 1});
  }
  for (std::uint32_t n = 0; n < 500; ++n) {
    f.ratings.push_back({.user = static_cast<std::uint32_t>(rng.below(user_count)),
                         .item = static_cast<std::uint32_t>(rng.below(item_count)),
                         .rating = rng.uniform_float()});
  }
  f.model = {.rank = rank,
             .user_rows = f.user_rows.span(),
             .item_rows = f.item_rows.span(),
             .user_biases = f.user_biases,
             .item_biases = f.item_biases,
             .shift = 0.125F,
             .scale = 1.5F,
             .absent = 0.75F,
             .low = -0.25F,
             .high = 1.25F};
  return f;
}

double predict_reference(const MfModel& model, std::uint32_t user, std::uint32_t item) {
  const std::size_t stride = mf_stride(model.rank);
  double product = 0;
  for (std::size_t k = 0; k < stride; ++k) {
    product += static_cast<double>(model.user_rows[user * stride + k]) *
               static_cast<double>(model.item_rows[item * stride + k]);
  }
  if (user == 0 || item == 1) product = static_cast<double>(model.absent);
  if (!model.user_biases.empty()) {
    product += static_cast<double>(model.user_biases[user].value) +
               static_cast<double>(model.item_biases[item].value);
  }
  const double value =
      static_cast<double>(model.shift) + static_cast<double>(model.scale) * product;
  return std::min(std::max(value, static_cast<double>(model.low)), static_cast<double>(model.high));
}

MfErrors errors_reference(const Fixture& f) {
  MfErrors total = {0, 0};
  for (const MfRating& r : f.ratings) {
    const double error = static_cast<double>(r.rating) - predict_reference(f.model, r.user, r.item);
    total.squared += error * error;
    total.absolute += std::abs(error);
  }
  return total;
}

// Calls body(fixture, set) for everything this processor can run.
template <class Body>
void for_everything(Body body) {
  for (std::uint32_t rank : every_rank) {
    for (bool biases : {false, true}) {
      for (InstructionSet set : instruction_sets()) {
        SCOPED_TRACE(text("rank {}, biases {}, {}", rank, biases, name_of(set)));
        const Fixture fixture = make_fixture(rank, biases);
        body(fixture, set);
      }
    }
  }
}

TEST(MfPredict, ErrorsOfTripletsMatchTheObviousLoop) {
  for_everything([](const Fixture& f, InstructionSet set) {
    const MfErrors expected = errors_reference(f);
    const MfErrors found = mf_errors(f.ratings, f.model, set);
    EXPECT_NEAR(found.squared, expected.squared, 1e-4 * expected.squared);
    EXPECT_NEAR(found.absolute, expected.absolute, 1e-4 * expected.absolute);
  });
}

TEST(MfPredict, ErrorsOfABlockAreThoseOfItsTriplets) {
  const std::vector<std::uint32_t> starts = {0, item_count};
  for_everything([&](const Fixture& f, InstructionSet set) {
    const MfLayout layout =
        build_layout(f.ratings, {.users = user_count, .item_starts = starts}, {});
    const MfErrors expected = mf_errors(f.ratings, f.model, set);
    const MfErrors found = mf_errors(layout.block(0), f.model, set);
    EXPECT_NEAR(found.squared, expected.squared, 1e-6 * expected.squared);
    EXPECT_NEAR(found.absolute, expected.absolute, 1e-6 * expected.absolute);
  });
}

TEST(MfPredict, ScoresAndSinglePredictionsMatchTheObviousLoop) {
  for_everything([](const Fixture& f, InstructionSet set) {
    std::vector<float> scores(user_count * item_count);
    mf_scores(f.model, scores, set);
    for (std::uint32_t u = 0; u < user_count; ++u) {
      for (std::uint32_t i = 0; i < item_count; ++i) {
        const double expected = predict_reference(f.model, u, i);
        ASSERT_NEAR(scores[u * item_count + i], expected, 2e-5) << u << ' ' << i;
        ASSERT_NEAR(mf_predict(f.model, u, i), expected, 2e-5) << u << ' ' << i;
      }
    }
  });
}

TEST(MfPredict, ScoresOfOneUserDoNotDependOnTheOthers) {
  for_everything([](const Fixture& f, InstructionSet set) {
    std::vector<float> together(user_count * item_count), alone(item_count);
    mf_scores(f.model, together, set);
    const std::size_t stride = mf_stride(f.model.rank);
    MfModel one = f.model;
    one.user_rows = f.model.user_rows.subspan(3 * stride, stride);
    if (!one.user_biases.empty()) one.user_biases = one.user_biases.subspan(3, 1);
    mf_scores(one, alone, set);
    for (std::uint32_t i = 0; i < item_count; ++i) {
      ASSERT_EQ(alone[i], together[3 * item_count + i]);
    }
  });
}

TEST(MfPredict, DotMatchesTheObviousLoop) {
  for (std::size_t size : {0U, 16U, 32U, 48U, 1024U, 2048U}) {
    AlignedVector<float> a(size), b(size);
    Rng rng({.seed = size});
    double expected = 0, scale = 0;
    for (std::size_t k = 0; k < size; ++k) {
      a[k] = rng.uniform_float() - 0.5F;
      b[k] = rng.uniform_float() - 0.5F;
      const double term = static_cast<double>(a[k]) * static_cast<double>(b[k]);
      expected += term;
      scale += std::abs(term);
    }
    for (InstructionSet set : instruction_sets()) {
      EXPECT_NEAR(mf_dot(a.span(), b.span(), set), expected, 4e-7 * scale);
    }
  }
}

TEST(MfPredict, NotANumberPassesThrough) {
  Fixture f = make_fixture(16, false);
  f.user_rows[16] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(mf_predict(f.model, 1, 0)));
  EXPECT_FALSE(std::isnan(mf_predict(f.model, 2, 0)));
}

TEST(MfPredict, NoRatingsHaveNoError) {
  const Fixture f = make_fixture(16, false);
  EXPECT_EQ(mf_errors(std::span<const MfRating>(), f.model).squared, 0);
}

TEST(MfPredictDeathTest, ScoresOfTheWrongSizeAreABug) {
  const Fixture f = make_fixture(16, false);
  std::vector<float> scores(5);
  EXPECT_DEATH(mf_scores(f.model, scores), "5 scores for 7 x 150");
}

}  // namespace
}  // namespace castor::kernels

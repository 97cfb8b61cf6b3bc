#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "programs/mf_errors.h"
#include "programs/mf_fixture.h"
#include "programs/mf_solver.h"

namespace castor::programs {
namespace {

struct Options {
  MfOptions model;
  unsigned threads = 1;
  RunOptions run = {};
  const MfFactors* start = nullptr;
};

Result<MfFit> fitted(const MfInput& input, const Options& options) {
  const auto world = world::real_world();
  const Log log;
  const MfSetting setting{*world, log, options.threads, options.run, options.start};
  return fit_sgd(input, options.model, setting);
}

MfOptions small_options() {
  MfOptions options;
  options.rank = 8;
  options.clocks = 30;
  options.lambda = 0.001;
  options.decay = 1;
  return options;
}

bool same_bits(const AlignedVector<float>& a, const AlignedVector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

double train_rmse(const MfFactors& factors, const MfInput& input) {
  world::Pool pool(1);
  return errors_of(factors, input.train, input, pool).rmse();
}

TEST(MfSgd, RecoversAPlantedMatrix) {
  const MfInput input = testing::input_of(testing::planted({.density = 0.6}), {60, 40}, 4);
  Options options{small_options()};
  options.model.clocks = 150;
  const auto fit = fitted(input, options);
  ASSERT_TRUE(fit.has_value());
  EXPECT_LT(train_rmse(fit->factors, input), 0.1 * input.deviation);
}

// Suites with Threads in the name also run under the thread sanitizer.
TEST(MfSgdThreads, RotateGivesTheSameBitsForAnyNumberOfThreads) {
  const MfInput input = testing::input_of(testing::planted({.noise = 0.3}), {60, 40}, 4);
  for (const bool biases : {false, true}) {
    Options options{small_options()};
    options.model.biases = biases;
    const auto one = fitted(input, options);
    ASSERT_TRUE(one.has_value());
    for (const unsigned threads : {2U, 3U, 4U}) {
      options.threads = threads;
      const auto many = fitted(input, options);
      ASSERT_TRUE(many.has_value());
      EXPECT_TRUE(same_bits(one->factors.user_rows, many->factors.user_rows)) << threads;
      EXPECT_TRUE(same_bits(one->factors.item_rows, many->factors.item_rows)) << threads;
    }
  }
}

TEST(MfSgdThreads, GridReachesTheSameQualityAsRotate) {
  const MfInput input = testing::input_of(testing::planted({.density = 0.6}), {60, 40}, 4);
  Options options{small_options(), 2};
  options.model.clocks = 100;
  const auto rotate = fitted(input, options);
  options.model.schedule = "grid";
  const auto grid = fitted(input, options);
  ASSERT_TRUE(rotate.has_value() && grid.has_value());
  EXPECT_NEAR(train_rmse(rotate->factors, input), train_rmse(grid->factors, input), 0.1);
}

TEST(MfSgd, TheSeedChangesTheModelAndTheSameSeedDoesNot) {
  const auto ratings = testing::planted({.noise = 0.3});
  Options options{small_options()};
  const MfInput input = testing::input_of(ratings, {60, 40}, 4, 1);
  const auto a = fitted(input, options), b = fitted(input, options);
  options.model.seed = 2;
  const auto c = fitted(testing::input_of(ratings, {60, 40}, 4, 2), options);
  ASSERT_TRUE(a.has_value() && b.has_value() && c.has_value());
  EXPECT_TRUE(same_bits(a->factors.user_rows, b->factors.user_rows));
  EXPECT_FALSE(same_bits(a->factors.user_rows, c->factors.user_rows));
}

// The reported penalty and error are those of the definition in mf_options.h, by brute force. The
// error is the one seen during the pass, so a step of almost nothing makes it that of the final
// model.
TEST(MfSgd, TheObjectiveIsThatOfTheDefinition) {
  const MfInput input = testing::input_of(testing::planted({.noise = 0.3}), {60, 40}, 4);
  for (const char* l2 : {"degree", "plain"}) {
    for (const bool biases : {false, true}) {
      Options options{small_options()};
      options.model.l2 = l2;
      options.model.biases = biases;
      options.model.lambda = 0.07;
      options.model.lambda_bias = 0.03;
      options.model.clocks = 1;
      options.model.rate = 1e-7;
      const auto fit = fitted(input, options);
      ASSERT_TRUE(fit.has_value());
      const MfFactors& f = fit->factors;
      const std::size_t stride = f.user_rows.size() / 60;
      double objective = 0;
      auto penalty = [&](const Side& side, const AlignedVector<float>& rows, const auto& bias) {
        for (std::uint32_t position = 0; position < side.count(); ++position) {
          const std::uint32_t index = side.index_at[position];
          const double weight = std::string(l2) == "degree" ? side.degree[position] : 1.0;
          for (std::size_t k = 0; k < stride; ++k) {
            objective += weight * 0.07 * rows[index * stride + k] * rows[index * stride + k];
          }
          if (biases) objective += weight * 0.03 * bias[index].value * bias[index].value;
        }
      };
      penalty(input.users, f.user_rows, f.user_biases);
      penalty(input.items, f.item_rows, f.item_biases);
      const double rmse = train_rmse(f, input);
      objective += rmse * rmse * static_cast<double>(input.train.size());
      EXPECT_NEAR(fit->report.curve.back().values[0], objective, 1e-3 * objective) << l2 << biases;
    }
  }
}

TEST(MfSgd, ResumingAtAnyClockGivesTheSameBitsAsNeverStopping) {
  const MfInput input = testing::input_of(testing::planted({.noise = 0.3}), {60, 40}, 4);
  const auto files = world::real_files();
  Options options{small_options()};
  options.model.clocks = 6;
  options.model.biases = true;
  const auto whole = fitted(input, options);
  ASSERT_TRUE(whole.has_value());
  for (Clock stop_at = 1; stop_at < 6; ++stop_at) {
    const std::string folder =
        ::testing::TempDir() + "/castor-mf-resume-" + std::to_string(stop_at);
    ASSERT_TRUE(files->remove_tree(folder).has_value());
    std::atomic<bool> stop = false;
    Options part = options;
    part.run.checkpoint_folder = folder;
    part.run.stop_requested = &stop;
    part.run.on_metric = [&](const MetricPoint& point) { stop = point.clock >= stop_at; };
    const auto stopped = fitted(input, part);
    ASSERT_TRUE(stopped.has_value());
    EXPECT_EQ(stopped->report.reason, StopReason::requested);
    Options rest = options;
    rest.run.checkpoint_folder = folder;
    rest.run.resume = true;
    rest.threads = 2;
    const auto resumed = fitted(input, rest);
    ASSERT_TRUE(resumed.has_value()) << resumed.error().message();
    EXPECT_EQ(resumed->report.resumed_clock, stop_at);
    EXPECT_TRUE(same_bits(whole->factors.user_rows, resumed->factors.user_rows));
    EXPECT_TRUE(same_bits(whole->factors.item_rows, resumed->factors.item_rows));
    EXPECT_EQ(resumed->report.curve.size(), whole->report.curve.size());
    ASSERT_TRUE(files->remove_tree(folder).has_value());
  }
}

TEST(MfSgd, ACheckpointOfOtherOptionsIsRefusedByName) {
  const MfInput input = testing::input_of(testing::planted({}), {60, 40}, 4);
  const std::string folder = ::testing::TempDir() + "/castor-mf-identity";
  const auto files = world::real_files();
  ASSERT_TRUE(files->remove_tree(folder).has_value());
  std::atomic<bool> stop = true;
  Options options{small_options()};
  options.run.checkpoint_folder = folder;
  options.run.stop_requested = &stop;
  ASSERT_TRUE(fitted(input, options).has_value());
  options.run.stop_requested = nullptr;
  options.run.resume = true;
  options.model.lambda = 0.5;
  const auto resumed = fitted(input, options);
  ASSERT_FALSE(resumed.has_value());
  EXPECT_EQ(resumed.error().code(), Code::invalid);
  EXPECT_NE(resumed.error().message().find("lambda"), std::string::npos)
      << resumed.error().message();
  ASSERT_TRUE(files->remove_tree(folder).has_value());
}

TEST(MfSgd, EarlyStoppingKeepsTheModelOfTheBestValidationError) {
  std::vector<data::Rating> train, held;
  for (const data::Rating& rating : testing::planted({.density = 0.3, .noise = 1})) {
    (train.size() % 4 == 3 && held.size() * 4 < train.size() ? held : train).push_back(rating);
  }
  const MfInput input = testing::input_of(train, {60, 40}, 4, 1, {}, held);
  Options options{small_options()};
  options.model.clocks = 200;
  options.run.driving_metric = "validation_rmse";
  options.run.patience = 3;
  options.run.keep_best = true;
  const auto fit = fitted(input, options);
  ASSERT_TRUE(fit.has_value());
  EXPECT_EQ(fit->report.reason, StopReason::no_improvement);
  EXPECT_LT(fit->report.clock, 200);
  double best = 1e30;
  for (const MetricPoint& point : fit->report.curve) best = std::min(best, point.values[2]);
  world::Pool pool(1);
  EXPECT_NEAR(errors_of(fit->factors, input.validation, input, pool).rmse(), best, 1e-5);
}

TEST(MfSgd, AWarmStartBeginsWhereTheModelIs) {
  const MfInput input = testing::input_of(testing::planted({.density = 0.6}), {60, 40}, 4);
  Options options{small_options()};
  options.model.clocks = 60;
  const auto first = fitted(input, options);
  ASSERT_TRUE(first.has_value());
  options.start = &first->factors;
  options.model.clocks = 0;
  const auto again = fitted(input, options);
  ASSERT_TRUE(again.has_value());
  EXPECT_NEAR(train_rmse(again->factors, input), train_rmse(first->factors, input), 1e-5);
}

TEST(MfSgd, OddShapesTrainWithoutFault) {
  struct Shape {
    std::vector<data::Rating> ratings;
    MfCounts counts;
  };
  const std::vector<Shape> shapes = {
      {{{0, 0, 3}}, {1, 1}},                                   // one rating
      {{{0, 0, 3}, {0, 1, 4}, {0, 2, 5}}, {1, 3}},             // one user
      {{{0, 0, 3}, {1, 0, 4}, {2, 0, 5}}, {3, 1}},             // one item
      {{{0, 0, 3}, {0, 0, 4}, {0, 0, 5}, {0, 0, 5}}, {1, 1}},  // one pair, often
      {{{0, 0, 0}, {1, 1, 0}}, {2, 2}},                        // nothing but zero
      {{{0, 0, -3}, {1, 1, -5}}, {2, 2}},                      // a negative mean
  };
  for (const Shape& shape : shapes) {
    for (const bool biases : {false, true}) {
      for (const ShardId shards : {1U, 8U}) {
        const MfInput input = testing::input_of(shape.ratings, shape.counts, shards);
        Options options{small_options()};
        options.model.biases = biases;
        const auto fit = fitted(input, options);
        ASSERT_TRUE(fit.has_value());
        for (const float value : fit->factors.user_rows) EXPECT_TRUE(std::isfinite(value));
        for (const float value : fit->factors.item_rows) EXPECT_TRUE(std::isfinite(value));
      }
    }
  }
}

}  // namespace
}  // namespace castor::programs

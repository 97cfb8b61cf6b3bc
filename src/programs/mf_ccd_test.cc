// What is particular to ccd; what it has in common with als is in mf_descent_test.cc.
#include <gtest/gtest.h>

#include "programs/mf_errors.h"
#include "programs/mf_fixture.h"
#include "programs/mf_solver.h"

namespace castor::programs {
namespace {

Result<MfFit> fitted(const MfInput& input, const MfOptions& options) {
  const auto world = world::real_world();
  const Log log;
  return fit(input, options, {*world, log, 1, {}, nullptr});
}

MfOptions ccd_options() {
  MfOptions options;
  options.solver = "ccd";
  options.rank = 6;
  options.clocks = 4;
  options.lambda = 0.01;
  return options;
}

TEST(MfCcd, MoreRoundsOnACoordinateGoFurtherInAPass) {
  const MfInput input = testing::input_of(testing::planted({.noise = 0.3}), {60, 40}, 4);
  double before = 1e30;
  for (const std::int64_t inner : {1, 2, 5}) {
    MfOptions options = ccd_options();
    options.inner = inner;
    const auto fit = fitted(input, options);
    ASSERT_TRUE(fit.has_value());
    EXPECT_LT(fit->report.curve.back().values[0], before) << inner;
    before = fit->report.curve.back().values[0];
  }
}

// Residuals are renewed in every sweep; what they lose to rounding stays far below what is
// measured.
TEST(MfCcd, ResidualsStayThoseOfTheFactorsOverManyPasses) {
  const MfInput input = testing::input_of(testing::planted({.noise = 0.3}), {60, 40}, 4);
  MfOptions options = ccd_options();
  options.clocks = 2000;
  const auto fit = fitted(input, options);
  ASSERT_TRUE(fit.has_value());
  world::Pool pool(1);
  const double rmse = errors_of(fit->factors, input.train, input, pool).rmse();
  EXPECT_NEAR(fit->report.curve.back().values[1], rmse, 1e-4 * input.deviation);
}

TEST(MfCcd, ReachesTheMinimumThatLeastSquaresReach) {
  const MfInput input = testing::input_of(testing::planted({.noise = 0.3}), {60, 40}, 4);
  MfOptions options = ccd_options();
  options.rank = 2;
  options.lambda = 0.05;
  options.clocks = 300;
  const auto ccd = fitted(input, options);
  options.solver = "als";
  const auto als = fitted(input, options);
  ASSERT_TRUE(ccd.has_value() && als.has_value());
  const double reached = als->report.curve.back().values[0];
  EXPECT_NEAR(ccd->report.curve.back().values[0], reached, 0.01 * reached);
}

}  // namespace
}  // namespace castor::programs

// What the solvers have in common that minimise over whole rows or coordinates: als and ccd.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>

#include "job/checkpoint.h"
#include "programs/mf_errors.h"
#include "programs/mf_fixture.h"
#include "programs/mf_sides.h"
#include "programs/mf_solver.h"

namespace castor::programs {
namespace {

// Asks to stop at the n-th question for the time.
class StoppingWorld final : public world::World {
 public:
  explicit StoppingWorld(int stop_at) : left_(stop_at), real_(world::real_world()) {}
  const std::atomic<bool>& stop() const { return stop_; }

  Instant now() override {
    if (--left_ == 0) stop_ = true;
    return real_->now();
  }
  Duration cpu_time() override { return real_->cpu_time(); }
  world::Files& files() override { return real_->files(); }
  world::Timers& timers() override { return real_->timers(); }
  void wake() override { real_->wake(); }
  void run_until(Instant until) override { real_->run_until(until); }

 private:
  std::atomic<int> left_;
  std::atomic<bool> stop_ = false;
  std::unique_ptr<world::World> real_;
};

struct Setting {
  unsigned threads = 1;
  RunOptions run = {};
  const MfFactors* start = nullptr;
};

Result<MfFit> fitted(const MfInput& input, const MfOptions& options, const Setting& setting = {}) {
  const auto world = world::real_world();
  const Log log;
  return fit(input, options, {*world, log, setting.threads, setting.run, setting.start});
}

struct Kind {
  const char* name;
  const char* solver;
  bool implicit = false;
  std::int64_t inner = 1;
};

class MfDescent : public ::testing::TestWithParam<Kind> {
 protected:
  static MfOptions options_of(const Kind& kind) {
    MfOptions options;
    options.solver = kind.solver;
    options.implicit = kind.implicit;
    options.confidence = 2;
    options.inner = kind.inner;
    options.rank = 5;
    options.clocks = 8;
    options.lambda = 0.05;
    return options;
  }
  MfOptions options() const { return options_of(GetParam()); }
};
class MfDescentThreads : public MfDescent {};

constexpr Kind kinds[] = {
    {"als", "als"}, {"implicit", "als", true}, {"ccd", "ccd"}, {"ccd_inner", "ccd", false, 3}};

std::string name_of_kind(const ::testing::TestParamInfo<Kind>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Every, MfDescent, ::testing::ValuesIn(kinds), name_of_kind);
INSTANTIATE_TEST_SUITE_P(Every, MfDescentThreads, ::testing::ValuesIn(kinds), name_of_kind);

bool same_bits(const MfFactors& a, const MfFactors& b) {
  auto same = [](const AlignedVector<float>& x, const AlignedVector<float>& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  };
  return same(a.user_rows, b.user_rows) && same(a.item_rows, b.item_rows);
}

std::vector<data::Rating> with_twins(std::vector<data::Rating> ratings) {
  const std::size_t count = ratings.size();
  for (std::size_t i = 0; i < count; i += 3) {
    ratings.push_back({ratings[i].user, ratings[i].item, ratings[i].value + 1});
  }
  return ratings;
}

struct Shape {
  const char* name;
  std::vector<data::Rating> ratings;
  MfCounts counts;
  ShardId shards = 4;
};

std::vector<Shape> every_shape() {
  return {{"planted", testing::planted({.noise = 0.3}), {60, 40}},
          {"one shard", testing::planted({.noise = 0.3}), {60, 40}, 1},
          {"duplicates", with_twins(testing::planted({.noise = 0.3})), {60, 40}},
          {"more items than users", testing::planted({.users = 10, .items = 90}), {10, 90}},
          {"one user", testing::planted({.users = 1, .items = 30, .density = 1}), {1, 30}},
          {"one item", testing::planted({.users = 30, .items = 1, .density = 1}), {30, 1}},
          {"one rating", {{0, 0, 4}}, {1, 1}},
          {"more shards than rows", {{0, 0, 4}, {1, 2, 3}, {2, 2, 1}}, {3, 3}, 7},
          {"all the same", {{0, 0, 4}, {0, 1, 4}, {1, 1, 4}, {2, 1, 4}}, {3, 2}},
          {"rows without ratings", {{1, 3, 4}, {1, 1, 2}, {4, 3, 1}}, {6, 5}},
          {"negative", {{0, 0, -4}, {0, 1, -3}, {1, 1, -4}, {2, 1, -1}}, {3, 2}},
          {"around zero", {{0, 0, 1}, {0, 1, -1}, {1, 1, 1}, {1, 0, -1}}, {2, 2}},
          {"huge", {{0, 0, 1e15F}, {0, 1, 3e15F}, {1, 1, 2e15F}, {2, 1, 1e15F}}, {3, 2}}};
}

// Rounding may raise it by so much.
double allowance(double objective, const MfInput& input) {
  return 2e-6 * std::abs(objective) +
         1e-5 * input.deviation * input.deviation * static_cast<double>(input.train.size());
}

TEST_P(MfDescent, TheObjectiveNeverRises) {
  for (const Shape& shape : every_shape()) {
    for (const double lambda : {0.0, 0.05, 30.0}) {
      for (const char* l2 : {"degree", "plain"}) {
        for (const std::int64_t rank : {1, 5, 40}) {
          MfOptions model = options();
          if (model.implicit && std::string(l2) != "plain") continue;
          SCOPED_TRACE(text("{}, lambda {}, {}, rank {}", shape.name, lambda, l2, rank));
          const MfInput input = testing::input_of(shape.ratings, shape.counts, shape.shards);
          model.lambda = lambda, model.l2 = l2, model.rank = rank;
          const auto fit = fitted(input, model);
          ASSERT_TRUE(fit.has_value()) << fit.error().message();
          const auto& curve = fit->report.curve;
          ASSERT_EQ(curve.size(), 8U);
          for (std::size_t i = 0; i < curve.size(); ++i) {
            EXPECT_EQ(curve[i].clock, static_cast<Clock>(i) + 1);
            ASSERT_TRUE(std::isfinite(curve[i].values[0]));
            if (i == 0) continue;
            EXPECT_LE(curve[i].values[0],
                      curve[i - 1].values[0] + allowance(curve[i - 1].values[0], input));
          }
          for (const float value : fit->factors.user_rows) ASSERT_TRUE(std::isfinite(value));
          for (const float value : fit->factors.item_rows) ASSERT_TRUE(std::isfinite(value));
        }
      }
    }
  }
}

TEST_P(MfDescentThreads, TheSameBitsForAnyNumberOfThreads) {
  const MfInput input = testing::input_of(with_twins(testing::planted({})), {60, 40}, 8);
  const auto one = fitted(input, options());
  ASSERT_TRUE(one.has_value());
  for (const unsigned threads : {2U, 4U}) {
    const auto many = fitted(input, options(), {threads});
    ASSERT_TRUE(many.has_value());
    EXPECT_TRUE(same_bits(one->factors, many->factors)) << threads;
    for (std::size_t i = 0; i < one->report.curve.size(); ++i) {
      EXPECT_EQ(one->report.curve[i].values, many->report.curve[i].values);
    }
  }
}

TEST_P(MfDescent, TheSeedChangesTheModelAndTheSameSeedDoesNot) {
  const MfInput input = testing::input_of(testing::planted({.noise = 0.3}), {60, 40}, 4);
  MfOptions model = options();
  const auto a = fitted(input, model), b = fitted(input, model);
  model.seed = 2;
  const auto c = fitted(input, model);
  ASSERT_TRUE(a.has_value() && b.has_value() && c.has_value());
  EXPECT_TRUE(same_bits(a->factors, b->factors));
  EXPECT_FALSE(same_bits(a->factors, c->factors));
}

TEST_P(MfDescent, ResumingAtAnyClockGivesTheSameBitsAsNeverStopping) {
  const MfInput input = testing::input_of(testing::planted({.noise = 0.3}), {60, 40}, 4);
  MfOptions model = options();
  model.clocks = 2;
  model.rank = 3;
  const auto whole = fitted(input, model);
  ASSERT_TRUE(whole.has_value());
  const auto files = world::real_files();
  const std::string folder =
      ::testing::TempDir() + "/castor-mf-descent-" + static_cast<const char*>(GetParam().name);
  const Clock last = 2 * (std::string(GetParam().solver) == "als" ? 2 : 2 * 3 * GetParam().inner);
  std::set<Clock> stopped_at;
  for (int question = 1; question < 200 && stopped_at.count(last - 1) == 0; ++question) {
    ASSERT_TRUE(files->remove_tree(folder).has_value());
    StoppingWorld world(question);
    const Log log;
    RunOptions run;
    run.checkpoint_folder = folder;
    run.checkpoint_every = Duration::from_seconds(1e6);  // the time is asked for at each clock
    run.stop_requested = &world.stop();
    const auto stopped = fit(input, model, {world, log, 1, run, nullptr});
    ASSERT_TRUE(stopped.has_value()) << stopped.error().message();
    const auto found = job::list_checkpoints(*files, folder);
    ASSERT_TRUE(found.has_value());
    if (found->empty() || !stopped_at.insert(found->front().clock).second) continue;
    const auto resumed =
        fitted(input, model, {2, {.checkpoint_folder = folder, .resume = true}, nullptr});
    ASSERT_TRUE(resumed.has_value()) << resumed.error().message();
    EXPECT_TRUE(same_bits(whole->factors, resumed->factors)) << found->front().clock;
    EXPECT_EQ(whole->report.curve.back().values, resumed->report.curve.back().values);
  }
  for (Clock clock = 1; clock < last; ++clock) EXPECT_EQ(stopped_at.count(clock), 1U) << clock;
  ASSERT_TRUE(files->remove_tree(folder).has_value());
}

TEST_P(MfDescent, AWarmStartGoesOnFromTheModelGiven) {
  const MfInput input =
      testing::input_of(with_twins(testing::planted({.noise = 0.3})), {60, 40}, 4);
  for (const std::int64_t rank : {1, 5}) {
    MfOptions model = options();
    model.rank = rank;
    const auto first = fitted(input, model);
    ASSERT_TRUE(first.has_value());
    const double reached = first->report.curve.back().values[0];
    model.clocks = 0;
    const auto same = fitted(input, model, {1, {}, &first->factors});
    ASSERT_TRUE(same.has_value());
    EXPECT_NEAR(same->report.curve.back().values[0], reached, allowance(reached, input));
    for (std::size_t i = 0; i < first->factors.user_rows.size(); ++i) {
      EXPECT_NEAR(same->factors.user_rows[i], first->factors.user_rows[i], 1e-5);
    }
    model.clocks = 1;
    const auto next = fitted(input, model, {1, {}, &first->factors});
    ASSERT_TRUE(next.has_value());
    EXPECT_LE(next->report.curve.back().values[0], reached + allowance(reached, input));
  }
}

TEST_P(MfDescent, RowsOfZerosInAWarmStartAreStartedAfresh) {
  const MfInput input = testing::input_of(testing::planted({.noise = 0.3}), {60, 40}, 4);
  const auto first = fitted(input, options());
  ASSERT_TRUE(first.has_value());
  MfFactors partial;
  partial.rank = first->factors.rank;
  partial.user_rows = first->factors.user_rows.copy();
  partial.item_rows = first->factors.item_rows.copy();
  const std::size_t stride = partial.user_rows.size() / 60;
  for (std::size_t k = 0; k < stride; ++k)
    partial.user_rows[7 * stride + k] = partial.item_rows[9 * stride + k] = 0;
  const auto next = fitted(input, options(), {1, {}, &partial});
  ASSERT_TRUE(next.has_value());
  const double reached = first->report.curve.back().values[0];
  EXPECT_NEAR(next->report.curve.back().values[0], reached, 0.2 * reached);
  double length = 0;
  for (std::size_t k = 0; k < stride; ++k)
    length += std::abs(next->factors.item_rows[9 * stride + k]);
  EXPECT_GT(length, 0);
}

TEST_P(MfDescent, RowsWithoutRatingsAreZeroAndPaddingTooWhateverTheStart) {
  const MfInput input = testing::input_of({{1, 3, 4}, {1, 1, 2}, {4, 3, 1}}, {6, 5}, 4);
  MfOptions model = options();
  for (const std::int64_t clocks : {0, 3}) {
    model.clocks = clocks;
    const auto fit = fitted(input, model);
    ASSERT_TRUE(fit.has_value());
    const std::size_t stride = fit->factors.user_rows.size() / 6;
    for (const std::uint32_t user : {0U, 2U, 3U, 5U}) {
      for (std::size_t k = 0; k < stride; ++k)
        EXPECT_EQ(fit->factors.user_rows[user * stride + k], 0);
    }
    for (std::size_t i = 0; i < fit->factors.item_rows.size(); ++i) {
      if (i % stride >= 5 || i / stride == 0) {
        EXPECT_EQ(fit->factors.item_rows[i], 0);
      }
    }
  }
}

// ---- Explicit ratings only

class MfExplicitDescent : public MfDescent {};
INSTANTIATE_TEST_SUITE_P(Every, MfExplicitDescent, ::testing::Values(kinds[0], kinds[2], kinds[3]),
                         name_of_kind);

TEST_P(MfExplicitDescent, RecoversAPlantedMatrix) {
  const MfInput input = testing::input_of(testing::planted({.density = 0.6}), {60, 40}, 4);
  MfOptions model = options();
  model.clocks = 150;
  model.lambda = 1e-5;
  const auto fit = fitted(input, model);
  ASSERT_TRUE(fit.has_value());
  world::Pool pool(1);
  EXPECT_LT(errors_of(fit->factors, input.train, input, pool).rmse(), 0.03 * input.deviation);
}

// By brute force from the definition in mf_options.h, and the errors by mf_errors.h; test ratings
// of users and items that are unknown, or known without a training rating, among them.
TEST_P(MfExplicitDescent, MetricsAreThoseOfTheDefinition) {
  const auto ratings = testing::planted({.noise = 0.3});
  std::vector<data::Rating> train, test = {{70, 1, 2}, {1, data::IdMap::npos, 4}};
  test.front().user = data::IdMap::npos;
  for (const data::Rating& rating : ratings) {
    (rating.user == 5 || (rating.user + rating.item) % 7 == 0 ? test : train).push_back(rating);
  }
  const MfInput input = testing::input_of(train, {60, 40}, 4, 1, test, test);
  for (const char* l2 : {"auto", "degree", "plain"}) {
    MfOptions model = options();
    model.l2 = l2;
    model.lambda = 0.07;
    const auto fit = fitted(input, model);
    ASSERT_TRUE(fit.has_value());
    const MfFactors& f = fit->factors;
    const std::size_t stride = f.user_rows.size() / 60;
    double objective = 0;
    auto penalty = [&](const Side& side, const AlignedVector<float>& rows) {
      for (std::uint32_t position = 0; position < side.count(); ++position) {
        const double weight = std::string(l2) != "plain" ? side.degree[position] : 1.0;
        for (std::size_t k = 0; k < stride; ++k) {
          const double value = rows[side.index_at[position] * stride + k];
          objective += weight * 0.07 * value * value;
        }
      }
    };
    penalty(input.users, f.user_rows);
    penalty(input.items, f.item_rows);
    world::Pool pool(1);
    const double rmse = errors_of(f, input.train, input, pool).rmse();
    objective += rmse * rmse * static_cast<double>(input.train.size());
    const auto& values = fit->report.curve.back().values;
    ASSERT_EQ(values.size(), 4U);
    EXPECT_NEAR(values[0], objective, 1e-5 * objective);
    EXPECT_NEAR(values[1], rmse, 1e-5);
    EXPECT_NEAR(values[2], errors_of(f, test, pool).rmse(), 1e-5);
    EXPECT_NEAR(values[3], values[2], 1e-12);
  }
}

TEST_P(MfExplicitDescent, EarlyStoppingKeepsTheModelOfTheBestValidationError) {
  std::vector<data::Rating> train, held;
  for (const data::Rating& rating : testing::planted({.density = 0.3, .noise = 1})) {
    (train.size() % 4 == 3 && held.size() * 4 < train.size() ? held : train).push_back(rating);
  }
  const MfInput input = testing::input_of(train, {60, 40}, 4, 1, {}, held);
  MfOptions model = options();
  model.clocks = 200;
  model.lambda = 0.001;
  RunOptions run{.patience = 3, .driving_metric = "validation_rmse", .keep_best = true};
  const auto fit = fitted(input, model, {1, run, nullptr});
  ASSERT_TRUE(fit.has_value());
  EXPECT_EQ(fit->report.reason, StopReason::no_improvement);
  EXPECT_EQ(fit->report.best_clock + 3, fit->report.clock);
  world::Pool pool(1);
  const double kept = errors_of(fit->factors, input.validation, input, pool).rmse();
  for (const MetricPoint& point : fit->report.curve) EXPECT_LE(kept, point.values[2] + 1e-6);
}

TEST_P(MfExplicitDescent, UnitsOfTheRatingsDoNotMatter) {
  auto ratings = testing::planted({.noise = 0.3});
  const auto small = fitted(testing::input_of(ratings, {60, 40}, 4), options());
  for (data::Rating& rating : ratings) rating.value *= 1024;
  MfOptions model = options();
  model.lambda *= 1024;
  const auto large = fitted(testing::input_of(ratings, {60, 40}, 4), model);
  ASSERT_TRUE(small.has_value() && large.has_value());
  EXPECT_NEAR(large->report.curve.back().values[1], 1024 * small->report.curve.back().values[1],
              0.1);
}

// ---- The two sides

TEST(MfSides, PiecesHoldEveryRatingOnceOnEitherSideInOrder) {
  const auto ratings = with_twins(testing::planted({}));
  for (const bool merge : {false, true}) {
    const MfInput input = testing::input_of(ratings, {60, 40}, 7);
    world::Pool pool(2);
    const SidePieces pieces = side_pieces(input, {.scale = 2, .merge = merge}, pool);
    std::multiset<std::tuple<std::uint32_t, std::uint32_t, float>> expected, by_user, by_item;
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    double total = 0, kept = 0;
    for (const kernels::MfRating& rating : input.train.all()) {
      expected.insert({rating.user, rating.item, rating.rating / 2});
      pairs.insert({rating.user, rating.item});
      total += rating.rating / 2;
    }
    auto collect = [&](const std::vector<SidePiece>& side, auto&& put) {
      std::uint32_t row = 0;
      for (const SidePiece& piece : side) {
        for (std::uint32_t i = 0; i < piece.rows(); ++i, ++row) {
          for (std::uint64_t n = piece.begin[i]; n < piece.begin[i + 1]; ++n) {
            if (n > piece.begin[i]) {
              EXPECT_LE(piece.columns[n - 1] + (merge ? 1 : 0), piece.columns[n]);
            }
            put(row, static_cast<std::uint32_t>(piece.columns[n]), piece.values[n]);
          }
        }
      }
    };
    collect(pieces.users, [&](std::uint32_t user, std::uint32_t item, float value) {
      by_user.insert({user, item, value});
      kept += value;
    });
    collect(pieces.items, [&](std::uint32_t item, std::uint32_t user, float value) {
      by_item.insert({user, item, value});
    });
    EXPECT_EQ(by_user, by_item);
    EXPECT_EQ(by_user.size(), merge ? pairs.size() : ratings.size());
    EXPECT_NEAR(kept, total, 1e-3);
    if (!merge) {
      EXPECT_EQ(by_user, expected);
    }
  }
}

}  // namespace
}  // namespace castor::programs

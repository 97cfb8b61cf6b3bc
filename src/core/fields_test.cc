#include "core/fields.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/toml.h"

namespace castor {
namespace {

struct Options {
  bool shuffle = true;
  std::int64_t clocks = 10;
  double step = 0.1;
  std::string solver = "sgd";
  std::string data;
  std::vector<std::string> metrics = {"rmse"};
};

std::vector<Field> fields(Options& o) {
  return {{.name = "shuffle", .target = &o.shuffle, .help = "new order every clock"},
          {.name = "clocks", .target = &o.clocks, .help = "clocks", .minimum = 1, .maximum = 1000},
          {.name = "step", .target = &o.step, .help = "step", .maximum = 1, .positive = true},
          {.name = "solver", .target = &o.solver, .help = "solver", .choices = {"sgd", "als"}},
          {.name = "data", .target = &o.data, .help = "the file to read", .required = true},
          {.name = "metrics",
           .target = &o.metrics,
           .help = "what to report",
           .choices = {"rmse", "loss"}}};
}

std::string shown(Options& o) { return to_json(fields(o)).dump(); }

std::string problem_of(std::size_t field, std::string_view value) {
  Options o;
  const std::string before = shown(o);
  const Status status = assign(fields(o)[field], value);
  EXPECT_FALSE(status) << value;
  EXPECT_EQ(shown(o), before);
  if (status) return "";
  EXPECT_EQ(status.error().code(), Code::invalid);
  return status.error().message();
}

TEST(Fields, AssignsTextOfEachKind) {
  Options o;
  const auto all = fields(o);
  ASSERT_TRUE(assign(all[0], "false"));
  ASSERT_TRUE(assign(all[1], "1e2"));  // whole numbers as people write them
  ASSERT_TRUE(assign(all[2], "0.5"));
  ASSERT_TRUE(assign(all[3], "als"));
  ASSERT_TRUE(assign(all[4], "a,b"));
  ASSERT_TRUE(assign(all[5], "loss,rmse"));
  EXPECT_EQ(shown(o),
            "{\"shuffle\":false,\"clocks\":100,\"step\":0.5,\"solver\":\"als\","
            "\"data\":\"a,b\",\"metrics\":[\"loss\",\"rmse\"]}");
}

TEST(Fields, AnErrorNamesFieldValueAndWhatIsLegal) {
  EXPECT_EQ(problem_of(0, "yes"), "shuffle is 'yes': it must be true or false");
  EXPECT_EQ(problem_of(1, "0"), "clocks is '0': it must be a whole number from 1 to 1000");
  EXPECT_EQ(problem_of(2, "0"), "step is '0': it must be a number above 0, at most 1");
  EXPECT_EQ(problem_of(3, "adam"), "solver is 'adam': it must be one of sgd, als");
  EXPECT_EQ(problem_of(5, "rmse,auc"), "metrics is 'rmse,auc': it must be a list of rmse, loss");
}

TEST(Fields, RangesAreInclusiveAndHaveNoHoles) {
  Options o;
  const auto all = fields(o);
  EXPECT_TRUE(assign(all[1], "1"));
  EXPECT_TRUE(assign(all[1], "1000"));
  EXPECT_TRUE(assign(all[2], "1"));
  for (const char* bad : {"1001", "-1", "1.5", "", "7x", "nan", "1e300", "99999999999999999999"}) {
    problem_of(1, bad);
  }
  for (const char* bad : {"-0.1", "1.0001", "nan", "inf", "-inf", "", "0.1.2", "1e-999x"}) {
    problem_of(2, bad);
  }
}

TEST(Fields, ReadsBackWhatItShows) {
  Options o, p;
  o.clocks = 77, o.step = 0.3, o.solver = "als", o.shuffle = false, o.data = "d", o.metrics = {};
  ASSERT_TRUE(from_json(fields(p), to_json(fields(o)), "test"));
  EXPECT_EQ(shown(o), shown(p));
  ASSERT_TRUE(from_json(fields(p), *Json::parse(to_json(fields(o)).dump(), "test"), "test"));
  EXPECT_EQ(shown(o), shown(p));
}

TEST(Fields, TakesTomlWhereWholeNumbersStandForReals) {
  Options o;
  ASSERT_TRUE(from_json(fields(o), *parse_toml("step = 1\nclocks = 5.0", "t"), "t"));
  EXPECT_EQ(o.step, 1);
  EXPECT_EQ(o.clocks, 5);
}

TEST(Fields, AnUnknownKeySuggestsTheNearest) {
  Options o;
  const auto problem = [&](const char* toml) {
    return from_json(fields(o), *parse_toml(toml, "t"), "job.toml").error().message();
  };
  EXPECT_EQ(problem("clock = 1"), "job.toml: unknown option 'clock', did you mean 'clocks'?");
  EXPECT_EQ(problem("unrelated = 1"), "job.toml: unknown option 'unrelated'");
}

TEST(Fields, NothingChangesOnError) {
  Options o;
  const std::string before = shown(o);
  for (const char* bad :
       {"clocks = 5\nstep = 7", "shuffle = false\nsolver = 'x'", "clocks = 5\nmetrics = [1]",
        "metrics = ['loss']\nzzz = 1", "clocks = 'five'", "data = 1", "shuffle = 1", "step = true",
        "metrics = 'rmse'", "solver = ['sgd']"}) {
    EXPECT_FALSE(from_json(fields(o), *parse_toml(bad, "t"), "t")) << bad;
    EXPECT_EQ(shown(o), before) << bad;
  }
  EXPECT_FALSE(from_json(fields(o), Json(3), "t"));
}

TEST(Fields, ARequiredFieldMustBeGiven) {
  Options o;
  EXPECT_EQ(check_required(fields(o)).error().message(), "data is missing: the file to read");
  o.data = "x";
  EXPECT_TRUE(check_required(fields(o)));
}

}  // namespace
}  // namespace castor

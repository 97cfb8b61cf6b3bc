#include "cli/options.h"

#include <gtest/gtest.h>

#include "core/property.h"

namespace castor::cli {
namespace {

struct Target {
  std::int64_t rank = 32;
  double rate = 0.5;
  bool resume = false;
  std::string out;
  std::vector<std::string> data, kinds;
  std::string model;
};

Spec spec_of(Target& t, bool with_argument = false) {
  Spec spec{
      .groups = {{"All",
                  {{.name = "rank", .target = &t.rank, .help = "r", .minimum = 1, .maximum = 64},
                   {.name = "rate", .target = &t.rate, .help = "r", .positive = true},
                   {.name = "resume", .target = &t.resume, .help = "r"},
                   {.name = "out_folder", .target = &t.out, .help = "o"},
                   {.name = "data", .target = &t.data, .help = "d"},
                   {.name = "kinds", .target = &t.kinds, .help = "k", .choices = {"a", "b"}}}}}};
  if (with_argument) {
    spec.positionals = {{.name = "MODEL", .target = &t.model, .help = "m", .required = true}};
  }
  return spec;
}

using Words = std::vector<std::string>;

Status parse_into(Target& target, const Words& words, bool with_argument = false) {
  const Spec spec = spec_of(target, with_argument);
  SharedOptions shared;
  const auto files = world::real_files();
  return parse(spec, shared, words, *files);
}

std::string problem_of(const Words& words, bool with_argument = false) {
  Target target;
  const Status status = parse_into(target, words, with_argument);
  return status ? "" : status.error().message();
}

TEST(Parse, SetsValuesOfEveryKind) {
  Target t;
  ASSERT_TRUE(parse_into(t, {"--rank=8", "--rate", "1e-3", "--resume", "--out-folder", "a b"}));
  EXPECT_EQ(t.rank, 8);
  EXPECT_EQ(t.rate, 1e-3);
  EXPECT_TRUE(t.resume);
  EXPECT_EQ(t.out, "a b");
}

TEST(Parse, GivesWordsToArgumentsFirstAndThenToTheListBeforeThem) {
  Target t;
  ASSERT_TRUE(parse_into(t, {"--data", "x,1", "m", "y", "--rank", "2", "--data=z"}, true));
  EXPECT_EQ(t.model, "m");
  EXPECT_EQ(t.data, (Words{"x,1", "y", "z"}));
}

TEST(Parse, SplitsListsOfChoicesAtCommas) {
  Target t;
  ASSERT_TRUE(parse_into(t, {"--kinds", "a,b", "a"}));
  EXPECT_EQ(t.kinds, (Words{"a", "b", "a"}));
  EXPECT_EQ(problem_of({"--kinds", "a,c"}), "--kinds is 'a,c': it must be a list of a, b");
}

TEST(Parse, ValuesMayLookLikeNumbersBelowZeroButNotLikeOptions) {
  Target t;
  ASSERT_TRUE(parse_into(t, {"--out-folder", "-1"}));
  EXPECT_EQ(t.out, "-1");
  EXPECT_EQ(problem_of({"--out-folder", "--rank"}), "--out-folder needs a value: text");
  ASSERT_TRUE(parse_into(t, {"--out-folder=--rank"}));
  EXPECT_EQ(t.out, "--rank");
}

TEST(Parse, SaysWhatIsWrong) {
  EXPECT_EQ(problem_of({"--rnk", "3"}), "unknown option '--rnk', did you mean '--rank'?");
  EXPECT_EQ(problem_of({"--rank", "65"}), "--rank is '65': it must be a whole number from 1 to 64");
  EXPECT_EQ(problem_of({"--rank"}), "--rank needs a value: a whole number from 1 to 64");
  EXPECT_EQ(problem_of({"word"}), "'word' is one word too many");
  EXPECT_EQ(problem_of({}, true), "MODEL is missing: m");
  EXPECT_EQ(problem_of({"--set", "rnk=3"}), "--set: unknown option 'rnk', did you mean 'rank'?");
}

TEST(Parse, SettingsGiveWayToOptionsAndListsReplaceThem) {
  Target t;
  ASSERT_TRUE(parse_into(t, {"--rank", "3", "--set", "rank=5", "data=x", "--data", "y"}));
  EXPECT_EQ(t.rank, 3);
  EXPECT_EQ(t.data, Words{"y"});
}

TEST(Parse, NeverFailsOtherThanWithAMessage) {
  const Words pieces = {"--rank", "--rank=",  "=",          "-",  "--",  "---",
                        "--data", "--resume", "--resume=x", "8",  "",    "--kinds=a",
                        "--set",  "rank=4",   "--=",        "-h", "\xff"};
  for_seeds(500, [&](Rng& rng) {
    Words words;
    for (std::uint64_t n = rng.below(6); n > 0; --n)
      words.push_back(pieces[rng.below(pieces.size())]);
    Target target;
    const Status status = parse_into(target, words, rng.below(2) == 0);
    if (!status) {
      EXPECT_EQ(status.error().code(), Code::invalid);
      EXPECT_FALSE(status.error().message().empty());
    } else {
      EXPECT_GE(target.rank, 1);
      EXPECT_LE(target.rank, 64);
    }
  });
}

}  // namespace
}  // namespace castor::cli

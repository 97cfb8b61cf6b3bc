#include "cli/train_report.h"

#include <gtest/gtest.h>

#include "cli/help.h"

namespace castor::cli {
namespace {

TEST(ShortCount, HasThreeDigitsAndAUnit) {
  EXPECT_EQ(short_count(0), "0");
  EXPECT_EQ(short_count(999), "999");
  EXPECT_EQ(short_count(1000), "1.00 k");
  EXPECT_EQ(short_count(45'678), "45.7 k");
  EXPECT_EQ(short_count(151e6), "151 M");
  EXPECT_EQ(short_count(2.5e9), "2.50 G");
}

TEST(ShortTime, HasTheUnitsPeopleUse) {
  EXPECT_EQ(short_time(0), "0 s");
  EXPECT_EQ(short_time(0.0012), "0.0012 s");
  EXPECT_EQ(short_time(1.234), "1.23 s");
  EXPECT_EQ(short_time(42.4), "42 s");
  EXPECT_EQ(short_time(190), "3 min 10 s");
  EXPECT_EQ(short_time(7500), "2 h 05 min");
}

TEST(Counted, KnowsOneFromMany) {
  EXPECT_EQ(counted(1, "rating"), "1 rating");
  EXPECT_EQ(counted(0, "rating"), "0 ratings");
  EXPECT_EQ(counted(12345, "rating"), "12,345 ratings");
}

TEST(ShellQuoted, LeavesPlainWordsAndQuotesTheOthers) {
  EXPECT_EQ(shell_quoted("--data=a,b/c.tsv"), "--data=a,b/c.tsv");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted("$HOME;*~"), "'$HOME;*~'");
}

TEST(Wrapped, BreaksBetweenWordsAndKeepsParagraphs) {
  EXPECT_EQ(wrapped("one two three", 2, 9), "  one two\n  three\n");
  EXPECT_EQ(wrapped("a\n\nb", 0, 9), "a\n\nb\n");
  EXPECT_EQ(wrapped("longer-than-the-line", 0, 5), "longer-than-the-line\n");
  EXPECT_EQ(wrapped("", 4, 9), "");
}

TEST(TrainSummary, LeavesOutWhatThereIsNot) {
  Json done;
  done.set("event", "done").set("clock", 1).set("seconds", 0.5).set("model", "a b");
  const std::string summary = train_summary(done, "mf");
  EXPECT_EQ(summary.find("RMSE"), std::string::npos);
  EXPECT_NE(summary.find("for 1 clock in 0.50 s"), std::string::npos);
  EXPECT_NE(summary.find("castor inspect 'a b'"), std::string::npos);
}

}  // namespace
}  // namespace castor::cli

#include "core/toml.h"

#include <gtest/gtest.h>

#include <string>

namespace castor {
namespace {

TEST(Toml, ReadsEveryKindOfValue) {
  const Result<Json> read = parse_toml(
      "flag = true\nwhole = 7\nreal = 1.0\nword = 'x'\nlist = [1, 'two']\n"
      "day = 2024-05-01\nmoment = 2024-05-01T07:32:00Z\n[inner]\nkey = 0x10\n",
      "job.toml");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read->find("flag")->as_bool(), true);
  EXPECT_EQ(*read->find("whole")->as_int(), 7);
  EXPECT_EQ(*read->find("real")->as_real(), 1.0);
  EXPECT_EQ(*read->find("word")->as_string(), "x");
  EXPECT_EQ(read->find("list")->dump(), "[1,\"two\"]");
  EXPECT_EQ(*read->find("day")->as_string(), "2024-05-01");
  EXPECT_EQ(*read->find("moment")->as_string(), "2024-05-01T07:32:00Z");
  EXPECT_EQ(*read->find("inner")->find("key")->as_int(), 16);
}

TEST(Toml, AnEmptyDocumentIsAnEmptyTable) { EXPECT_EQ(parse_toml("", "job.toml")->dump(), "{}"); }

TEST(Toml, ErrorsNameFileLineAndColumn) {
  const Result<Json> read = parse_toml("a = 1\n\nb = = 2\n", "job.toml");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), Code::invalid);
  EXPECT_EQ(read.error().message().substr(0, 13), "job.toml:3:5:") << read.error().message();
}

TEST(Toml, RefusesWhatTheFormatForbids) {
  for (const char* bad :
       {"a = 1\na = 2", "a = ", "[a]\n[a]", "a = 'x", "\xff = 1", "a = 1 b = 2"}) {
    EXPECT_FALSE(parse_toml(bad, "job.toml")) << bad;
  }
  const std::string deep = "a = " + std::string(100'000, '[');
  EXPECT_FALSE(parse_toml(deep, "job.toml"));
}

}  // namespace
}  // namespace castor

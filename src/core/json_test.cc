#include "core/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "core/limits.h"
#include "core/property.h"

namespace castor {
namespace {

std::string drawn_text(Rng& rng) {
  static constexpr const char* pieces[] = {"a",  "Z9", "\"",     "\\",   "\n",
                                           "\t", "/",  "\u00e9", "\x01", "\U0001f600"};
  std::string out;
  for (std::uint64_t left = rng.below(6); left > 0; --left) out += pieces[rng.below(10)];
  return out;
}

Json drawn(Rng& rng, int depth) {
  switch (rng.below(depth > 0 ? 8 : 6)) {
    case 0: return {};
    case 1: return rng.below(2) == 0;
    case 2: return static_cast<std::int64_t>(rng.next());
    case 3: return static_cast<double>(static_cast<std::int64_t>(rng.below(100)) - 50);
    case 4: return std::ldexp(rng.normal(), static_cast<int>(rng.below(600)) - 300);
    case 5: return drawn_text(rng);
    case 6: {
      Json list{Json::Array{}};
      for (std::uint64_t left = rng.below(5); left > 0; --left) list.push(drawn(rng, depth - 1));
      return list;
    }
    default: {
      Json object{Json::Object{}};
      for (std::uint64_t left = rng.below(5); left > 0; --left) {
        object.set(drawn_text(rng), drawn(rng, depth - 1));
      }
      return object;
    }
  }
}

bool equal(const Json& a, const Json& b) {
  if (a.as_array() != nullptr && b.as_array() != nullptr) {
    const auto &x = *a.as_array(), &y = *b.as_array();
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!equal(x[i], y[i])) return false;
    }
    return true;
  }
  if (a.as_object() != nullptr && b.as_object() != nullptr) {
    const auto &x = *a.as_object(), &y = *b.as_object();
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i].first != y[i].first || !equal(x[i].second, y[i].second)) return false;
    }
    return true;
  }
  const auto same = [](const auto* x, const auto* y) {
    return (x == nullptr) == (y == nullptr) && (x == nullptr || *x == *y);
  };
  return a.is_null() == b.is_null() && a.is_array() == b.is_array() &&
         a.is_object() == b.is_object() && same(a.as_bool(), b.as_bool()) &&
         same(a.as_int(), b.as_int()) && same(a.as_real(), b.as_real()) &&
         same(a.as_string(), b.as_string());
}

Json parsed(std::string_view document) {
  Result<Json> result = Json::parse(document, "test");
  EXPECT_TRUE(result.has_value()) << document;
  return result ? std::move(result).value() : Json();
}

std::string problem_of(std::string_view document) {
  const Result<Json> result = Json::parse(document, "job.json");
  EXPECT_FALSE(result.has_value()) << document;
  if (result) return "";
  EXPECT_EQ(result.error().code(), Code::corrupt);
  return result.error().message();
}

TEST(Json, ReadsBackWhatItWrote) {
  for_seeds(300, [](Rng& rng) {
    const Json value = drawn(rng, 4);
    for (const bool pretty : {false, true}) {
      const Result<Json> back = Json::parse(value.dump(pretty), "test");
      ASSERT_TRUE(back) << back.error().message() << " in " << value.dump(pretty);
      ASSERT_TRUE(equal(value, *back)) << value.dump() << " and " << back->dump();
    }
  });
}

TEST(Json, KeepsIntegersAndRealsApart) {
  EXPECT_NE(parsed("1").as_int(), nullptr);
  EXPECT_NE(parsed("1.0").as_real(), nullptr);
  EXPECT_NE(parsed("1e3").as_real(), nullptr);
  EXPECT_EQ(Json(1).dump(), "1");
  EXPECT_EQ(Json(1.0).dump(), "1.0");
  EXPECT_EQ(Json(-0.0).dump(), "-0.0");
  EXPECT_EQ(Json(1e300).dump(), "1e+300");
  EXPECT_EQ(*parsed("9223372036854775807").as_int(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*parsed("-9223372036854775808").as_int(), std::numeric_limits<std::int64_t>::min());
}

TEST(Json, AnIntegerTooLargeBecomesARealAndNeverNegative) {
  EXPECT_EQ(*parsed("18446744073709551615").as_real(), 18446744073709551615.0);
  EXPECT_EQ(*Json(std::numeric_limits<std::uint64_t>::max()).as_real(), 18446744073709551615.0);
  EXPECT_EQ(*Json(std::uint64_t{7}).as_int(), 7);
}

TEST(Json, WritesNanAndInfinitiesAsNull) {
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
}

TEST(Json, EscapesWhatJsonDoesNotAllowInStrings) {
  EXPECT_EQ(Json(std::string("\"\\\n\t\x01\0", 6)).dump(), "\"\\\"\\\\\\n\\t\\u0001\\u0000\"");
}

TEST(Json, KeepsTheOrderOfMembersAndReplacesBySet) {
  Json object;
  object.set("z", 1).set("a", 2).set("z", 3);
  EXPECT_EQ(object.dump(), "{\"z\":3,\"a\":2}");
  EXPECT_EQ(parsed("{\"z\":1,\"a\":2}").dump(), "{\"z\":1,\"a\":2}");
}

TEST(Json, TypedAccessNamesTheKey) {
  const Json object = parsed("{\"n\": 3, \"x\": 0.5, \"s\": \"word\"}");
  EXPECT_EQ(*object.integer("n"), 3);
  EXPECT_EQ(*object.number("n"), 3.0);
  EXPECT_EQ(*object.number("x"), 0.5);
  EXPECT_EQ(*object.string("s"), "word");
  EXPECT_EQ(object.integer("x").error().message(), "'x' should be an integer");
  EXPECT_EQ(object.string("absent").error().message(), "'absent' should be a string");
  EXPECT_EQ(Json(3).number("n").error().code(), Code::corrupt);
  EXPECT_EQ(object.find("absent"), nullptr);
}

TEST(Json, ErrorsNameSourceAndPlace) {
  EXPECT_NE(problem_of("{\"a\": 1,\n  \"b\": }").find("parse error at line 2, column 8"),
            std::string::npos);
  for (const char* bad : {"", "{", "[1,]", "tru", "\"\xff\"", "1 2", "{\"a\":1,}", "nan", "01"}) {
    EXPECT_NE(problem_of(bad).find("job.json"), std::string::npos);
  }
  EXPECT_NE(problem_of("[1e999]").find("job.json: byte"), std::string::npos);
}

TEST(Json, AnErrorNeverRepeatsTheWholeDocument) {
  EXPECT_LT(problem_of("[\"" + std::string(1'000'000, 'x')).size(), 500u);
}

TEST(Json, RefusesWhatIsNestedTooDeep) {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_TRUE(Json::parse(nested(limits::json_depth_max), "test"));
  EXPECT_NE(problem_of(nested(limits::json_depth_max + 1)).find("nested more than 64"),
            std::string::npos);
  EXPECT_FALSE(Json::parse(std::string(10'000'000, '['), "test"));
  std::string objects;
  for (int i = 0; i < 100; ++i) objects += "{\"a\":";
  EXPECT_NE(problem_of(objects).find("nested more than 64"), std::string::npos);
}

TEST(Json, RefusesTwoMembersOfOneName) {
  EXPECT_EQ(problem_of("{\"a\": 1, \"b\": 2, \"a\": 3}"), "job.json: 'a' is there twice");
}

TEST(Json, AnObjectOfManyMembersIsReadInTimeThatGrowsWithItsSize) {
  std::string document = "{";
  for (int i = 0; i < 200'000; ++i) document += text("\"{}\":{},", i, i);
  document += "\"last\":0}";
  EXPECT_EQ(parsed(document).as_object()->size(), 200'001u);
}

TEST(Json, GarbageNeverCrashes) {
  for_seeds(500, [](Rng& rng) {
    std::string document = drawn(rng, 3).dump();
    for (std::uint64_t left = 1 + rng.below(4); left > 0 && !document.empty(); --left) {
      document[rng.below(document.size())] = static_cast<char>(rng.below(256));
    }
    static_cast<void>(Json::parse(document, "test").has_value());
  });
}

}  // namespace
}  // namespace castor

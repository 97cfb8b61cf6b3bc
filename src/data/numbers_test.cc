#include "data/numbers.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>

#include "core/property.h"
#include "core/text.h"
#include "data/fixture.h"

namespace castor::data {
namespace {

std::string padded(std::string_view text) {
  return std::string(text) + "\n" + std::string(readable_beyond, '7');
}

TEST(Numbers, DigitRunReadsUpToEightDigits) {
  for (const std::string digits : {"", "0", "7", "42", "007", "1234567", "12345678", "99999999"}) {
    for (const char behind : {' ', '\n', '/', ':', '\0', '\xff', '\x80', 'a'}) {
      const std::string text = digits + behind + std::string(readable_beyond, '7');
      const DigitRun run = digit_run(text.data());
      EXPECT_EQ(run.size, digits.size());
      EXPECT_EQ(run.value, digits.empty() ? 0u : static_cast<unsigned>(std::stoul(digits)));
    }
  }
  EXPECT_EQ(digit_run("1234567890123456").size, 8u);
}

TEST(Numbers, SimpleFormsAreTheNearestFloatOrLeftToTheSlowWay) {
  for_seeds(20000, [](Rng& rng) {
    std::string text = std::to_string(rng.below(rng.below(2) != 0 ? 100 : 100000000));
    if (rng.below(4) != 0)
      text += "." + std::to_string(rng.below(rng.below(2) != 0 ? 10 : 10000000));
    float expected = 0, found = -1;
    std::from_chars(text.data(), text.data() + text.size(), expected);
    const std::string line = padded(text);
    const char* end = parse_simple(line.data(), &found);
    if (end == nullptr) return;
    EXPECT_EQ(end, line.data() + text.size()) << text;
    EXPECT_EQ(found, expected) << text;
  });
}

TEST(Numbers, UsualRatingsAreSimple) {
  for (const char* text : {"1", "5", "10", "3.5", "0.5", "4.0", "3.25", "0.125", "99.75", "4."}) {
    float value = -1;
    const std::string line = padded(text);
    ASSERT_NE(parse_simple(line.data(), &value), nullptr) << text;
    EXPECT_EQ(value, std::stof(text));
  }
}

TEST(Numbers, EveryShortestFloatReadsBackEqual) {
  for_seeds(20000, [](Rng& rng) {
    const auto bits = static_cast<std::uint32_t>(rng.next());
    const auto value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) return;
    float back = 0;
    ASSERT_EQ(parse_value(shortest(value), &back), ValueKind::good) << shortest(value);
    EXPECT_EQ(back, value);
  });
}

TEST(Numbers, ValuesAreJudged) {
  const auto kind = [](std::string_view text) {
    float ignored = 0;
    return parse_value(text, &ignored);
  };
  for (const char* text :
       {"1", "-1", "+1", "1e2", "-0.0", ".5", "5.", "1e-300", "1e-999", "00012"}) {
    EXPECT_EQ(kind(text), ValueKind::good) << text;
  }
  for (const char* text : {"", "abc", "1x", "--1", "+-1", "1.2.3", "0x10", "1 2", "+", "-", ".",
                           "e5", "1,2,3", ",", "a,b"}) {
    EXPECT_EQ(kind(text), ValueKind::not_a_number) << text;
  }
  for (const char* text : {"nan", "NaN", "inf", "-inf", "Infinity", "+inf"}) {
    EXPECT_EQ(kind(text), ValueKind::not_finite) << text;
  }
  for (const char* text : {"1e39", "-1e39", "1e999"}) {
    EXPECT_EQ(kind(text), ValueKind::too_large) << text;
  }
  for (const char* text : {"3,5", "-3,5", "0,25", "3,", ",5"}) {
    EXPECT_EQ(kind(text), ValueKind::decimal_comma) << text;
  }
}

}  // namespace
}  // namespace castor::data

#include "core/text.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/property.h"

namespace castor {
namespace {

TEST(Text, FormatsEachKindOfArgument) {
  EXPECT_EQ(text("{} {} {} {} {}", true, -7, 7u, 0.5, "word"), "true -7 7 0.5 word");
  EXPECT_EQ(text("{:>5}|{:03}|{:.2f}", "ab", 7, 2.0 / 3), "   ab|007|0.67");
  EXPECT_EQ(text("{} {}", std::string("owned"), std::string_view("viewed")), "owned viewed");
  EXPECT_EQ(text("{}", std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(text("{}", std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(text("nothing to fill in"), "nothing to fill in");
}

TEST(Text, ABadPatternIsMarkedAndNeverThrows) {
  for (const char* pattern : {"{", "{} {}", "{:q}", "{5}", "}{"}) {
    const std::string made = text(pattern, 1);
    EXPECT_NE(made.find(pattern), std::string::npos) << made;
    EXPECT_NE(made.find("badly formatted"), std::string::npos) << made;
  }
}

TEST(Shortest, ReadsBackAsTheSameValue) {
  for_seeds(100, [](Rng& rng) {
    for (int i = 0; i < 100; ++i) {
      const double value = std::bit_cast<double>(rng.next());
      if (!std::isfinite(value)) continue;
      const std::string digits = shortest(value);
      double back = 0;
      std::from_chars(digits.data(), digits.data() + digits.size(), back);
      ASSERT_EQ(std::bit_cast<std::uint64_t>(back), std::bit_cast<std::uint64_t>(value)) << digits;
    }
  });
}

TEST(Shortest, IsShort) {
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(0.1f), "0.1");
  EXPECT_EQ(shortest(1.0), "1");
  EXPECT_EQ(shortest(std::nan("")), "nan");
  EXPECT_EQ(shortest(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(shortest(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Grouped, PutsACommaBeforeEveryThreeDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(Printable, ShowsWhatATerminalMustNotGet) {
  EXPECT_EQ(printable("hello"), "hello");
  EXPECT_EQ(printable(std::string_view("a\0b\n\x1b[31m\x7f", 10)), "a\\x00b\\x0a\\x1b[31m\\x7f");
  EXPECT_EQ(printable("caf\u00e9"), "caf\u00e9");
}

TEST(Printable, NeverExceedsItsLimit) {
  for_seeds(50, [](Rng& rng) {
    std::string raw(rng.below(40), '\0');
    for (char& c : raw) c = static_cast<char>(rng.below(256));
    const std::size_t limit = rng.below(40);
    const std::string shown = printable(raw, limit);
    ASSERT_LE(shown.size(), limit + 3);
    for (const char c : shown) ASSERT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f);
  });
}

TEST(Nearest, FindsATypingMistakeAndNothingFarther) {
  const std::vector<std::string> names = {"staleness", "clocks", "step"};
  EXPECT_EQ(nearest("stalenes", names), "staleness");
  EXPECT_EQ(nearest("stlaeness", names), "staleness");
  EXPECT_EQ(nearest("clock", names), "clocks");
  EXPECT_EQ(nearest("stop", names), "step");
  EXPECT_EQ(nearest("workers", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest("step", {}), "");
}

TEST(Nearest, DoesNotCompareWhatCannotBeAName) {
  EXPECT_EQ(nearest(std::string(50'000'000, 'x'), std::vector<std::string>{"staleness"}), "");
}

}  // namespace
}  // namespace castor

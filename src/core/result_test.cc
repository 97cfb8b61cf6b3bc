#include "core/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace castor {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return error(Code::invalid, "{} is odd", n);
  return n / 2;
}

Result<int> quarter(int n) {
  TRY_AS(const int once, half(n));
  TRY_AS(const int twice, half(once));
  return twice;
}

Status is_even(int n) {
  TRY(half(n));
  return {};
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_EQ(half(4).value(), 2);
  EXPECT_FALSE(half(3).has_value());
  EXPECT_EQ(half(3).error().code(), Code::invalid);
  EXPECT_EQ(half(3).error().message(), "3 is odd");
}

TEST(Result, TryReturnsTheFirstErrorUnchanged) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message(), "3 is odd");
  EXPECT_TRUE(is_even(2));
  EXPECT_EQ(is_even(5).error().message(), "5 is odd");
}

TEST(Result, CarriesWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(ResultDeathTest, ValueOfAnErrorIsABugThatSaysWhichError) {
  EXPECT_DEATH(static_cast<void>(half(3).value()), "3 is odd");
  EXPECT_DEATH(is_even(3).value(), "3 is odd");
}

TEST(Error, ContextGoesInFront) {
  const Error whole = Error(Code::io, "disk on fire").with("writing 'a'").with("checkpoint");
  EXPECT_EQ(whole.message(), "checkpoint: writing 'a': disk on fire");
  EXPECT_EQ(whole.code(), Code::io);
}

TEST(Code, EachHasItsOwnName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(Code::unsupported); ++code) {
    names.insert(name_of(static_cast<Code>(code)));
  }
  EXPECT_EQ(names.size(), 11u);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(Code, OnlyWhatMayPassByItselfIsRetryable) {
  EXPECT_TRUE(is_retryable(Code::unavailable));
  EXPECT_TRUE(is_retryable(Code::deadline));
  EXPECT_TRUE(is_retryable(Code::stale_epoch));
  EXPECT_FALSE(is_retryable(Code::invalid));
  EXPECT_FALSE(is_retryable(Code::corrupt));
  EXPECT_FALSE(is_retryable(Code::exhausted));
}

}  // namespace
}  // namespace castor

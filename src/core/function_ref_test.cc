#include "core/function_ref.h"

#include <gtest/gtest.h>

#include <memory>

namespace castor {
namespace {

int twice(FunctionRef<int(int)> f) { return f(f(1)); }

TEST(FunctionRef, CallsTheCallableItselfAndNotACopy) {
  int calls = 0;
  EXPECT_EQ(twice([&](int x) { return ++calls, x + 10; }), 21);
  EXPECT_EQ(calls, 2);
}

TEST(FunctionRef, MovesArgumentsThrough) {
  const auto take = [](std::unique_ptr<int> p) { return *p; };
  const FunctionRef<int(std::unique_ptr<int>)> f = take;
  EXPECT_EQ(f(std::make_unique<int>(4)), 4);
}

}  // namespace
}  // namespace castor

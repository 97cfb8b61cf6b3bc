#pragma once
// Property tests: for_seeds(200, [](Rng& rng) { ... }) runs a test body once per seed, with random
// numbers that depend on the seed only, and stops at the first seed that fails, saying which it was
// and how to run that one again:
//
//     castor_core_test --gtest_filter=ByteReader.NeverReadsPastItsSpan --gtest_random_seed=17
//
// With --gtest_random_seed given, every property runs that seed alone. For tests only.
//
// Thread: the test's.
#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <string>

#include "core/rng.h"
#include "core/text.h"

namespace castor {

// The words after the test program that run one seed of the present test again.
inline std::string replay_of(std::uint64_t seed) {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string name =
      test == nullptr ? "*" : text("{}.{}", test->test_suite_name(), test->name());
  return text("--gtest_filter={} --gtest_random_seed={}", name, seed);
}

// Calls body(rng), or body(rng, seed), for the seeds 1 to n.
template <class Body>
void for_seeds(std::uint64_t n, Body body) {
  const auto only = static_cast<std::uint64_t>(GTEST_FLAG_GET(random_seed));
  const std::uint64_t first = only == 0 ? 1 : only, last = only == 0 ? n : only;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const testing::ScopedTrace trace(__FILE__, __LINE__,
                                     text("seed {}; to replay: {}", seed, replay_of(seed)));
    Rng rng(StreamKey{.seed = seed});
    if constexpr (std::invocable<Body&, Rng&, std::uint64_t>) {
      body(rng, seed);
    } else {
      body(rng);
    }
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace castor

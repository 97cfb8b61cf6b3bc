#include "world/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "core/mutex.h"

namespace castor::world {
namespace {

TEST(PoolThreads, RunCoversEveryIndexExactlyOnce) {
  for (unsigned threads = 1; threads <= 4; ++threads) {
    Pool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::size_t n : {0u, 1u, 2u, 7u, 64u, 1000u}) {
      for (const std::size_t grain : {1u, 3u, 64u, 2000u}) {
        std::vector<int> times(n);  // each index is written by one thread only, or TSan says so
        pool.run(n, grain, [&](std::size_t first, std::size_t last) {
          ASSERT_LT(first, last);
          ASSERT_LE(last, n);
          ASSERT_LE(last - first, grain);
          for (std::size_t i = first; i < last; ++i) ++times[i];
        });
        ASSERT_EQ(times, std::vector<int>(n, 1)) << threads << ' ' << n << ' ' << grain;
      }
    }
  }
}

TEST(PoolThreads, RunOnAllCallsEveryThreadOnceAndIndexZeroHere) {
  for (unsigned threads = 1; threads <= 4; ++threads) {
    Pool pool(threads);
    for (int round = 0; round < 100; ++round) {
      std::vector<std::thread::id> ids(threads);
      std::vector<int> times(threads);
      pool.run_on_all([&](unsigned index) {
        ids[index] = std::this_thread::get_id();
        ++times[index];
      });
      ASSERT_EQ(times, std::vector<int>(threads, 1));
      ASSERT_EQ(ids[0], std::this_thread::get_id());
      ASSERT_EQ(std::set(ids.begin(), ids.end()).size(), threads);
    }
  }
}

TEST(PoolThreads, WhatAChunkWroteIsSeenAfterwards) {
  Pool pool(4);
  std::vector<std::uint64_t> values(1000);
  for (std::uint64_t round = 1; round <= 200; ++round) {
    pool.run(values.size(), 10, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) values[i] += i;
    });
    std::uint64_t sum = 0;
    for (const std::uint64_t value : values) sum += value;
    ASSERT_EQ(sum, round * 499'500);
  }
}

TEST(PoolThreads, APoolThatNeverRanEndsAndSoDoManyAtOnce) {
  for (int round = 0; round < 50; ++round) {
    const Pool idle(3);
    Pool busy(2);
    std::atomic<int> calls = 0;
    busy.run_on_all([&](unsigned) { ++calls; });
    ASSERT_EQ(calls, 2);
  }
}

TEST(PoolDeathTest, RunningFromInsideAChunkIsABug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Pool pool(2);
        pool.run_on_all([&](unsigned index) {
          if (index == 0) pool.run_on_all([](unsigned) {});
        });
      },
      "already running");
}

}  // namespace
}  // namespace castor::world

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <thread>
#include <vector>

#include "world/world.h"

namespace castor::world {
namespace {

TEST(RealWorld, TimersFireInOrderOfTimeThenOfSetting) {
  const auto world = real_world();
  const Instant start = world->now();
  std::vector<int> order;
  Timers& timers = world->timers();
  timers.at(start + Duration{300'000}, [&] { order.push_back(3); });
  timers.at(start + Duration{100'000}, [&] { order.push_back(1); });
  timers.at(start + Duration{300'000}, [&] { order.push_back(4); });
  timers.at(start + Duration{200'000}, [&] {
    order.push_back(2);
    timers.at(start, [&] { order.push_back(20); });  // due already
  });
  const auto cancelled = timers.at(start + Duration{250'000}, [&] { order.push_back(99); });
  timers.cancel(cancelled);
  timers.cancel(12345);
  world->run_until(start + Duration::from_seconds(600));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 20, 3, 4}));
}

TEST(RealWorld, NoTimerFiresEarlyOrPastTheEnd) {
  const auto world = real_world();
  const Instant start = world->now();
  const Instant when = start + Duration::from_ms(3);
  Instant fired{};
  world->timers().at(when, [&] { fired = world->now(); });
  world->timers().at(start + Duration::from_seconds(600), [] { FAIL(); });
  world->run_until(start + Duration::from_ms(1));
  EXPECT_EQ(fired, Instant{});
  EXPECT_GE(world->now(), start + Duration::from_ms(1));
  world->run_until(when);
  EXPECT_GE(fired, when);
}

TEST(RealWorld, ReturnsAtOnceWithoutTimers) {
  const auto world = real_world();
  world->run_until(world->now() + Duration::from_seconds(600));
}

TEST(RealWorld, TimeNeverRunsBackwards) {
  const auto world = real_world();
  Instant last = world->now();
  Duration cpu = world->cpu_time();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_GE(world->now(), last);
    ASSERT_GE(world->cpu_time(), cpu);
    last = world->now(), cpu = world->cpu_time();
  }
}

TEST(RealWorldThreads, WakeEndsTheWaitFromAnotherThread) {
  const auto world = real_world();
  world->timers().at(world->now() + Duration::from_seconds(600), [] { FAIL(); });
  for (int round = 0; round < 100; ++round) {
    const std::jthread waker([&] { world->wake(); });
    world->run_until(world->now() + Duration::from_seconds(600));
  }
}

TEST(RealWorldThreads, AWakeBeforeTheWaitIsNotLostAndManyAreOne) {
  const auto world = real_world();
  world->timers().at(world->now() + Duration::from_seconds(600), [] { FAIL(); });
  for (int i = 0; i < 100'000; ++i) world->wake();  // more than a pipe holds
  world->run_until(world->now() + Duration::from_seconds(600));
}

std::atomic<int> signals = 0;

TEST(RealWorldThreads, ASignalNeitherEndsAWaitNorMakesATimerFireEarly) {
  struct sigaction action{};
  action.sa_handler = [](int) { ++signals; };
  ::sigaction(SIGUSR1, &action, nullptr);
  const auto world = real_world();
  const pthread_t loop = ::pthread_self();
  std::atomic<bool> stop = false;
  std::jthread noise([&] {
    while (!stop) ::pthread_kill(loop, SIGUSR1), std::this_thread::yield();
  });
  const Instant when = world->now() + Duration::from_ms(20);
  Instant fired{};
  world->timers().at(when, [&] { fired = world->now(); });
  world->run_until(when);
  stop = true;
  EXPECT_GE(fired, when);
  EXPECT_GT(signals, 0);
}

}  // namespace
}  // namespace castor::world

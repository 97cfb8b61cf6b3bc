#include "world/sim/simulation.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/property.h"
#include "world/sim/sim_network.h"
#include "world/sim/sim_world.h"

namespace castor::world::sim {
namespace {

TEST(EventQueue, CallsInOrderOfTimeThenOfSetting) {
  EventQueue queue;
  std::string order;
  queue.at({20}, [&] { order += 'c'; });
  queue.at({10}, [&] {
    order += 'a';
    queue.at({5}, [&] { order += 'b'; });  // has passed: now
  });
  queue.at({20}, [&] { order += 'd'; });
  queue.run_until({15});
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(queue.now(), Instant{15});
  queue.run_until({20});
  EXPECT_EQ(order, "abcd");
  EXPECT_FALSE(queue.run_next());
}

TEST(EventQueue, ACancelledCallIsNeverMadeAndItsNumberNotReused) {
  EventQueue queue;
  int calls = 0;
  const EventQueue::Id first = queue.at({1}, [&] { ++calls; });
  queue.cancel(first);
  queue.cancel(first);
  queue.at({1}, [&] { calls += 10; });
  queue.cancel(first);
  queue.cancel(0);
  queue.cancel(~EventQueue::Id{0});
  EXPECT_EQ(queue.size(), 1u);
  queue.run_until({2});
  EXPECT_EQ(calls, 10);
}

TEST(EventQueue, AgreesWithASortedList) {
  for_seeds(50, [](Rng& rng) {
    EventQueue queue;
    std::map<EventQueue::Id, std::pair<std::int64_t, int>> waiting;  // ids grow
    std::vector<int> called, expected;
    int label = 0;
    for (int step = 0; step < 500; ++step) {
      if (rng.below(3) != 0) {
        const auto when = queue.now().ns + static_cast<std::int64_t>(rng.below(50));
        const int mine = label++;
        waiting[queue.at({when}, [&called, mine] { called.push_back(mine); })] = {when, mine};
      } else if (!waiting.empty() && rng.below(2) == 0) {
        auto at = waiting.begin();
        std::advance(at, rng.below(waiting.size()));
        queue.cancel(at->first);
        waiting.erase(at);
      } else if (!waiting.empty()) {
        auto least = waiting.begin();
        for (auto at = waiting.begin(); at != waiting.end(); ++at) {
          if (at->second.first < least->second.first) least = at;
        }
        expected.push_back(least->second.second);
        waiting.erase(least);
        ASSERT_TRUE(queue.run_next());
      }
      ASSERT_EQ(queue.size(), waiting.size());
      ASSERT_EQ(called, expected);
    }
  });
}

TEST(EventQueue, ManyCancelledTimersTakeNoRoom) {
  EventQueue queue;
  for (int i = 0; i < 200'000; ++i) queue.cancel(queue.at({1'000'000'000}, [] {}));
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_FALSE(queue.next_time());
}

TEST(Simulation, EqualRunsHaveEqualDigestsAndDifferentOnesDiffer) {
  const auto digest_of = [](std::uint64_t seed, std::uint64_t value, int draws) {
    Simulation simulation({.seed = seed});
    for (int i = 0; i < draws; ++i) simulation.rng().next();
    simulation.run_for({5});
    simulation.note("event", {value});
    return simulation.digest();
  };
  EXPECT_EQ(digest_of(1, 2, 3), digest_of(1, 2, 3));
  EXPECT_NE(digest_of(1, 2, 3), digest_of(2, 2, 3));
  EXPECT_NE(digest_of(1, 2, 3), digest_of(1, 3, 3));
  EXPECT_NE(digest_of(1, 2, 3), digest_of(1, 2, 4)) << "one draw more, nothing else";
}

TEST(Simulation, BuggifyTurnsEachSiteOnOrOffForTheRun) {
  Simulation off({.seed = 1});
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(off.buggify("site"));
  int sites_on = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Simulation simulation({.seed = seed, .buggify_sites = 0.25, .buggify_chance = 0.5});
    int fired = 0;
    for (int i = 0; i < 40; ++i) fired += simulation.buggify("site") ? 1 : 0;
    if (fired == 0) continue;
    ++sites_on;
    EXPECT_NEAR(fired, 20, 15);
  }
  EXPECT_NEAR(sites_on, 100, 40);
}

TEST(Simulation, MarksAreCounted) {
  Simulation simulation({});
  SimWorld world(simulation);
  EXPECT_EQ(simulation.marked("path"), 0u);
  world.mark("path");
  world.mark("path");
  EXPECT_EQ(simulation.marked("path"), 2u);
}

TEST(SimWorld, ATimerNeverFiresBeforeItsLocalTimeWhateverTheDrift) {
  for_seeds(100, [](Rng& rng, std::uint64_t seed) {
    Simulation simulation({.seed = seed});
    SimWorld world(simulation);
    world.set_drift_ppm(static_cast<std::int64_t>(rng.below(200'001)) - 100'000);
    for (int i = 0; i < 20; ++i) {
      const Instant when = world.now() + Duration{static_cast<std::int64_t>(rng.below(1u << 30))};
      Instant fired{};
      world.timers().at(when, [&] { fired = world.now(); });
      world.run_until(when);
      ASSERT_GE(fired, when);
      ASSERT_LE((fired - when).ns, 2);
    }
  });
}

TEST(SimWorld, ClocksDriftApart) {
  Simulation simulation({});
  SimWorld fast(simulation), slow(simulation);
  fast.set_drift_ppm(100);
  slow.set_drift_ppm(-100);
  const Instant fast_start = fast.now(), slow_start = slow.now();
  EXPECT_NE(fast_start, slow_start) << "they count from different starts";
  simulation.run_for(Duration::from_seconds(1000));
  EXPECT_EQ((fast.now() - fast_start).ns, 1'000'100'000'000);
  EXPECT_EQ((slow.now() - slow_start).ns, 999'900'000'000);
  fast.set_drift_ppm(0);
  simulation.run_for(Duration::from_seconds(1));
  EXPECT_EQ((fast.now() - fast_start).ns, 1'001'100'000'000) << "a change of drift is no jump";
}

TEST(SimWorld, RunUntilStopsAtItsTimeAtAWakeAndWithoutEvents) {
  Simulation simulation({});
  SimWorld world(simulation);
  const Instant start = world.now();
  world.run_until(start + Duration{100});
  EXPECT_EQ(world.now(), start) << "no timer is left";
  int calls = 0;
  world.timers().at(start + Duration{10}, [&] { ++calls, world.wake(); });
  world.timers().at(start + Duration{20}, [&] { ++calls; });
  world.timers().at(start + Duration{900}, [&] { ++calls; });
  world.run_until(start + Duration{100});
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(world.now(), start + Duration{10});
  world.run_until(start + Duration{100});
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(world.now(), start + Duration{100});
}

TEST(SimWorld, CpuTimeAdvancesAsTold) {
  Simulation simulation({});
  SimWorld world(simulation);
  simulation.run_for(Duration::from_seconds(5));
  EXPECT_EQ(world.cpu_time(), Duration{});
  world.spend_cpu(Duration::from_ms(7));
  EXPECT_EQ(world.cpu_time(), Duration::from_ms(7));
}

TEST(SimWorld, ACrashTakesTimersAndUnsyncedFiles) {
  Simulation simulation({});
  SimWorld world(simulation), other(simulation);
  int mine = 0, others = 0;
  world.timers().at(world.now() + Duration{10}, [&] { ++mine; });
  other.timers().at(other.now() + Duration{10}, [&] { ++others; });
  ASSERT_TRUE(write_atomically(world.files(), "kept", {}));
  world.crash();
  simulation.run_for(Duration::from_ms(1));
  EXPECT_EQ(mine, 0);
  EXPECT_EQ(others, 1);
  EXPECT_TRUE(world.files().exists("kept"));
}

// ---- The network

class Net {
 public:
  explicit Net(std::uint64_t seed = 1) : simulation({.seed = seed}), network(simulation) {
    for (WorkerId id = 0; id < 3; ++id) attach(id);
  }
  void attach(WorkerId id) {
    network.attach(id, [this, id](WorkerId from, const Datagram& datagram) {
      arrived[{from, id}].push_back(static_cast<int>(datagram.bytes.at(0)));
    });
  }
  void send(WorkerId from, WorkerId to, int value) {
    network.send(from, to, {.bytes = {static_cast<std::byte>(value)}});
  }
  std::vector<int> taken(WorkerId from, WorkerId to) {
    simulation.run_for(Duration::from_seconds(1));
    return std::exchange(arrived[{from, to}], {});
  }

  Simulation simulation;
  SimNetwork network;
  std::map<std::pair<WorkerId, WorkerId>, std::vector<int>> arrived;
};

TEST(SimNetwork, ACutIsOneWayAndHeals) {
  Net net;
  net.network.cut(0, 1);
  net.send(0, 1, 1), net.send(1, 0, 2);
  EXPECT_EQ(net.taken(0, 1), std::vector<int>{});
  EXPECT_EQ(net.taken(1, 0), std::vector<int>{2});
  net.network.heal();
  net.send(0, 1, 3);
  EXPECT_EQ(net.taken(0, 1), std::vector<int>{3});
}

TEST(SimNetwork, AnIsolatedGroupTalksToItself) {
  Net net;
  const std::vector<WorkerId> group = {0, 1};
  net.network.isolate(group);
  net.send(0, 1, 1), net.send(0, 2, 2), net.send(2, 1, 3);
  EXPECT_EQ(net.taken(0, 1), std::vector<int>{1});
  EXPECT_EQ(net.taken(0, 2), std::vector<int>{});
  EXPECT_EQ(net.taken(2, 1), std::vector<int>{});
}

TEST(SimNetwork, ACutStopsWhatIsOnItsWay) {
  Net net;
  net.send(0, 1, 1);
  net.network.cut(0, 1);
  EXPECT_EQ(net.taken(0, 1), std::vector<int>{});
}

TEST(SimNetwork, AClogDelaysAndLosesNothing) {
  Net net;
  net.network.clog(0, 1, Duration::from_ms(1500));
  net.send(0, 1, 1);
  EXPECT_EQ(net.taken(0, 1), std::vector<int>{});
  EXPECT_EQ(net.taken(0, 1), std::vector<int>{1});
}

TEST(SimNetwork, FaultsHappenAsOftenAsTold) {
  Net net;
  net.network.set_faults(0, 1, {.loss = 0.3});
  net.network.set_faults(1, 0, {.duplication = 0.3});
  for (int i = 0; i < 1000; ++i) net.send(0, 1, i % 100), net.send(1, 0, 1);
  EXPECT_NEAR(static_cast<double>(net.taken(0, 1).size()), 700, 60);
  EXPECT_NEAR(static_cast<double>(net.taken(1, 0).size()), 1300, 60);
}

TEST(SimNetwork, ADetachedWorkerNeitherHearsNorSpeaksUntilItIsBack) {
  Net net;
  net.send(0, 1, 1);
  net.network.detach(1);
  net.send(1, 0, 2);
  EXPECT_EQ(net.taken(0, 1), std::vector<int>{});
  EXPECT_EQ(net.taken(1, 0), std::vector<int>{});
  net.send(0, 1, 3);
  net.attach(1);
  EXPECT_EQ(net.taken(0, 1), std::vector<int>{3}) << "what was on its way reaches the new one";
}

}  // namespace
}  // namespace castor::world::sim

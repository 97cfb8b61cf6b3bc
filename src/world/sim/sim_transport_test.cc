#include "world/sim/sim_transport.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "core/property.h"
#include "world/transport_checker.h"

namespace castor::world::sim {
namespace {

// Two workers; what any transport must do is in transport_test.cc.
class Pair {
 public:
  Pair(std::uint64_t seed, const SimTransportOptions& options, const LinkFaults& faults = {})
      : simulation({.seed = seed}),
        a(sim_transport(a_world, network, 0, options), seed),
        b(sim_transport(b_world, network, 1, options), seed + 1) {
    network.set_faults(faults);
    EXPECT_TRUE(a.transport().connect(1));
    EXPECT_TRUE(until([this] { return a.is_up(1) && b.is_up(0); }));
  }
  bool until(const std::function<bool()>& done) {
    for (int step = 0; step < 2000; ++step) {
      a.receive(), b.receive();
      if (done()) return true;
      simulation.run_for(Duration::from_ms(10));
    }
    return false;
  }
  bool has_all() { return b.received(0, Lane::bulk) == a.sent(1, Lane::bulk); }

  Simulation simulation;
  SimNetwork network{simulation};
  SimWorld a_world{simulation}, b_world{simulation};
  CheckedWorker a, b;
};

TEST(SimTransport, ARefusalAtTheBeginningOfAFrameDropsTheLink) {
  Pair pair(1, {.by_reference = 0});
  pair.b.on_begin = [](const FrameHead&) -> Status { return error(Code::exhausted, "no room"); };
  ASSERT_TRUE(pair.a.send(1, Lane::bulk, 1000));
  ASSERT_TRUE(pair.a.send(1, Lane::bulk, 1000));
  ASSERT_TRUE(pair.until([&] { return !pair.a.is_up(1) && !pair.b.is_up(0); }));
  EXPECT_EQ(pair.b.last_loss(), Code::exhausted);
  EXPECT_EQ(pair.b.received(0, Lane::bulk), 0u);
  EXPECT_TRUE(pair.b.violations().empty());
}

TEST(SimTransport, FramesBeginAndEndApartAndLinksAreLostInBetween) {
  int halves = 0;
  for_seeds(50, [&](Rng&, std::uint64_t seed) {
    Pair pair(seed, {.by_reference = 0});
    int begun = 0, ended = 0;
    pair.b.on_begin = [&](const FrameHead&) -> Status { return ++begun, Status(); };
    pair.b.on_frame = [&](const FrameHead&) -> Status { return ++ended, Status(); };
    ASSERT_TRUE(pair.a.send(1, Lane::bulk, 10'000));
    pair.simulation.run_for({300'000});
    pair.b.receive();
    pair.network.cut(0, 1);  // also what is on its way
    ASSERT_TRUE(pair.until([&] { return !pair.b.is_up(0); }));
    EXPECT_EQ(pair.b.losses(0), 1u);
    EXPECT_TRUE(pair.b.violations().empty());
    halves += begun - ended;
  });
  EXPECT_GT(halves, 0);
}

TEST(SimTransport, PayloadsGoByReferenceAsOftenAsTold) {
  for (const double share : {0.0, 1.0}) {
    Pair pair(1, {.by_reference = share});
    int begun = 0;
    pair.b.on_begin = [&](const FrameHead&) -> Status { return ++begun, Status(); };
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(pair.a.send(1, Lane::bulk, 100));
    ASSERT_TRUE(pair.until([&] { return pair.has_all(); }));
    EXPECT_EQ(begun, share == 0 ? 20 : 0);
  }
}

TEST(SimTransport, FaultsTakeEveryRarePath) {
  std::uint64_t again = 0, repeated = 0, early = 0;
  for_seeds(20, [&](Rng&, std::uint64_t seed) {
    Pair pair(seed, {}, {.loss = 0.2, .duplication = 0.2, .reordering = 0.2});
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(pair.a.send(1, Lane::bulk, 100));
    ASSERT_TRUE(pair.until([&] { return pair.has_all(); }));
    EXPECT_EQ(pair.a.losses(1) + pair.b.losses(0), 0u);
    EXPECT_TRUE(pair.b.violations().empty());
    again += pair.simulation.marked("sim_transport.sent_again");
    repeated += pair.simulation.marked("sim_transport.repeated_piece");
    early += pair.simulation.marked("sim_transport.early_piece");
  });
  EXPECT_GT(again, 0u);
  EXPECT_GT(repeated, 0u);
  EXPECT_GT(early, 0u);
}

TEST(SimTransport, AOneWayCutIsNoticedByBothEnds) {
  Pair pair(1, {});
  pair.network.cut(0, 1);
  ASSERT_TRUE(pair.until([&] { return !pair.a.is_up(1) && !pair.b.is_up(0); }));
  EXPECT_EQ(pair.a.losses(1), 1u);
  EXPECT_EQ(pair.b.losses(0), 1u);
  pair.network.heal();
  ASSERT_TRUE(pair.until([&] {
    static_cast<void>(pair.b.transport().connect(0).has_value());
    return pair.a.is_up(1) && pair.b.is_up(0);
  }));
  EXPECT_TRUE(pair.a.violations().empty() && pair.b.violations().empty());
}

TEST(SimTransportDeathTest, ChangingAPayloadAfterSendingItIsFound) {
  Pair pair(1, {.by_reference = 1});
  auto bytes = std::make_shared<std::vector<std::byte>>(100);
  ASSERT_TRUE(pair.a.transport().send(1, Lane::bulk, {.payload = Payload(bytes, *bytes)}));
  (*bytes)[50] = std::byte{1};
  EXPECT_DEATH(static_cast<void>(pair.until([&] { return pair.b.received(0, Lane::bulk) > 0; })),
               "changed after it was sent");
}

}  // namespace
}  // namespace castor::world::sim

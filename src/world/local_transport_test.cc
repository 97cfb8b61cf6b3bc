#include "world/local_transport.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "world/transport_checker.h"
#include "world/world.h"

namespace castor::world {
namespace {

class Keeper final : public Receiver {
 public:
  void peer_up(WorkerId, LinkEpoch) override {}
  void peer_lost(WorkerId, LinkEpoch, const Error&) override {}
  void may_send(WorkerId, Lane) override {}
  Result<std::span<std::byte>> begin_frame(const FrameHead&) override {
    ADD_FAILURE() << "nothing is to be copied";
    return std::span<std::byte>();
  }
  Status end_frame(const FrameHead&, Payload payload) override {
    payloads.push_back(std::move(payload));
    return {};
  }
  std::vector<Payload> payloads;
};

TEST(LocalTransport, PassesPayloadsByReference) {
  LocalNetwork network;
  auto a = std::move(network.open(0)).value(), b = std::move(network.open(1)).value();
  ASSERT_TRUE(a->connect(1));
  const Payload payload = Payload::copy_of(std::vector<std::byte>(1000));
  ASSERT_TRUE(a->send(1, Lane::bulk, {.payload = payload}));
  ASSERT_TRUE(a->send(1, Lane::bulk, {.payload = payload}));
  Keeper keeper;
  b->receive(keeper, 100);
  ASSERT_EQ(keeper.payloads.size(), 2u);
  EXPECT_EQ(keeper.payloads[0].bytes().data(), payload.bytes().data());
  EXPECT_EQ(keeper.payloads[1].bytes().data(), payload.bytes().data());
}

TEST(LocalTransport, AWorkerHasOneTransportAtATime) {
  LocalNetwork network;
  auto a = std::move(network.open(0)).value();
  EXPECT_EQ(network.open(0).error().code(), Code::exists);
  a.reset();
  EXPECT_TRUE(network.open(0));
}

TEST(LocalTransport, OutlivesItsNetwork) {
  auto network = std::make_unique<LocalNetwork>();
  auto a = std::move(network->open(0)).value(), b = std::move(network->open(1)).value();
  network.reset();
  EXPECT_TRUE(a->connect(1));
}

// One loop per worker, each on its thread, woken by its transport: every worker sends to every
// other as fast as its credit allows.
TEST(LocalTransportThreads, LoopsOnThreadsExchangeFramesUnderCredit) {
  constexpr WorkerId workers = 4;
  constexpr std::uint64_t frames = 2000;
  LocalNetwork network;
  const auto run = [&](WorkerId self) {
    const std::unique_ptr<World> world = real_world();
    CheckedWorker worker(std::move(network.open(self, {.lane_credit_frames = 16})).value(), self);
    worker.transport().on_ready([&world = *world] { world.wake(); });
    const auto all = [&](auto predicate) {
      for (WorkerId peer = 0; peer < workers; ++peer) {
        if (peer != self && !predicate(peer)) return false;
      }
      return true;
    };
    const auto turn = [&] {
      if (worker.receive() == 0) {
        // A deadline far away: without its wake-up the test would run into its time limit.
        const auto id = world->timers().at(world->now() + Duration::from_seconds(600), [] {});
        world->run_until(world->now() + Duration::from_seconds(600));
        world->timers().cancel(id);
      }
    };
    while (!all([&](WorkerId peer) {
      if (!worker.is_up(peer) && peer > self) {
        static_cast<void>(worker.transport().connect(peer).has_value());
      }
      return worker.is_up(peer);
    })) {
      if (worker.receive() == 0) std::this_thread::yield();  // a peer may not have started
    }
    while (!all([&](WorkerId peer) {
      while (worker.sent(peer, Lane::bulk) < frames && worker.send(peer, Lane::bulk, 64)) {
      }
      return worker.sent(peer, Lane::bulk) == frames && worker.received(peer, Lane::bulk) == frames;
    })) {
      turn();
    }
    // A worker that leaves early is heard of, and only then.
    for (WorkerId peer = 0; peer < self; ++peer) {
      while (worker.is_up(peer)) turn();
    }
    for (const std::string& violation : worker.violations()) ADD_FAILURE() << violation;
  };
  std::vector<std::jthread> threads;
  for (WorkerId self = 0; self < workers; ++self) threads.emplace_back(run, self);
}

}  // namespace
}  // namespace castor::world

#include "world/transport.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/property.h"
#include "world/local_transport.h"
#include "world/sim/sim_transport.h"
#include "world/transport_checker.h"

namespace castor::world {
namespace {

// Workers over one kind of transport, and time that passes between them.
class Rig {
 public:
  virtual ~Rig() = default;
  virtual std::unique_ptr<Transport> open(WorkerId self, const TransportOptions& options) = 0;
  // What has been sent gets on its way, without being received.
  virtual void pass_time(Duration span) = 0;
  // `worker` dies without goodbye, as far as the transport can tell.
  virtual void cut_power(WorkerId /*worker*/) {}
  virtual void disturb(Rng& /*rng*/, WorkerId /*workers*/) {}
  virtual void heal() {}
};

class LocalRig final : public Rig {
 public:
  std::unique_ptr<Transport> open(WorkerId self, const TransportOptions& options) override {
    return std::move(network_.open(self, options)).value();
  }
  void pass_time(Duration) override {}

 private:
  LocalNetwork network_;
};

class SimRig final : public Rig {
 public:
  SimRig(std::uint64_t seed, bool faults) : simulation_({.seed = seed}) {
    if (faults) network_.set_faults(sim::drawn_faults(simulation_.rng()));
  }
  std::unique_ptr<Transport> open(WorkerId self, const TransportOptions& options) override {
    auto& world = worlds_[self];
    if (world == nullptr) world = std::make_unique<sim::SimWorld>(simulation_);
    world->set_drift_ppm(static_cast<std::int64_t>(simulation_.rng().below(2001)) - 1000);
    return sim::sim_transport(*world, network_, self, {.limits = options});
  }
  void pass_time(Duration span) override { simulation_.run_for(span); }
  void cut_power(WorkerId worker) override { network_.detach(worker); }
  void disturb(Rng& rng, WorkerId workers) override {
    const auto from = static_cast<WorkerId>(rng.below(workers));
    const auto to = static_cast<WorkerId>(rng.below(workers));
    switch (rng.below(5)) {
      case 0: network_.cut(from, to); break;
      case 1: network_.isolate(std::vector<WorkerId>{from}); break;
      case 2: network_.clog(from, to, Duration::from_ms(700)); break;
      default: network_.heal(); break;
    }
  }
  void heal() override { network_.heal(); }

 private:
  sim::Simulation simulation_;
  sim::SimNetwork network_{simulation_};
  std::map<WorkerId, std::unique_ptr<sim::SimWorld>> worlds_;
};

// ---- Transports with a planted bug, to show that the checker would notice it

enum class Flaw { none, swap, repeat, drop, damage, forget_loss, lose_twice, reuse_epoch, late };

constexpr Flaw all_flaws[] = {Flaw::swap,        Flaw::repeat,     Flaw::drop,        Flaw::damage,
                              Flaw::forget_loss, Flaw::lose_twice, Flaw::reuse_epoch, Flaw::late};

class FlawedTransport final : public Transport, private Receiver {
 public:
  FlawedTransport(std::unique_ptr<Transport> inner, Flaw flaw)
      : inner_(std::move(inner)), flaw_(flaw) {}

  WorkerId self() const override { return inner_->self(); }
  Status connect(WorkerId peer) override { return inner_->connect(peer); }
  void close(WorkerId peer) override { inner_->close(peer); }
  Status send(WorkerId peer, Lane lane, Frame&& frame) override {
    return inner_->send(peer, lane, std::move(frame));
  }
  std::size_t receive(Receiver& receiver, std::size_t events_max) override {
    receiver_ = &receiver;
    return inner_->receive(*this, events_max);
  }
  void on_ready(std::function<void()> call) override { inner_->on_ready(std::move(call)); }

 private:
  struct Held {
    FrameHead head;
    std::vector<std::byte> bytes;
    Payload payload;
  };

  void peer_up(WorkerId peer, LinkEpoch epoch) override {
    receiver_->peer_up(peer, flaw_ == Flaw::reuse_epoch ? 1 : epoch);
  }
  void peer_lost(WorkerId peer, LinkEpoch epoch, const Error& reason) override {
    if (flaw_ == Flaw::forget_loss) return;
    receiver_->peer_lost(peer, flaw_ == Flaw::reuse_epoch && epoch > 0 ? 1 : epoch, reason);
    if (flaw_ == Flaw::lose_twice) receiver_->peer_lost(peer, epoch, reason);
    if (flaw_ == Flaw::late && held_) release();
  }
  void may_send(WorkerId peer, Lane lane) override { receiver_->may_send(peer, lane); }
  Result<std::span<std::byte>> begin_frame(const FrameHead& head) override {
    return receiver_->begin_frame(head);
  }
  Status end_frame(const FrameHead& given, Payload payload) override {
    FrameHead head = given;
    if (flaw_ == Flaw::reuse_epoch) head.epoch = 1;
    const bool now = ++frames_ % 7 == 0;
    if (flaw_ == Flaw::drop && now) return {};
    if (flaw_ == Flaw::damage && now && payload.size() > 0) {
      AlignedVector<std::byte> bytes(payload.size());
      return receiver_->end_frame(head, Payload(std::move(bytes)));
    }
    if ((flaw_ == Flaw::swap || flaw_ == Flaw::late) && now && !held_) {
      held_ = Held{head, {head.head.begin(), head.head.end()}, std::move(payload)};
      return {};
    }
    if (flaw_ == Flaw::repeat && now) TRY(receiver_->end_frame(head, payload));
    TRY(receiver_->end_frame(head, std::move(payload)));
    if (flaw_ == Flaw::swap && held_) release();
    return {};
  }
  void release() {
    Held held = std::move(*held_);
    held_.reset();
    held.head.head = held.bytes;
    static_cast<void>(receiver_->end_frame(held.head, std::move(held.payload)).has_value());
  }

  const std::unique_ptr<Transport> inner_;
  const Flaw flaw_;
  Receiver* receiver_ = nullptr;
  std::optional<Held> held_;
  int frames_ = 0;
};

// ---- A few workers on a rig

class Workers {
 public:
  explicit Workers(std::unique_ptr<Rig> rig, Flaw flaw = Flaw::none)
      : rig_(std::move(rig)), flaw_(flaw) {}

  CheckedWorker& start(WorkerId id, const TransportOptions& options = {}) {
    auto transport = rig_->open(id, options);
    if (flaw_ != Flaw::none) {
      transport = std::make_unique<FlawedTransport>(std::move(transport), flaw_);
    }
    workers_[id] = std::make_unique<CheckedWorker>(std::move(transport), ++started_);
    return *workers_[id];
  }
  void kill(WorkerId id) {
    rig_->cut_power(id);
    stop(id);
  }
  void stop(WorkerId id) {
    keep_violations(*workers_.at(id));
    workers_.erase(id);
  }
  bool has(WorkerId id) const { return workers_.contains(id); }
  CheckedWorker& operator[](WorkerId id) { return *workers_.at(id); }
  Rig& rig() { return *rig_; }

  // Lets time pass and everybody receive until `done`, for at most a simulated minute.
  bool until(const std::function<bool()>& done) {
    for (int step = 0; step < 6000; ++step) {
      std::size_t events = 0;
      for (auto& [id, worker] : workers_) events += worker->receive();
      if (done()) return true;
      if (events == 0) rig_->pass_time(Duration::from_ms(10));
    }
    return false;
  }
  // Until long after everything can have been delivered and noticed.
  void settle() {
    int steps = 0;
    static_cast<void>(until([&] { return ++steps > 600; }));
  }
  bool connect(WorkerId a, WorkerId b) {
    if (!(*this)[a].transport().connect(b)) return false;
    return until([&] { return (*this)[a].is_up(b) && (*this)[b].is_up(a); });
  }
  // Everything sent over links that are still up has arrived.
  bool all_arrived() {
    for (auto& [a, sender] : workers_) {
      for (auto& [b, receiver] : workers_) {
        if (a == b || !sender->is_up(b) || !receiver->is_up(a)) continue;
        for (const Lane lane : all_lanes) {
          if (sender->sent(b, lane) != receiver->received(a, lane)) return false;
        }
      }
    }
    return true;
  }
  std::string violations() {
    for (auto& [id, worker] : workers_) keep_violations(*worker);
    return violations_;
  }

 private:
  void keep_violations(const CheckedWorker& worker) {
    for (const std::string& violation : worker.violations()) violations_ += violation + '\n';
  }

  const std::unique_ptr<Rig> rig_;
  const Flaw flaw_;
  std::map<WorkerId, std::unique_ptr<CheckedWorker>> workers_;
  std::uint64_t started_ = 0;
  std::string violations_;
};

struct Kind {
  const char* name;
  std::unique_ptr<Rig> (*make)(std::uint64_t seed);
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

const Kind local_kind = {
    "Local", [](std::uint64_t) -> std::unique_ptr<Rig> { return std::make_unique<LocalRig>(); }};
const Kind sim_kind = {"Sim", [](std::uint64_t seed) -> std::unique_ptr<Rig> {
                         return std::make_unique<SimRig>(seed, false);
                       }};
const Kind faulty_kind = {"SimWithFaults", [](std::uint64_t seed) -> std::unique_ptr<Rig> {
                            return std::make_unique<SimRig>(seed, true);
                          }};

class TransportContract : public testing::TestWithParam<Kind> {
 protected:
  Workers workers(std::uint64_t seed = 1) const { return Workers(GetParam().make(seed)); }
};

INSTANTIATE_TEST_SUITE_P(Every, TransportContract,
                         testing::Values(local_kind, sim_kind, faulty_kind),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_P(TransportContract, FramesArriveOnceAndInOrderWithinTheirLane) {
  for_seeds(20, [&](Rng& rng, std::uint64_t seed) {
    Workers w = workers(seed);
    for (WorkerId id = 0; id < 3; ++id) w.start(id);
    for (WorkerId id = 0; id < 3; ++id) ASSERT_TRUE(w.connect(id, (id + 1) % 3));
    for (int i = 0; i < 300; ++i) {
      const auto from = static_cast<WorkerId>(rng.below(3));
      const auto to = static_cast<WorkerId>((from + 1 + rng.below(2)) % 3);
      ASSERT_TRUE(w[from].send(to, all_lanes[rng.below(3)], rng.below(3) * rng.below(1000)));
      if (rng.below(10) == 0) w[to].receive(rng.below(20));
      if (rng.below(10) == 0) w.rig().pass_time(Duration::from_ms(1));
    }
    EXPECT_TRUE(w.until([&] { return w.all_arrived(); }));
    EXPECT_EQ(w.violations(), "");
    for (WorkerId id = 0; id < 3; ++id) EXPECT_EQ(w[id].losses((id + 1) % 3), 0u);
  });
}

TEST_P(TransportContract, EveryLegalSizePassesAndALargerOneIsRefused) {
  Workers w = workers();
  CheckedWorker& a = w.start(0);
  w.start(1);
  ASSERT_TRUE(w.connect(0, 1));
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65},
        std::size_t{4097}, std::size_t{1} << 20, limits::frame_payload_bytes_max}) {
    ASSERT_TRUE(w.until([&] { return a.send(1, Lane::bulk, size).has_value(); })) << size;
    ASSERT_TRUE(w.until([&] { return w.all_arrived(); })) << size;
  }
  EXPECT_EQ(a.send(1, Lane::bulk, limits::frame_payload_bytes_max + 1).error().code(),
            Code::invalid);
  Frame frame{.head = std::vector<std::byte>(limits::frame_head_bytes_max + 1)};
  EXPECT_EQ(a.transport().send(1, Lane::bulk, std::move(frame)).error().code(), Code::invalid);
  EXPECT_EQ(frame.head.size(), limits::frame_head_bytes_max + 1) << "a refused frame is not taken";
  EXPECT_EQ(w.violations(), "");
}

TEST_P(TransportContract, TheLossOfAPeerIsReportedOnceToEachOther) {
  for_seeds(10, [&](Rng& rng, std::uint64_t seed) {
    Workers w = workers(seed);
    for (WorkerId id = 0; id < 3; ++id) w.start(id);
    ASSERT_TRUE(w.connect(0, 1) && w.connect(0, 2) && w.connect(1, 2));
    for (std::uint64_t i = rng.below(20); i > 0; --i) ASSERT_TRUE(w[2].send(0, Lane::bulk, 100));
    w.kill(2);
    ASSERT_TRUE(w.until([&] { return !w[0].is_up(2) && !w[1].is_up(2); }));
    w.settle();
    EXPECT_EQ(w[0].losses(2), 1u);
    EXPECT_EQ(w[1].losses(2), 1u);
    EXPECT_TRUE(w[0].is_up(1) && w[1].is_up(0));
    EXPECT_EQ(w[0].send(2, Lane::control, 1).error().code(), Code::unavailable);
    EXPECT_EQ(w.violations(), "");
  });
}

TEST_P(TransportContract, CreditRunsOutAndComesBackWhenThePeerReceives) {
  Workers w = workers();
  CheckedWorker& a = w.start(0, {.lane_credit_frames = 8});
  CheckedWorker& b = w.start(1);
  ASSERT_TRUE(w.connect(0, 1));
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(a.send(1, Lane::bulk, 10));
  EXPECT_EQ(a.send(1, Lane::bulk, 10).error().code(), Code::exhausted);
  EXPECT_TRUE(a.send(1, Lane::control, 10)) << "another lane has its own credit";
  w.rig().pass_time(Duration::from_ms(1000));
  a.receive();
  EXPECT_EQ(a.send(1, Lane::bulk, 10).error().code(), Code::exhausted) << "nobody has received";
  EXPECT_EQ(a.may_sends(), 0u);
  ASSERT_TRUE(w.until([&] { return a.may_sends() == 1; }));
  EXPECT_TRUE(a.send(1, Lane::bulk, 10));
  w.settle();
  EXPECT_EQ(a.may_sends(), 1u);
  EXPECT_EQ(b.received(0, Lane::bulk), 9u);
  EXPECT_EQ(w.violations(), "");
}

TEST_P(TransportContract, CreditIsAlsoCountedInBytesAndAnIdleLaneTakesOneFrameOfAnySize) {
  Workers w = workers();
  CheckedWorker& a = w.start(0, {.lane_credit_bytes = 1000});
  w.start(1);
  ASSERT_TRUE(w.connect(0, 1));
  EXPECT_TRUE(a.send(1, Lane::bulk, 100'000));
  EXPECT_EQ(a.send(1, Lane::bulk, 0).error().code(), Code::exhausted);
  ASSERT_TRUE(w.until([&] { return a.may_sends() == 1; }));
  EXPECT_TRUE(a.send(1, Lane::bulk, 800));
  EXPECT_EQ(a.send(1, Lane::bulk, 400).error().code(), Code::exhausted);
  EXPECT_TRUE(w.until([&] { return w.all_arrived(); }));
  EXPECT_EQ(w.violations(), "");
}

TEST_P(TransportContract, AfterCloseThePeerHasAPrefixAndThisSideHearsNothing) {
  for_seeds(20, [&](Rng& rng, std::uint64_t seed) {
    Workers w = workers(seed);
    w.start(0), w.start(1);
    ASSERT_TRUE(w.connect(0, 1));
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(w[0].send(1, Lane::bulk, rng.below(2000)));
      ASSERT_TRUE(w[1].send(0, Lane::prompt, rng.below(2000)));
      if (rng.below(5) == 0) w.rig().pass_time(Duration::from_ms(1));
      if (rng.below(20) == 0) w[1].receive(rng.below(10));
    }
    w[0].close(1);
    EXPECT_EQ(w[0].send(1, Lane::bulk, 1).error().code(), Code::unavailable);
    w.settle();
    EXPECT_EQ(w[0].losses(1), 0u);
    EXPECT_EQ(w[1].losses(0), 1u);
    EXPECT_LE(w[1].received(0, Lane::bulk), 50u);
    EXPECT_EQ(w.violations(), "");
  });
}

TEST_P(TransportContract, AReceiverMayCloseReplyAndConnectFromInsideACallback) {
  for_seeds(10, [&](Rng&, std::uint64_t seed) {
    Workers w = workers(seed);
    w.start(0), w.start(1);
    ASSERT_TRUE(w.connect(0, 1));
    int replies = 0;
    w[1].on_frame = [&](const FrameHead& head) -> Status {
      if (w[1].received(0, head.lane) < 10) {
        EXPECT_TRUE(w[1].send(0, head.lane, 30));
        ++replies;
      } else {
        w[1].close(0);
      }
      return {};
    };
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(w[0].send(1, Lane::prompt, 20));
    w.settle();
    EXPECT_EQ(replies, 9);
    EXPECT_EQ(w[1].received(0, Lane::prompt), 10u) << "nothing comes after close()";
    EXPECT_EQ(w[0].losses(1), 1u);
    EXPECT_EQ(w.violations(), "");
  });
}

TEST_P(TransportContract, ARefusedFrameDropsTheLinkWithThatReason) {
  for_seeds(10, [&](Rng&, std::uint64_t seed) {
    Workers w = workers(seed);
    w.start(0), w.start(1);
    ASSERT_TRUE(w.connect(0, 1));
    w[1].on_frame = [&](const FrameHead& head) -> Status {
      if (w[1].received(0, head.lane) < 5) return {};
      return error(Code::corrupt, "frame 4 is nonsense");
    };
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(w[0].send(1, Lane::prompt, 20));
    w.settle();
    EXPECT_EQ(w[1].received(0, Lane::prompt), 5u);
    EXPECT_EQ(w[1].losses(0), 1u);
    EXPECT_EQ(w[1].last_loss(), Code::corrupt);
    EXPECT_EQ(w[0].losses(1), 1u);
    EXPECT_EQ(w.violations(), "");
  });
}

TEST_P(TransportContract, AReconnectedLinkHasAGreaterEpochAndNothingOfTheOldOne) {
  for_seeds(10, [&](Rng& rng, std::uint64_t seed) {
    Workers w = workers(seed);
    w.start(0), w.start(1);
    LinkEpoch last = 0;
    for (int round = 0; round < 4; ++round) {
      ASSERT_TRUE(w.until([&] { return w[0].transport().connect(1).has_value(); }));
      ASSERT_TRUE(w.until([&] { return w[0].is_up(1) && w[1].is_up(0); }));
      EXPECT_GT(w[0].epoch(1), last);
      last = w[0].epoch(1);
      for (int i = 0; i < 20; ++i) ASSERT_TRUE(w[0].send(1, Lane::bulk, 500));
      const WorkerId closing = static_cast<WorkerId>(rng.below(2));
      w[closing].close(1 - closing);
      ASSERT_TRUE(w.until([&] { return !w[1 - closing].is_up(closing); }));
    }
    EXPECT_EQ(w.violations(), "");
  });
}

TEST_P(TransportContract, AWorkerThatStartsAgainIsReachedOverANewLink) {
  for_seeds(10, [&](Rng&, std::uint64_t seed) {
    Workers w = workers(seed);
    w.start(0), w.start(1);
    ASSERT_TRUE(w.connect(0, 1));
    const LinkEpoch before = w[0].epoch(1);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(w[0].send(1, Lane::bulk, 500));
    w.kill(1);
    w.start(1);
    ASSERT_TRUE(w.until([&] {
      // Either may try, as often as it likes.
      static_cast<void>(w[1].transport().connect(0).has_value());
      return w[0].epoch(1) > before && w[0].is_up(1) && w[1].is_up(0);
    }));
    ASSERT_TRUE(w[0].send(1, Lane::bulk, 100));
    EXPECT_TRUE(w.until([&] { return w.all_arrived(); }));
    EXPECT_EQ(w[0].losses(1), 1u);
    EXPECT_EQ(w.violations(), "");
  });
}

TEST_P(TransportContract, ConnectingToNobodyFailsOnceWithEpochZero) {
  Workers w = workers();
  w.start(0);
  ASSERT_TRUE(w[0].transport().connect(7));
  ASSERT_TRUE(w.until([&] { return w[0].losses(7) == 1; }));
  EXPECT_EQ(w[0].last_loss(), Code::unavailable);
  w.settle();
  EXPECT_EQ(w[0].losses(7), 1u);
  EXPECT_EQ(w[0].transport().connect(0).error().code(), Code::invalid);
  EXPECT_EQ(w[0].transport().send(7, Lane::bulk, {}).error().code(), Code::unavailable);
  EXPECT_EQ(w.violations(), "");
}

TEST_P(TransportContract, TwoThatConnectToEachOtherHaveOneLink) {
  for_seeds(20, [&](Rng&, std::uint64_t seed) {
    Workers w = workers(seed);
    w.start(0), w.start(1);
    ASSERT_TRUE(w[0].transport().connect(1));
    ASSERT_TRUE(w[1].transport().connect(0));
    ASSERT_TRUE(w[1].transport().connect(0)) << "no effect";
    ASSERT_TRUE(w.until([&] { return w[0].is_up(1) && w[1].is_up(0); }));
    ASSERT_TRUE(w[0].send(1, Lane::bulk, 100) && w[1].send(0, Lane::bulk, 100));
    w.settle();
    EXPECT_TRUE(w.all_arrived());
    EXPECT_EQ(w[0].epoch(1), 1u);
    EXPECT_EQ(w[1].epoch(0), 1u);
    EXPECT_EQ(w.violations(), "");
  });
}

TEST_P(TransportContract, ReadyIsCalledWhenThereIsSomethingAfterNothing) {
  Workers w = workers();
  w.start(0), w.start(1);
  ASSERT_TRUE(w.connect(0, 1));
  w.settle();
  int calls = 0;
  w[1].transport().on_ready([&] { ++calls; });
  EXPECT_EQ(calls, 0);
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(w[0].send(1, Lane::bulk, 0));
    w.rig().pass_time(Duration::from_ms(500));
    EXPECT_EQ(calls, round);
    ASSERT_TRUE(w.until([&] { return w.all_arrived(); }));
  }
  EXPECT_EQ(w.violations(), "");
}

// Anything that may happen, at random.
void run_anything(Workers& w, Rng& rng, int steps) {
  constexpr WorkerId count = 3;
  for (WorkerId id = 0; id < count; ++id) w.start(id, {.lane_credit_frames = 1 + rng.below(20)});
  const std::uint64_t rare = 20 + rng.below(200);
  for (int i = 0; i < steps; ++i) {
    const auto from = static_cast<WorkerId>(rng.below(count));
    const auto to = static_cast<WorkerId>((from + 1 + rng.below(count - 1)) % count);
    if (!w.has(from)) {
      if (rng.below(10) == 0) w.start(from);
      continue;
    }
    if (rng.below(rare) == 0) w[from].close(to);
    if (rng.below(rare) == 0) w.rig().disturb(rng, count);
    if (rng.below(3) == 0) w.rig().pass_time(Duration::from_ms(static_cast<int>(rng.below(40))));
    if (rng.below(4 * rare) == 0) {
      w.kill(from);
      continue;
    }
    switch (rng.below(4)) {
      case 0: w[from].receive(rng.below(10)); break;
      case 1:
        if (!w[from].is_up(to)) static_cast<void>(w[from].transport().connect(to).has_value());
        break;
      default:
        if (w[from].is_up(to)) {
          static_cast<void>(
              w[from].send(to, all_lanes[rng.below(3)], rng.below(4) * rng.below(300)).has_value());
        }
    }
  }
  w.rig().heal();
  w.settle();
}

TEST_P(TransportContract, HoldsWhateverHappens) {
  for_seeds(60, [&](Rng& rng, std::uint64_t seed) {
    Workers w = workers(seed);
    run_anything(w, rng, 1000);
    EXPECT_EQ(w.violations(), "");
    EXPECT_TRUE(w.all_arrived());
  });
}

TEST(TransportCanary, EveryPlantedBugIsNoticed) {
  for (const Flaw flaw : all_flaws) {
    int noticed = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Rng rng(StreamKey{.seed = seed});
      Workers w(std::make_unique<LocalRig>(), flaw);
      run_anything(w, rng, 1000);
      if (w.violations() != "" || !w.all_arrived()) ++noticed;
    }
    EXPECT_EQ(noticed, 5) << "flaw " << static_cast<int>(flaw);
  }
}

TEST(Payload, SharesItsBytesAndKeepsThemAlive) {
  AlignedVector<std::byte> bytes(100);
  bytes[99] = std::byte{7};
  const std::byte* place = bytes.data();
  auto first = std::make_unique<Payload>(std::move(bytes));
  const Payload second = *first;
  first.reset();
  EXPECT_EQ(second.bytes().data(), place);
  EXPECT_EQ(second.bytes()[99], std::byte{7});
  EXPECT_EQ(Payload().size(), 0u);
  EXPECT_EQ(Payload::copy_of(second.bytes()).size(), 100u);
  EXPECT_NE(Payload::copy_of(second.bytes()).bytes().data(), place);
}

TEST(Payload, MayBePartOfSomethingLarger) {
  auto owner = std::make_shared<std::vector<std::byte>>(10, std::byte{1});
  const std::weak_ptr<std::vector<std::byte>> watched = owner;
  Payload part(owner, std::span<const std::byte>(*owner).subspan(2, 3));
  owner.reset();
  EXPECT_EQ(part.size(), 3u);
  EXPECT_FALSE(watched.expired());
  part = Payload();
  EXPECT_TRUE(watched.expired());
}

TEST(LaneCredit, TellsARefusedSenderOnceWhenHalfIsFree) {
  const TransportOptions options{.lane_credit_bytes = 100, .lane_credit_frames = 4};
  LaneCredit credit;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(credit.take(10, options));
  EXPECT_FALSE(credit.give_back(1, 10, options)) << "nobody was refused";
  ASSERT_TRUE(credit.take(10, options));
  EXPECT_FALSE(credit.take(10, options));
  EXPECT_FALSE(credit.give_back(1, 10, options));
  EXPECT_TRUE(credit.give_back(1, 10, options));
  EXPECT_FALSE(credit.give_back(2, 20, options));
  EXPECT_EQ(credit.bytes_used(), 0u);
}

}  // namespace
}  // namespace castor::world

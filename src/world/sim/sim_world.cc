#include "world/sim/sim_world.h"

namespace castor::world::sim {
namespace {

constexpr std::int64_t million = 1'000'000;
__extension__ using int128 = __int128;

}  // namespace

SimWorld::SimWorld(Simulation& simulation) : simulation_(simulation), files_(simulation.rng()) {
  restart_clock();
}

SimWorld::~SimWorld() {
  for (const Id id : timers_) simulation_.queue().cancel(id);
}

void SimWorld::restart_clock() {
  true_zero_ = simulation_.now();
  local_zero_ = Instant{} + simulation_.between({0}, Duration::from_seconds(1e6));
}

Instant SimWorld::local(Instant true_time) const {
  const int128 passed = (true_time - true_zero_).ns;
  return local_zero_ +
         Duration{static_cast<std::int64_t>(passed * (million + drift_ppm_) / million)};
}

Instant SimWorld::true_time(Instant local_time) const {
  const int128 passed = (local_time - local_zero_).ns;
  if (passed <= 0) return true_zero_;
  const int128 rate = million + drift_ppm_;
  const int128 ns = (passed * million + rate - 1) / rate;
  // A century is as good as never, and far from overflow.
  constexpr int128 never = int128{3'155'760'000} * 1'000'000'000;
  return true_zero_ + Duration{static_cast<std::int64_t>(ns < never ? ns : never)};
}

void SimWorld::set_drift_ppm(std::int64_t ppm) {
  CHECK(ppm >= -100'000 && ppm <= 100'000, "{} ppm", ppm);
  local_zero_ = now();
  true_zero_ = simulation_.now();
  drift_ppm_ = ppm;
}

void SimWorld::crash() {
  for (const Id id : timers_) simulation_.queue().cancel(id);
  timers_.clear();
  files_.crash();
  cpu_time_ = {};
  woken_ = false;
  restart_clock();
}

Timers::Id SimWorld::at(Instant when, std::function<void()> call) {
  // The queue's number is known only after the call is made, so the call finds it here.
  auto id = std::make_shared<Id>(0);
  *id = simulation_.queue().at(true_time(when), [this, id, call = std::move(call)] {
    timers_.erase(*id);
    call();
  });
  timers_.insert(*id);
  return *id;
}

void SimWorld::cancel(Id id) {
  if (timers_.erase(id) > 0) simulation_.queue().cancel(id);
}

void SimWorld::run_until(Instant until) {
  CHECK(!running_, "run_until() from inside an event");
  running_ = true;
  EventQueue& queue = simulation_.queue();
  const Instant end = true_time(until);
  while (!woken_) {
    const std::optional<Instant> next = queue.next_time();
    if (!next) break;
    if (*next > end) {
      queue.advance(end);
      break;
    }
    queue.run_next();
  }
  woken_ = false;
  running_ = false;
}

}  // namespace castor::world::sim

#include "world/sim/sim_network.h"

#include <algorithm>

namespace castor::world::sim {

LinkFaults drawn_faults(Rng& rng) {
  const auto wild = [&](double most) { return rng.below(2) == 0 ? 0 : rng.uniform() * most; };
  LinkFaults faults;
  faults.delay_min = {static_cast<std::int64_t>(rng.below(1'000'000))};
  faults.delay_max = faults.delay_min + Duration{static_cast<std::int64_t>(rng.below(5'000'000))};
  faults.loss = wild(0.3);
  faults.duplication = wild(0.3);
  faults.reordering = wild(0.3);
  return faults;
}

void SimNetwork::set_faults(const LinkFaults& faults) {
  faults_ = faults;
  link_faults_.clear();
}

void SimNetwork::set_faults(WorkerId from, WorkerId to, const LinkFaults& faults) {
  link_faults_[{from, to}] = faults;
}

void SimNetwork::cut(WorkerId from, WorkerId to) { cuts_.insert({from, to}); }

void SimNetwork::isolate(std::span<const WorkerId> group) {
  isolated_ = {group.begin(), group.end()};
}

void SimNetwork::clog(WorkerId from, WorkerId to, Duration span) {
  clogged_until_[{from, to}] = simulation_.now() + span;
}

void SimNetwork::heal() {
  cuts_.clear();
  isolated_.clear();
  clogged_until_.clear();
}

bool SimNetwork::is_cut(WorkerId from, WorkerId to) const {
  return cuts_.contains({from, to}) || isolated_.contains(from) != isolated_.contains(to);
}

void SimNetwork::attach(WorkerId worker, Handler handler) {
  CHECK(handlers_.emplace(worker, std::move(handler)).second, "worker {} is attached", worker);
}

void SimNetwork::detach(WorkerId worker) { handlers_.erase(worker); }

void SimNetwork::send(WorkerId from, WorkerId to, Datagram datagram) {
  simulation_.note("send", {from, to});
  simulation_.note_bytes(datagram.bytes);
  const auto of_link = link_faults_.find({from, to});
  const LinkFaults& faults = of_link == link_faults_.end() ? faults_ : of_link->second;
  if (!is_attached(from) || is_cut(from, to) || simulation_.chance(faults.loss)) return;
  Duration delay = simulation_.between(faults.delay_min, faults.delay_max);
  if (simulation_.chance(faults.reordering)) {
    delay = delay + simulation_.between({0}, {faults.delay_max.ns * 10});
  }
  const auto clog = clogged_until_.find({from, to});
  if (clog != clogged_until_.end() && clog->second > simulation_.now()) {
    delay = delay + (clog->second - simulation_.now());
  }
  if (simulation_.chance(faults.duplication)) {
    deliver_after(delay + simulation_.between({0}, {faults.delay_max.ns * 10}), from, to, datagram);
  }
  deliver_after(delay, from, to, std::move(datagram));
}

void SimNetwork::deliver_after(Duration delay, WorkerId from, WorkerId to, Datagram datagram) {
  simulation_.queue().after(delay, [this, from, to, datagram = std::move(datagram)] {
    const auto handler = handlers_.find(to);
    // A cable cut in the meantime stops also what was on its way.
    if (handler == handlers_.end() || is_cut(from, to)) return;
    simulation_.note("deliver", {from, to, datagram.bytes.size()});
    // A copy: the worker may detach itself.
    const Handler call = handler->second;
    call(from, datagram);
  });
}

}  // namespace castor::world::sim

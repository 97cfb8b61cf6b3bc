#pragma once
// A network of datagrams that loses, repeats, delays and reorders them as told. What it carries is
// as unreliable as that; SimTransport makes the Transport contract of it, by numbering and sending
// again. Faults belong to directed links, so a partition may be one-way.
//
// Thread: the simulation's.
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "world/sim/simulation.h"
#include "world/transport.h"

namespace castor::world::sim {

struct LinkFaults {
  Duration delay_min = {50'000};
  Duration delay_max = {500'000};
  // Probabilities, for each datagram.
  double loss = 0;
  double duplication = 0;
  double reordering = 0;  // takes up to ten times delay_max longer
};

// Some kinds off entirely, the others anything up to wild: each run of a seed tests another corner.
LinkFaults drawn_faults(Rng& rng);

struct Datagram {
  std::vector<std::byte> bytes;
  Payload payload = {};  // travels by reference
};

class SimNetwork {
 public:
  using Handler = std::function<void(WorkerId from, const Datagram& datagram)>;

  explicit SimNetwork(Simulation& simulation) : simulation_(simulation) {}
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  Simulation& simulation() { return simulation_; }

  void set_faults(const LinkFaults& faults);  // of every link
  void set_faults(WorkerId from, WorkerId to, const LinkFaults& faults);
  // Nothing gets from one to the other. One way; call it twice for a cable that is cut.
  void cut(WorkerId from, WorkerId to);
  // Cuts both ways between the group and all others that there are or will be.
  void isolate(std::span<const WorkerId> group);
  // What is sent from one to the other waits until `span` has passed; then it is on its way.
  void clog(WorkerId from, WorkerId to, Duration span);
  // Ends cuts, isolation and clogs; the faults of links stay.
  void heal();

  // Connects a worker; there is one handler for each. Datagrams on their way to an earlier one
  // arrive.
  void attach(WorkerId worker, Handler handler);
  // The worker is gone: nothing reaches it and nothing it sends leaves, until attach().
  void detach(WorkerId worker);
  bool is_attached(WorkerId worker) const { return handlers_.contains(worker); }

  void send(WorkerId from, WorkerId to, Datagram datagram);

  // Grows with every call, over all workers and their restarts.
  std::uint64_t next_number() { return ++number_; }

 private:
  using Pair = std::pair<WorkerId, WorkerId>;

  bool is_cut(WorkerId from, WorkerId to) const;
  void deliver_after(Duration delay, WorkerId from, WorkerId to, Datagram datagram);

  Simulation& simulation_;
  LinkFaults faults_;
  std::map<Pair, LinkFaults> link_faults_;
  std::map<Pair, Instant> clogged_until_;
  std::set<Pair> cuts_;
  std::set<WorkerId> isolated_;
  std::map<WorkerId, Handler> handlers_;
  std::uint64_t number_ = 0;
};

}  // namespace castor::world::sim

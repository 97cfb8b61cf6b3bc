#pragma once
// One simulated run: the event queue, the one source of chance, and the digest of what happened.
// All worlds, disks and networks of a run share it. Two runs of a seed must end with equal digests;
// unequal ones mean that something depended on more than the seed (an address, a thread, a hash
// table's order).
//
// Thread: one.
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "core/rng.h"
#include "world/sim/event_queue.h"

namespace castor::world::sim {

struct SimulationOptions {
  std::uint64_t seed = 1;
  // Of the places marked by buggify(), each run turns on this share; one that is on happens with
  // buggify_chance. 0 turns all off.
  double buggify_sites = 0;
  double buggify_chance = 0.1;
};

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  EventQueue& queue() { return queue_; }
  Rng& rng() { return rng_; }
  Instant now() const { return queue_.now(); }  // true time; nodes see it through their clocks

  bool chance(double probability) { return probability > 0 && rng_.uniform() < probability; }
  Duration between(Duration least, Duration most);  // REQUIRES: least <= most

  // Runs events until `span` of true time has passed.
  void run_for(Duration span) { queue_.run_until(now() + span); }

  // Adds an event to the digest, with the time.
  void note(std::string_view what, std::initializer_list<std::uint64_t> values = {});
  void note_bytes(std::span<const std::byte> bytes);
  std::uint64_t digest() const;  // also of what the generator would draw next

  bool buggify(std::string_view site);
  void mark(std::string_view site);
  std::uint64_t marked(std::string_view site) const;  // how often

 private:
  const SimulationOptions options_;
  EventQueue queue_;
  Rng rng_;
  std::uint64_t digest_ = 0;
  std::map<std::string, bool, std::less<>> sites_;
  std::map<std::string, std::uint64_t, std::less<>> marks_;
};

}  // namespace castor::world::sim

#pragma once
// The World of one simulated process. Its clock starts anywhere and may drift from true time; its
// CPU time advances as told; its files are in memory; its timers die with it. All processes of a
// simulation share one event queue: run_until() of one of them runs the events of all.
//
// Thread: the simulation's. files() from any.
#include <set>

#include "world/sim/sim_files.h"
#include "world/sim/simulation.h"
#include "world/world.h"

namespace castor::world::sim {

class SimWorld final : public World, private Timers {
 public:
  explicit SimWorld(Simulation& simulation);
  ~SimWorld() override;
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  Instant now() override { return local(simulation_.now()); }
  Duration cpu_time() override { return cpu_time_; }
  SimFiles& files() override { return files_; }
  Timers& timers() override { return *this; }
  // Returns also when the simulation has no event left. Not from inside an event.
  void run_until(Instant until) override;
  void wake() override { woken_ = true; }
  bool buggify(std::string_view site) override { return simulation_.buggify(site); }
  void mark(std::string_view site) override { simulation_.mark(site); }

  Simulation& simulation() { return simulation_; }

  void spend_cpu(Duration time) { cpu_time_ = cpu_time_ + time; }
  // From now on the clock gains that many millionths; timers already set keep their true time.
  // REQUIRES: |ppm| <= 100,000.
  void set_drift_ppm(std::int64_t ppm);
  // The process and its machine stop at once: timers are gone, files forget what was not synced,
  // and the clock starts anew. What else lived in the process is for the caller to drop.
  void crash();

 private:
  Id at(Instant when, std::function<void()> call) override;
  void cancel(Id id) override;

  Instant local(Instant true_time) const;
  Instant true_time(Instant local_time) const;  // the first at which now() is not less
  void restart_clock();

  Simulation& simulation_;
  SimFiles files_;
  Duration cpu_time_;
  std::set<Id> timers_;
  bool woken_ = false, running_ = false;
  // now() = local_zero_ + (true time - true_zero_) * (1 + drift).
  Instant true_zero_, local_zero_;
  std::int64_t drift_ppm_ = 0;
};

}  // namespace castor::world::sim

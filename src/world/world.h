#pragma once
// THE SEAM. Time, timers, files and the transport to other workers reach castor only through a
// World: real_world() on a machine, world::sim::SimWorld in deterministic simulation. Nothing above
// this module may ask the operating system for any of them.
//
// Thread: now(), cpu_time() and files() from any; timers and the transport are the loop's.
#include <functional>
#include <memory>
#include <string_view>

#include "core/time.h"
#include "world/files.h"

namespace castor::world {

// Calls back on the loop, in order of time; equal times in the order they were set.
class Timers {
 public:
  virtual ~Timers() = default;
  using Id = std::uint64_t;
  virtual Id at(Instant when, std::function<void()> call) = 0;
  virtual void cancel(Id id) = 0;  // no effect when it has fired or was never set
};

class World {
 public:
  virtual ~World() = default;
  virtual Instant now() = 0;
  // CPU time this process has used, all threads.
  virtual Duration cpu_time() = 0;
  virtual Files& files() = 0;
  virtual Timers& timers() = 0;
  // Makes run_until return soon, the present call or the next one. From any thread, and from a
  // signal handler.
  virtual void wake() = 0;

  // Marks a place where something rare but legal may happen: true when it is to happen now, which
  // is never so outside simulation. `site` is a dotted name, unique in the code.
  virtual bool buggify(std::string_view /*site*/) { return false; }
  // Marks a rare path, so that a simulation can assert that it was taken.
  virtual void mark(std::string_view /*site*/) {}

  // Runs due timers, waiting for the next one until `until`; returns when the time has come or when
  // no timer is left. The loop of a process (or of a simulated one) is repeated calls of this.
  virtual void run_until(Instant until) = 0;
};

std::unique_ptr<World> real_world();

}  // namespace castor::world

#pragma once
// The heart of every simulation: calls to be made at points of simulated time, in the order of
// (time, sequence of setting). Nothing else moves time.
//
// Thread: one.
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/time.h"

namespace castor::world::sim {

class EventQueue {
 public:
  using Id = std::uint64_t;

  Instant now() const { return now_; }
  std::size_t size() const { return live_; }
  std::optional<Instant> next_time();

  // A time that has passed means now.
  Id at(Instant when, std::function<void()> call);
  Id after(Duration delay, std::function<void()> call) { return at(now_ + delay, std::move(call)); }
  void cancel(Id id);  // no effect when it has been called or was never set

  // Advances to the next event and calls it; false when there is none.
  bool run_next();
  // Calls everything due up to and at `until`, then advances to it.
  void run_until(Instant until);
  // REQUIRES: no event before `to`.
  void advance(Instant to);

 private:
  // Higher bits: the sequence number; lower bits: the slot of the call.
  static constexpr unsigned slot_bits = 24;
  static constexpr std::size_t slots_max = std::size_t{1} << slot_bits;

  struct Entry {
    Instant when;
    Id id;
    auto operator<=>(const Entry&) const = default;
  };
  struct Slot {
    Id id = 0;  // 0: cancelled
    std::function<void()> call;
  };

  void drop_cancelled();
  void pop();
  std::size_t slot_of(Id id) const { return id & (slots_max - 1); }

  Instant now_;
  std::uint64_t sequence_ = 0;
  std::size_t live_ = 0;
  std::vector<Entry> heap_;  // the least in front; may hold cancelled ones
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;
};

}  // namespace castor::world::sim

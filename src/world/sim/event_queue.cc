#include "world/sim/event_queue.h"

#include <algorithm>

#include "core/check.h"

namespace castor::world::sim {

EventQueue::Id EventQueue::at(Instant when, std::function<void()> call) {
  if (free_.empty()) {
    CHECK(slots_.size() < slots_max, "{} events wait", slots_.size());
    free_.push_back(slots_.size());
    slots_.emplace_back();
  }
  const std::size_t slot = free_.back();
  free_.pop_back();
  const Id id = ++sequence_ << slot_bits | slot;
  slots_[slot] = {.id = id, .call = std::move(call)};
  heap_.push_back({.when = std::max(when, now_), .id = id});
  std::ranges::push_heap(heap_, std::greater<>());
  ++live_;
  return id;
}

void EventQueue::cancel(Id id) {
  const std::size_t slot = slot_of(id);
  if (id == 0 || slot >= slots_.size() || slots_[slot].id != id) return;
  slots_[slot] = {};
  --live_;
  if (heap_.size() > 64 && live_ < heap_.size() / 2) drop_cancelled();
}

void EventQueue::drop_cancelled() {
  std::erase_if(heap_, [this](const Entry& entry) {
    const bool cancelled = slots_[slot_of(entry.id)].id != entry.id;
    if (cancelled) free_.push_back(slot_of(entry.id));
    return cancelled;
  });
  std::ranges::make_heap(heap_, std::greater<>());
}

void EventQueue::pop() {
  std::ranges::pop_heap(heap_, std::greater<>());
  free_.push_back(slot_of(heap_.back().id));
  heap_.pop_back();
}

std::optional<Instant> EventQueue::next_time() {
  while (!heap_.empty() && slots_[slot_of(heap_.front().id)].id != heap_.front().id) pop();
  if (heap_.empty()) return {};
  return heap_.front().when;
}

bool EventQueue::run_next() {
  const std::optional<Instant> when = next_time();
  if (!when) return false;
  const std::function<void()> call = std::move(slots_[slot_of(heap_.front().id)].call);
  slots_[slot_of(heap_.front().id)] = {};
  pop();
  --live_;
  now_ = *when;
  call();
  return true;
}

void EventQueue::run_until(Instant until) {
  for (std::optional<Instant> next = next_time(); next && *next <= until; next = next_time()) {
    run_next();
  }
  advance(until);
}

void EventQueue::advance(Instant to) {
  const std::optional<Instant> next = next_time();
  CHECK(!next || *next >= to, "an event at {} ns would be passed over", next->ns);
  now_ = std::max(now_, to);
}

}  // namespace castor::world::sim

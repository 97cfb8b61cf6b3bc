// The World of a real machine.
#include <time.h>

#include <map>

#include "world/world.h"

namespace castor::world {
namespace {

std::int64_t read_clock(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

class RealWorld final : public World, private Timers {
 public:
  Instant now() override { return {read_clock(CLOCK_MONOTONIC)}; }
  Duration cpu_time() override { return {read_clock(CLOCK_PROCESS_CPUTIME_ID)}; }
  Files& files() override { return *files_; }
  Timers& timers() override { return *this; }

  void run_until(Instant until) override {
    while (!queue_.empty() && queue_.begin()->first.when <= until) {
      wait_until(queue_.begin()->first.when);
      auto due = queue_.extract(queue_.begin());
      due.mapped()();
    }
    if (!queue_.empty()) wait_until(until);
  }

 private:
  struct Key {
    Instant when;
    Id id;
    auto operator<=>(const Key&) const = default;
  };

  Id at(Instant when, std::function<void()> call) override {
    const Id id = next_id_++;
    queue_.emplace(Key{when, id}, std::move(call));
    return id;
  }

  void cancel(Id id) override {
    std::erase_if(queue_, [id](const auto& entry) { return entry.first.id == id; });
  }

  void wait_until(Instant when) {
    const std::int64_t left = when.ns - now().ns;
    if (left <= 0) return;
    const timespec t{left / 1'000'000'000, left % 1'000'000'000};
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
  }

  std::unique_ptr<Files> files_ = real_files();
  std::map<Key, std::function<void()>> queue_;
  Id next_id_ = 1;
};

}  // namespace

std::unique_ptr<World> real_world() { return std::make_unique<RealWorld>(); }

}  // namespace castor::world

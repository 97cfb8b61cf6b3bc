// The World of a real machine.
#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "core/check.h"
#include "world/world.h"

namespace castor::world {
namespace {

std::int64_t read_clock(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// A pipe to oneself: signalled on any thread and from signal handlers, waited for by the loop.
class Signal {
 public:
  Signal() { CHECK(::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) == 0, "pipe: error {}", errno); }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  ~Signal() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  void raise() {
    const int before = errno;  // a signal handler must not change it
    const char byte = 0;
    // A full pipe is as good as one byte more.
    [[maybe_unused]] const ssize_t written = ::write(ends_[1], &byte, 1);
    errno = before;
  }
  // Waits for at most `left`; true when it was raised since the last time this was true.
  bool wait(Duration left) {
    const std::int64_t ns = left.ns > 0 ? left.ns : 0;
    const timespec timeout{ns / 1'000'000'000, ns % 1'000'000'000};
    pollfd waited{.fd = ends_[0], .events = POLLIN, .revents = 0};
    if (::ppoll(&waited, 1, &timeout, nullptr) <= 0) return false;  // time, or EINTR
    char bytes[64];
    while (::read(ends_[0], bytes, sizeof bytes) > 0) {
    }
    return true;
  }

 private:
  int ends_[2] = {-1, -1};
};

class RealWorld final : public World, private Timers {
 public:
  Instant now() override { return {read_clock(CLOCK_MONOTONIC)}; }
  Duration cpu_time() override { return {read_clock(CLOCK_PROCESS_CPUTIME_ID)}; }
  Files& files() override { return *files_; }
  Timers& timers() override { return *this; }
  void wake() override { signal_.raise(); }

  void run_until(Instant until) override {
    for (;;) {
      run_due(std::min(now(), until));
      const Instant next = queue_.empty() ? until : std::min(until, queue_.begin()->first.when);
      const Duration left = queue_.empty() ? Duration{0} : next - now();
      // Also when there is nothing to wait for, so that a wake() is not left for the next call.
      if (signal_.wait(left) || queue_.empty() || now() >= until) break;
    }
    run_due(std::min(now(), until));
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

  void run_due(Instant time) {
    while (!queue_.empty() && queue_.begin()->first.when <= time) {
      auto due = queue_.extract(queue_.begin());
      due.mapped()();
    }
  }

  std::unique_ptr<Files> files_ = real_files();
  Signal signal_;
  std::map<Key, std::function<void()>> queue_;
  Id next_id_ = 1;
};

}  // namespace

std::unique_ptr<World> real_world() { return std::make_unique<RealWorld>(); }

}  // namespace castor::world

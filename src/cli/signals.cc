#include "cli/signals.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace castor::cli {
namespace {

std::atomic<bool> stop_requested = false;
std::atomic<bool> may_stop_gently = false;
std::atomic<int> signal_seen = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a handler may only touch atomics that take no lock");

void say(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

void on_signal(int number) {
  const int errno_before = errno;
  if (signal_seen.exchange(number) != 0 || !may_stop_gently.load()) ::_exit(128 + number);
  stop_requested = true;
  say("\nstopping at the end of this clock; once more to stop at once\n");
  errno = errno_before;
}

}  // namespace

const std::atomic<bool>& catch_stop_signals() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  return stop_requested;
}

void set_may_stop(bool may_stop) { may_stop_gently = may_stop; }

void request_stop() { stop_requested = true; }

int exit_code_of_signal() { return signal_seen.load() == 0 ? 0 : 128 + signal_seen.load(); }

void ignore_broken_pipes() { ::signal(SIGPIPE, SIG_IGN); }

}  // namespace castor::cli

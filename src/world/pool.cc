#include "world/pool.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "core/check.h"
#include "core/mutex.h"

namespace castor::world {

unsigned available_threads() { return std::max(1U, std::thread::hardware_concurrency()); }

struct Pool::State {
  unsigned threads = 1;  // constant after the pool's constructor
  Mutex mutex;
  CondVar work_ready, work_done;
  std::uint64_t generation GUARDED_BY(mutex) = 0;
  unsigned running GUARDED_BY(mutex) = 0;
  bool busy GUARDED_BY(mutex) = false;  // from the start of run_on_all to its end
  bool stopping GUARDED_BY(mutex) = false;
  const FunctionRef<void(unsigned)>* work GUARDED_BY(mutex) = nullptr;
  std::vector<std::jthread> helpers;

  void help(unsigned index) {
    std::uint64_t seen = 0;
    for (;;) {
      const FunctionRef<void(unsigned)>* mine = nullptr;
      {
        const MutexLock lock(mutex);
        while (generation == seen && !stopping) work_ready.wait(mutex);
        if (stopping) return;
        seen = generation;
        mine = work;
      }
      (*mine)(index);
      const MutexLock lock(mutex);
      if (--running == 0) work_done.notify_one();
    }
  }
};

Pool::Pool(unsigned threads) : state_(std::make_unique<State>()) {
  CHECK(threads >= 1);
  state_->helpers.reserve(threads);
  try {
    for (unsigned index = 1; index < threads; ++index) {
      state_->helpers.emplace_back([state = state_.get(), index] { state->help(index); });
    }
  } catch (const std::system_error&) {  // a limit on processes or memory: fewer must do
  }
  state_->threads = static_cast<unsigned>(state_->helpers.size()) + 1;
}

Pool::~Pool() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->work_ready.notify_all();
}

unsigned Pool::threads() const { return state_->threads; }

void Pool::run_on_all(FunctionRef<void(unsigned)> f) {
  if (state_->threads == 1) return f(0);
  {
    const MutexLock lock(state_->mutex);
    CHECK(!state_->busy, "the pool is already running something");
    state_->busy = true;
    state_->work = &f;
    state_->running = state_->threads - 1;
    ++state_->generation;
  }
  state_->work_ready.notify_all();
  f(0);
  const MutexLock lock(state_->mutex);
  while (state_->running > 0) state_->work_done.wait(state_->mutex);
  state_->busy = false;
}

void Pool::run(std::size_t n, std::size_t grain, FunctionRef<void(std::size_t, std::size_t)> f) {
  CHECK(grain > 0);
  if (n == 0) return;
  if (state_->threads == 1 || n <= grain) {
    for (std::size_t first = 0; first < n; first += grain) f(first, std::min(n, first + grain));
    return;
  }
  std::atomic<std::size_t> next = 0;
  run_on_all([&](unsigned) {
    for (;;) {
      const std::size_t first = next.fetch_add(grain);
      if (first >= n) return;
      f(first, std::min(n, first + grain));
    }
  });
}

}  // namespace castor::world

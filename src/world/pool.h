#pragma once
// The compute pool: a fixed number of threads that run chunks of a loop, or one function on all of
// them. The calling thread is one of them, so a pool of 1 starts no thread and runs everything
// inline.
//
// Thread: run and run_on_all from one thread at a time, never from inside a chunk.
#include <cstddef>
#include <memory>

#include "core/function_ref.h"

namespace castor::world {

// Processors this process may use; at least 1.
unsigned available_threads();

class Pool {
 public:
  // REQUIRES: threads >= 1. Where the system refuses to start so many, there are fewer: see
  // threads().
  explicit Pool(unsigned threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  unsigned threads() const;

  // Calls f(first, last) for consecutive pieces of [0, n) of at most `grain`, in any order, and
  // returns when all have ended.
  void run(std::size_t n, std::size_t grain, FunctionRef<void(std::size_t, std::size_t)> f);

  // Calls f(index) once on every thread, index in [0, threads()), 0 on the calling one.
  void run_on_all(FunctionRef<void(unsigned)> f);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace castor::world

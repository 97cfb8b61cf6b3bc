#pragma once
// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). A stream is a pure function of its key, so a task draws the same numbers
// wherever and whenever it runs. Distributions are our own: the standard library's are not
// specified bit for bit.
//
// Thread: one at a time; copies are independent and continue from the same place.
#include <array>
#include <cstdint>
#include <span>

#include "core/ids.h"

namespace castor {

// What a random stream belongs to. Streams with different keys are independent.
struct StreamKey {
  std::uint64_t seed = 1;
  ShardId shard = 0;
  Clock clock = 0;
  BlockId block = 0;
};

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

class Rng {
 public:
  explicit Rng(StreamKey key);

  std::uint64_t next();                          // 64 random bits
  double uniform();                              // [0, 1), 53 bits
  float uniform_float();                         // [0, 1), 24 bits
  double normal();                               // mean 0, variance 1
  std::uint64_t below(std::uint64_t bound);      // [0, bound), unbiased; REQUIRES: bound > 0
  void shuffle(std::span<std::uint32_t> items);  // Fisher-Yates

  // UniformRandomBitGenerator.
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()() { return next(); }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;  // words 0, 1 count; 2, 3 are shard and block
  std::array<std::uint32_t, 4> block_{};  // the present output
  std::uint32_t used_ = 4;                // words of block_ already given out
  bool has_spare_ = false;
  double spare_ = 0;
};

// A well-mixed 64-bit hash of one value (the finaliser of splitmix64).
std::uint64_t mix64(std::uint64_t value);

}  // namespace castor

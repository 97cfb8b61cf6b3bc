#pragma once
// Physical time: nanoseconds as a strong integer. Only World::now() makes an Instant.
//
// Thread: any (plain values).
#include <compare>
#include <cstdint>
#include <limits>

namespace castor {

struct Duration {
  std::int64_t ns = 0;

  // Beyond +-292 years: the longest there is. NaN is 0.
  static constexpr Duration from_seconds(double seconds) {
    const double ns = seconds * 1e9;
    if (ns >= 0x1p63) return {std::numeric_limits<std::int64_t>::max()};
    if (ns <= -0x1p63) return {std::numeric_limits<std::int64_t>::min()};
    return {ns == ns ? static_cast<std::int64_t>(ns) : 0};
  }
  static constexpr Duration from_ms(std::int64_t ms) { return {ms * 1'000'000}; }
  constexpr double seconds() const { return static_cast<double>(ns) * 1e-9; }

  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration other) const { return {ns + other.ns}; }
  constexpr Duration operator-(Duration other) const { return {ns - other.ns}; }
};

// Nanoseconds since an unspecified start that does not change while a process lives.
struct Instant {
  std::int64_t ns = 0;

  constexpr auto operator<=>(const Instant&) const = default;
  constexpr Duration operator-(Instant other) const { return {ns - other.ns}; }
  constexpr Instant operator+(Duration d) const { return {ns + d.ns}; }
};

}  // namespace castor

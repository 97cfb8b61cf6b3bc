#pragma once
// Physical time: nanoseconds as a strong integer. Only World::now() makes an Instant.
//
// Thread: any (plain values).
#include <compare>
#include <cstdint>

namespace castor {

struct Duration {
  std::int64_t ns = 0;

  static constexpr Duration from_seconds(double seconds) {
    return {static_cast<std::int64_t>(seconds * 1e9)};
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

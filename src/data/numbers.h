#pragma once
// Numbers as they stand in text files. The fast forms look at eight bytes at a time and know only
// the common cases; the slow ones know all of them.
//
// Thread: any.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace castor::data {

// Bytes behind any text given to the fast forms that may be read, whatever is in them.
inline constexpr std::size_t readable_beyond = 32;

struct DigitRun {
  std::uint32_t value = 0;  // of the first `size` digits
  unsigned size = 0;        // 0..8; 8 = perhaps more follow
};

// The decimal digits at `at`, at most eight of them.
inline DigitRun digit_run(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, 8);
  word ^= 0x3030303030303030u;  // digits become 0..9, everything else is above
  const std::uint64_t others =
      (((word & 0x7f7f7f7f7f7f7f7fu) + 0x7676767676767676u) | word) & 0x8080808080808080u;
  const unsigned size = others == 0 ? 8 : static_cast<unsigned>(std::countr_zero(others)) >> 3;
  if (size == 0) return {};
  word <<= 64 - 8 * size;  // leading zeros
  word = (word * 10) + (word >> 8);
  word = (((word & 0x000000ff000000ffu) * 0x000f424000000064u) +
          (((word >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u)) >>
         32;
  return {static_cast<std::uint32_t>(word), size};
}

inline constexpr float powers_of_ten[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f};
inline constexpr std::uint32_t integer_powers_of_ten[] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

// 0.0, 0.1, ..., 9.9: what nearly all ratings are.
inline constexpr auto tenths = [] {
  std::array<float, 100> values{};
  for (unsigned i = 0; i < 100; ++i) values[i] = static_cast<float>(i) / 10;
  return values;
}();

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A number such as 4, 3.5 or 0.125 at `at`. Gives where it ends, or null when it has another form
// (a sign, an exponent, many digits), which means nothing about its being right.
inline const char* parse_simple(const char* at, float* value) {
  if (is_digit(at[0]) && at[1] == '.' && is_digit(at[2]) && !is_digit(at[3])) {
    *value = tenths[static_cast<unsigned>((at[0] - '0') * 10 + (at[2] - '0'))];
    return at + 3;
  }
  const DigitRun whole = digit_run(at);
  if (whole.size == 0 || whole.size == 8) return nullptr;
  at += whole.size;
  if (*at != '.') {
    *value = static_cast<float>(whole.value);
    return whole.value < (1u << 24) ? at : nullptr;
  }
  const DigitRun part = digit_run(++at);
  if (part.size == 8) return nullptr;
  // Both operands are exact and so the quotient is the float nearest to the decimal number.
  const std::uint64_t digits =
      std::uint64_t{whole.value} * integer_powers_of_ten[part.size] + part.value;
  *value = static_cast<float>(digits) / powers_of_ten[part.size];
  return digits < (1u << 24) ? at + part.size : nullptr;
}

enum class ValueKind : unsigned char {
  good,
  not_a_number,   // no number at all
  not_finite,     // nan or infinity
  too_large,      // for a float
  decimal_comma,  // a number but for a comma where the point should be
};

// The whole of `field` as a float, correctly rounded; a leading '+' is fine.
ValueKind parse_value(std::string_view field, float* value);

}  // namespace castor::data

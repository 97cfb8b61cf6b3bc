#pragma once
// Text formatting for messages: text("{} of {}", a, b) returns a std::string. The format language
// is that of std::format; the implementation is fenced into text.cc so that no header pays for it.
//
// Thread: any.
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace castor {

// One formatting argument, type-erased. Holds views: it must not outlive the call it is made for.
class TextArg {
 public:
  enum class Kind : std::uint8_t { boolean, signed_integer, unsigned_integer, real, string };

  template <class T>
  TextArg(const T& value) {  // NOLINT(google-explicit-constructor): made implicitly by text()
    if constexpr (std::same_as<T, bool>) {
      kind = Kind::boolean, boolean = value;
    } else if constexpr (std::floating_point<T>) {
      kind = Kind::real, real = static_cast<double>(value);
    } else if constexpr (std::signed_integral<T> && !std::same_as<T, char>) {
      kind = Kind::signed_integer, signed_integer = value;
    } else if constexpr (std::unsigned_integral<T>) {
      kind = Kind::unsigned_integer, unsigned_integer = value;
    } else {
      kind = Kind::string, string = std::string_view(value);
    }
  }

  Kind kind = Kind::boolean;
  bool boolean = false;
  std::int64_t signed_integer = 0;
  std::uint64_t unsigned_integer = 0;
  double real = 0;
  std::string_view string;
};

// A malformed pattern yields the pattern itself with a marker, never an exception.
std::string text_of(std::string_view pattern, std::span<const TextArg> args);

template <class... Args>
std::string text(std::string_view pattern, const Args&... args) {
  if constexpr (sizeof...(Args) == 0) {
    return text_of(pattern, {});
  } else {
    const TextArg list[] = {TextArg(args)...};
    return text_of(pattern, list);
  }
}

// The shortest decimal text that reads back as the same value ("nan", "inf", "-inf" where not
// finite).
std::string shortest(double value);
std::string shortest(float value);

// 1234567 -> "1,234,567".
std::string grouped(std::uint64_t value);

// "hello" with everything unprintable shown as \xNN, cut to `limit` bytes: safe in an error
// message.
std::string printable(std::string_view raw, std::size_t limit = 60);

// The candidate nearest to `word` by edit distance, if near enough to be a likely typing mistake;
// else "".
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace castor

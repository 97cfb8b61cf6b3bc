#include "core/text.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/limits.h"

namespace castor {

std::string text_of(std::string_view pattern, std::span<const TextArg> args) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const TextArg& arg : args) {
    switch (arg.kind) {
      case TextArg::Kind::boolean: store.push_back(arg.boolean); break;
      case TextArg::Kind::signed_integer: store.push_back(arg.signed_integer); break;
      case TextArg::Kind::unsigned_integer: store.push_back(arg.unsigned_integer); break;
      case TextArg::Kind::real: store.push_back(arg.real); break;
      case TextArg::Kind::string: store.push_back(arg.string); break;
    }
  }
  try {
    return fmt::vformat(fmt::string_view(pattern.data(), pattern.size()), store);
  } catch (const fmt::format_error&) {
    return std::string(pattern) + " (badly formatted message)";
  }
}

namespace {

template <class T>
std::string shortest_of(T value) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end.ptr};
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, above + 1, row[j - 1] + 1});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string shortest(double value) { return shortest_of(value); }
std::string shortest(float value) { return shortest_of(value); }

std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string printable(std::string_view raw, std::size_t limit) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out;
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x20 && byte != 0x7f;
    if (out.size() + (plain ? 1 : 4) > limit) return out + "...";
    if (plain) {
      out += c;
    } else {
      out += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    }
  }
  return out;
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  if (word.size() > limits::name_bytes_max) return best;  // not a name, and slow to compare
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) best_distance = distance, best = candidate;
  }
  return best;
}

}  // namespace castor

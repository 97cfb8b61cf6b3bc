#include "data/numbers.h"

#include <charconv>
#include <cmath>
#include <string>

namespace castor::data {
namespace {

bool has_exponent_only_letters(std::string_view field) {
  for (const char c : field) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+') return false;
  }
  return true;
}

ValueKind parse_unsigned_plus(std::string_view field, float* value) {
  const char* end = field.data() + field.size();
  const auto [at, code] = std::from_chars(field.data(), end, *value);
  if (at != end || code == std::errc::invalid_argument) return ValueKind::not_a_number;
  if (code == std::errc::result_out_of_range) {
    double wide = 0;
    const bool wide_fits = std::from_chars(field.data(), end, wide).ec == std::errc();
    if (wide_fits && std::abs(wide) < 1) {  // nearer to 0 than any float but 0
      *value = static_cast<float>(wide);
      return ValueKind::good;
    }
    if (wide_fits) return ValueKind::too_large;
    const bool tiny = field.find("e-") != field.npos || field.find("E-") != field.npos;
    *value = 0;
    return tiny ? ValueKind::good : ValueKind::too_large;
  }
  return std::isfinite(*value) ? ValueKind::good : ValueKind::not_finite;
}

}  // namespace

ValueKind parse_value(std::string_view field, float* value) {
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);
  const ValueKind kind = parse_unsigned_plus(field, value);
  if (kind != ValueKind::not_a_number) return kind;
  const auto comma = field.find(',');
  if (comma == field.npos || field.find(',', comma + 1) != field.npos) return kind;
  std::string pointed(field);
  pointed[comma] = '.';
  float ignored = 0;
  const bool number = has_exponent_only_letters(pointed) &&
                      parse_unsigned_plus(pointed, &ignored) == ValueKind::good;
  return number ? ValueKind::decimal_comma : ValueKind::not_a_number;
}

}  // namespace castor::data

#include "data/matrix_market.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>

namespace castor::data {
namespace {

constexpr std::string_view banner = "%%MatrixMarket";

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

Status check_banner(std::string_view line, std::string_view name, bool* pattern) {
  static constexpr const char* expected[] = {"matrix", "coordinate", "", "general"};
  const LineFormat spaced;
  FieldCursor cursor(line, spaced);
  FieldText field;
  cursor.next(&field);
  for (unsigned i = 0; i < 4; ++i) {
    if (!cursor.next(&field)) {
      return error(Code::invalid,
                   "{}:1: expected '%%MatrixMarket matrix coordinate real general', found '{}'",
                   name, printable(line));
    }
    const std::string word = lower(field.text);
    const bool type = i == 2 && (word == "real" || word == "integer" || word == "pattern");
    if (!type && word != expected[i]) {
      return error(Code::unsupported, "{}:1:{}: Matrix Market '{}' files are not read; expected {}",
                   name, static_cast<std::size_t>(field.begin - line.data()) + 1, printable(word),
                   i == 2 ? "real, integer or pattern" : expected[i]);
    }
    if (i == 2) *pattern = word == "pattern";
  }
  return {};
}

Status read_sizes(std::string_view line, std::string_view name, DetectedFormat& detected) {
  std::array<std::uint64_t, 3> sizes{};
  FieldCursor cursor(line, detected.lines);
  FieldText field;
  bool good = true;
  for (std::uint64_t& size : sizes) {
    good = good && cursor.next(&field);
    const char* end = field.text.data() + field.text.size();
    good = good && std::from_chars(field.text.data(), end, size).ptr == end;
  }
  if (!good || cursor.next(&field)) {
    return error(Code::invalid, "{}:{}: expected the sizes 'rows columns entries', found '{}'",
                 name, detected.skip_lines, printable(line));
  }
  if (std::max(sizes[0], sizes[1]) > 0xffffffff) {
    return error(Code::unsupported, "{}:{}: more than 4,294,967,295 rows or columns", name,
                 detected.skip_lines);
  }
  // A matrix without rows can have no entries, which reading them finds.
  detected.lines.rows_max = static_cast<std::uint32_t>(std::max<std::uint64_t>(sizes[0], 1));
  detected.lines.cols_max = static_cast<std::uint32_t>(std::max<std::uint64_t>(sizes[1], 1));
  detected.entries = sizes[2];
  return {};
}

}  // namespace

bool is_matrix_market(std::string_view start) { return line_at(start, true).starts_with(banner); }

Result<DetectedFormat> read_matrix_market_header(std::string_view start, std::string_view name) {
  DetectedFormat detected;
  detected.lines.format = RatingsFormat::matrix_market;
  if (!is_matrix_market(start)) {
    return error(Code::invalid, "{}:1: expected a first line '%%MatrixMarket ...', found '{}'",
                 name, printable(line_at(start, true)));
  }
  bool pattern = false;
  TRY(check_banner(line_at(start, true), name, &pattern));
  detected.lines.has_value = !pattern;
  detected.header = true;
  for (bool banner_line = true; detected.skip_bytes < start.size(); banner_line = false) {
    const std::string_view rest = start.substr(detected.skip_bytes);
    const std::string_view line = line_at(rest, false);
    detected.skip_bytes += std::min(rest.find('\n'), rest.size() - 1) + 1;
    ++detected.skip_lines;
    if (banner_line || line.starts_with('%') || line.starts_with('#') || is_blank(line)) continue;
    TRY(read_sizes(line, name, detected));
    return detected;
  }
  return error(Code::invalid, "{}:{}: expected a line of sizes 'rows columns entries', found none",
               name, detected.skip_lines + 1);
}

}  // namespace castor::data

#include "data/line_format.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "data/matrix_market.h"
#include "data/numbers.h"

namespace castor::data {
namespace {

constexpr std::size_t sample_bytes_max = std::size_t{64} << 10;
constexpr std::size_t sample_lines_max = 200;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// In order of preference.
constexpr std::array separated_formats = {RatingsFormat::tab, RatingsFormat::colons,
                                          RatingsFormat::semicolon, RatingsFormat::comma,
                                          RatingsFormat::space};

bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(const char* begin, const char* end) {
  while (begin < end && *begin == ' ') ++begin;
  while (begin < end && end[-1] == ' ') --end;
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::string_view name_of(RatingsFormat format) {
  switch (format) {
    case RatingsFormat::tab: return "tsv";
    case RatingsFormat::comma: return "csv";
    case RatingsFormat::semicolon: return "semicolon";
    case RatingsFormat::colons: return "colons";
    case RatingsFormat::space: return "space";
    case RatingsFormat::matrix_market: return "mtx";
  }
  return "";
}

unsigned LineFormat::columns_needed() const {
  const unsigned ids = std::max(user_column, item_column);
  return 1 + (has_value ? std::max(ids, value_column) : ids);
}

std::string_view LineFormat::separator() const {
  switch (format) {
    case RatingsFormat::tab: return "\t";
    case RatingsFormat::comma: return ",";
    case RatingsFormat::semicolon: return ";";
    case RatingsFormat::colons: return "::";
    case RatingsFormat::space:
    case RatingsFormat::matrix_market: return " ";
  }
  return "";
}

void FieldCursor::next_spaced(FieldText* field) {
  const char* begin = at_;
  while (at_ < end_ && !is_space(*at_)) ++at_;
  field->text = {begin, static_cast<std::size_t>(at_ - begin)};
  field->begin = begin;
}

// REQUIRES: at_ is on the opening quote.
void FieldCursor::next_quoted(FieldText* field) {
  field->begin = at_++;
  const char* begin = at_;
  for (;; at_ += 2) {
    at_ = std::find(at_, end_, '"');
    if (at_ == end_) {
      field->problem = "the quotes are not closed on this line";
      ended_ = true;
      return;
    }
    if (at_ + 1 == end_ || at_[1] != '"') break;
    field->doubled = true;
  }
  field->text = {begin, static_cast<std::size_t>(at_ - begin)};
  ++at_;
  while (at_ < end_ && *at_ == ' ') ++at_;
  if (at_ == end_) {
    ended_ = true;
  } else if (*at_ == format_->separator()[0]) {
    ++at_;
  } else {
    field->problem = "text follows the closing quote";
  }
}

bool FieldCursor::next(FieldText* field) {
  *field = {};
  if (ended_) return false;
  if (format_->is_spaced()) {
    while (at_ < end_ && is_space(*at_)) ++at_;
    if (at_ == end_) return false;
    next_spaced(field);
    return true;
  }
  if (format_->has_quotes()) {
    const char* quote = at_;
    while (quote < end_ && *quote == ' ') ++quote;
    if (quote < end_ && *quote == '"') {
      at_ = quote;
      next_quoted(field);
      return true;
    }
  }
  const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
  const std::string_view separator = format_->separator();
  const std::size_t size = std::min(rest.find(separator), rest.size());
  field->text = trimmed(at_, at_ + size);
  field->begin = field->text.empty() ? at_ : field->text.data();
  ended_ = size == rest.size();
  at_ += ended_ ? size : size + separator.size();
  return true;
}

std::string undoubled(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '"') ++i;
  }
  return out;
}

std::string_view line_at(std::string_view text, bool first) {
  std::string_view line = text.substr(0, text.find('\n'));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (first && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  return line;
}

bool is_blank(std::string_view line) { return line.find_first_not_of(' ') == line.npos; }

namespace {

// The three fields of a line under a format; empty when it has too few or broken ones.
struct Triple {
  bool complete = false;
  std::string_view user, item, value;
};

Triple triple_of(std::string_view line, const LineFormat& format) {
  Triple result;
  FieldText field;
  FieldCursor cursor(line, format);
  const unsigned needed = format.columns_needed();
  for (unsigned column = 0; column < needed; ++column) {
    if (!cursor.next(&field) || field.problem != nullptr) return result;
    if (column == format.user_column) result.user = field.text;
    if (column == format.item_column) result.item = field.text;
    if (column == format.value_column && format.has_value) result.value = field.text;
  }
  result.complete = !result.user.empty() && !result.item.empty();
  return result;
}

bool is_like_a_number(std::string_view field) {
  float ignored = 0;
  return parse_value(field, &ignored) != ValueKind::not_a_number;
}

bool is_integer(std::string_view field) {
  return !field.empty() && field.find_first_not_of("0123456789") == field.npos;
}

std::vector<std::string_view> sample_of(std::string_view start) {
  std::vector<std::string_view> lines;
  std::string_view rest = start.substr(0, sample_bytes_max);
  if (rest.size() < start.size()) {  // only whole lines, but at least one
    const auto last = rest.rfind('\n');
    rest = last == rest.npos ? start.substr(0, start.find('\n')) : rest.substr(0, last + 1);
  }
  for (bool first = true; !rest.empty() && lines.size() < sample_lines_max; first = false) {
    const std::string_view line = line_at(rest, first);
    if (!is_blank(line)) lines.push_back(line);
    const auto end = rest.find('\n');
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  return lines;
}

// How well the sample reads under a format: lines that make sense count most, then enough columns.
std::size_t score_of(const std::vector<std::string_view>& sample, const LineFormat& format) {
  std::size_t score = 0;
  for (const std::string_view line : sample) {
    const Triple triple = triple_of(line, format);
    if (!triple.complete) continue;
    score += !format.has_value || is_like_a_number(triple.value) ? sample_lines_max + 1 : 1;
  }
  return score;
}

RatingsFormat best_format(const std::vector<std::string_view>& sample, LineFormat format) {
  RatingsFormat best = RatingsFormat::space;
  std::size_t best_score = 0;
  for (const RatingsFormat candidate : separated_formats) {
    format.format = candidate;
    const std::size_t score = score_of(sample, format);
    if (score > best_score) best_score = score, best = candidate;
  }
  return best;
}

// A first line is taken for names of columns when its rating is no number and neither id is one.
bool is_header(const std::vector<std::string_view>& sample, const LineFormat& format) {
  if (sample.empty()) return false;
  const Triple first = triple_of(sample[0], format);
  if (!first.complete || is_integer(first.user) || is_integer(first.item)) return false;
  if (format.has_value) return !is_like_a_number(first.value);
  const Triple second = sample.size() > 1 ? triple_of(sample[1], format) : Triple{};
  return second.complete && is_integer(second.user) && is_integer(second.item);
}

// Past the first line that is not blank.
void skip_header(std::string_view start, DetectedFormat& detected) {
  for (bool blank = true; blank && detected.skip_bytes < start.size();) {
    const std::string_view rest = start.substr(detected.skip_bytes);
    blank = is_blank(line_at(rest, detected.skip_bytes == 0));
    detected.skip_bytes += std::min(rest.find('\n'), rest.size() - 1) + 1;
    ++detected.skip_lines;
  }
}

std::size_t columns_of(std::string_view line, const LineFormat& format) {
  FieldCursor cursor(line, format);
  FieldText field;
  std::size_t count = 0;
  while (count < 1000 && cursor.next(&field) && field.problem == nullptr) ++count;
  return count;
}

// Could the column behind the rating be its decimals, as in "1,2,3,5" for 3.5?
bool is_like_decimals(std::string_view line, const LineFormat& format) {
  FieldCursor cursor(line, format);
  FieldText field, value;
  for (unsigned column = 0; column <= format.value_column; ++column) cursor.next(&value);
  const bool another = cursor.next(&field);
  const bool tail = field.text == "0" || field.text == "00" || field.text == "5" ||
                    field.text == "25" || field.text == "50" || field.text == "75";
  return another && tail && is_integer(value.text) && !cursor.next(&field);
}

// Commas both between columns and for the decimal point give lines a column too many.
Status look_for_decimal_commas(std::span<const std::string_view> sample, std::string_view name,
                               DetectedFormat& detected) {
  const LineFormat& lines = detected.lines;
  if (lines.format != RatingsFormat::comma || !lines.has_value || sample.empty()) return {};
  const auto body = sample.subspan(detected.header ? 1 : 0);
  if (body.empty()) return {};
  if (detected.header) {
    const std::size_t named = columns_of(sample[0], lines);
    const auto has_more = [&](std::string_view line) { return columns_of(line, lines) > named; };
    if (!std::ranges::all_of(body, has_more)) return {};
    return error(Code::invalid,
                 "{}:{}: expected the {} columns that the header names, found {}; if decimals are "
                 "written with ',', write them with '.'",
                 name, detected.skip_lines + 1, named, columns_of(body[0], lines));
  }
  if (std::ranges::all_of(body, [&](auto line) { return is_like_decimals(line, lines); })) {
    detected.warning = text(
        "{}: the column after the rating looks like decimals written with ','; "
        "it is ignored",
        name);
  }
  return {};
}

Status refuse_binary(std::string_view start, std::string_view name) {
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) {
    return error(Code::invalid, "{} is UTF-16 text; convert it to UTF-8 first", name);
  }
  const std::size_t zero = start.substr(0, sample_bytes_max).find('\0');
  if (zero == start.npos) return {};
  return error(Code::invalid, "{} is not text: byte {} is zero", name, zero + 1);
}

}  // namespace

Result<DetectedFormat> detect_format(std::string_view start, const ReadOptions& options,
                                     std::string_view name) {
  TRY(refuse_binary(start, name));
  if (options.format == "mtx" || (options.format == "auto" && is_matrix_market(start))) {
    return read_matrix_market_header(start, name);
  }
  DetectedFormat detected;
  LineFormat& lines = detected.lines;
  lines.user_column = static_cast<unsigned>(options.user_column - 1);
  lines.item_column = static_cast<unsigned>(options.item_column - 1);
  lines.value_column = static_cast<unsigned>(options.value_column - 1);
  lines.has_value = !options.no_value;
  const std::vector<std::string_view> sample = sample_of(start);
  if (options.format == "auto") {
    lines.format = best_format(sample, lines);
  } else {
    for (const RatingsFormat format : separated_formats) {
      if (name_of(format) == options.format) lines.format = format;
    }
  }
  detected.header =
      options.header == "yes" || (options.header == "auto" && is_header(sample, lines));
  if (detected.header) {
    skip_header(start, detected);
  } else if (start.starts_with(byte_order_mark)) {
    detected.skip_bytes = byte_order_mark.size();
  }
  TRY(look_for_decimal_commas(sample, name, detected));
  return detected;
}

}  // namespace castor::data

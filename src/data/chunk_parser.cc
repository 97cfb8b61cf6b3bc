#include "data/chunk_parser.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "data/line_batches.h"
#include "data/numbers.h"

namespace castor::data {
namespace {

// A canonical number of up to ten digits; its length, or 0 when it is anything else.
[[gnu::always_inline]] inline unsigned canonical_at(const char* at, std::uint32_t* number) {
  DigitRun run = digit_run(at);
  if (*at == '0' && run.size > 1) return 0;
  if (run.size < 8) [[likely]] {
    *number = run.value;
    return run.size;
  }
  const DigitRun more = digit_run(at + 8);
  if (more.size > 2) return 0;
  const std::uint64_t value =
      std::uint64_t{run.value} * integer_powers_of_ten[more.size] + more.value;
  *number = static_cast<std::uint32_t>(value);
  return value <= 0xffffffff ? 8 + more.size : 0;
}

// One id column of a chunk: what the last id was, and what becomes of the next.
class Resolver {
 public:
  Resolver(const IdColumn& column, NewIds& fresh, std::uint32_t number_max)
      : ids_(*column.ids), grows_(column.grows), number_max_(number_max), fresh_(fresh) {}

  // In Matrix Market files, ids are numbers of rows and columns.
  bool is_in_range(std::uint32_t number) const {
    return number_max_ == 0 || (number >= 1 && number <= number_max_);
  }
  bool has_range() const { return number_max_ != 0; }
  std::uint32_t number_max() const { return number_max_; }
  bool is_numeric() const { return ids_.is_numeric(); }
  bool grows() const { return grows_; }

  [[gnu::always_inline]] std::uint32_t token(std::uint32_t number) {
    if (number == last_number_) return last_token_;
    std::uint32_t token = ids_.find_number(number);
    if (token == IdMap::npos && grows_) [[unlikely]] {
      token = new_id_bit | static_cast<std::uint32_t>(fresh_.numbers.size());
      fresh_.numbers.push_back(number);
    }
    last_number_ = number;
    return last_token_ = token;
  }

  // `id` must stay where it is.
  std::uint32_t token(std::string_view id) {
    if (id == last_text_) return last_token_;
    std::uint32_t token = ids_.find_text(id);
    if (token == IdMap::npos && grows_) [[unlikely]] {
      token = new_id_bit | static_cast<std::uint32_t>(fresh_.texts.size());
      fresh_.texts.push_back(id);
    }
    last_text_ = id;
    return last_token_ = token;
  }

 private:
  const IdMap& ids_;
  const bool grows_;
  const std::uint32_t number_max_;
  NewIds& fresh_;
  std::uint64_t last_number_ = ~std::uint64_t{0};  // no number
  std::string_view last_text_;                     // empty is no id
  std::uint32_t last_token_ = 0;
};

class ChunkParser {
 public:
  ChunkParser(const LineFormat& format, const IdColumn& users, const IdColumn& items,
              ParsedChunk& chunk)
      : format_(format),
        chunk_(chunk),
        users_(users, chunk.users, format.rows_max),
        items_(items, chunk.items, format.cols_max) {
    const std::string_view separator = format.separator();
    separator_ = separator[0];
    separator_size_ = separator.size();
    for (const char c : {separator_, '\n', '\r'}) stops_[static_cast<unsigned char>(c)] = true;
    if (format.is_spaced()) stops_['\t'] = true;
  }

  void parse() {
    const bool numeric = users_.is_numeric() && items_.is_numeric();
    const bool standard = format_.user_column == 0 && format_.item_column == 1 &&
                          (!format_.has_value || format_.value_column == 2) &&
                          (numeric || !format_.has_comments());  // no comment starts with a digit
    std::optional<LineError> later;
    const std::string_view text = readable_part(&later);
    const char* at = text.data();
    const char* end = at + text.size();
    while (at < end) {
      if (standard) at = parse_common(at, end);
      if (at == end) break;
      at = parse_line(at, end);
      if (at == nullptr) return;
    }
    if (later.has_value()) {
      later->line += chunk_.lines;
      chunk_.error = std::move(later);
    }
  }

 private:
  // The text before the first line that cannot be text at all, which is then described.
  std::string_view readable_part(std::optional<LineError>* problem) const {
    const std::string_view text = chunk_.text;
    std::size_t bad = text.find('\0');
    std::size_t begin = bad == text.npos ? 0 : text.rfind('\n', bad) + 1;  // npos + 1 is 0
    if (bad != text.npos) {
      *problem = {.column = bad - begin + 1, .message = "expected text, found a zero byte"};
    }
    if (text.size() > line_bytes_max) {
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t size = std::min(text.find('\n', at), text.size()) - at;
        if (at >= begin && bad != text.npos) break;
        if (size > line_bytes_max) {
          *problem = {
              .message = castor::text("the line is longer than {} bytes", grouped(line_bytes_max))};
          bad = begin = at;
          break;
        }
        at += size + 1;
      }
    }
    return problem->has_value() ? text.substr(0, begin) : text;
  }

  const char* parse_common(const char* at, const char* end) {
    if (users_.is_numeric()) {
      return items_.is_numeric() ? parse_common<true, true>(at, end)
                                 : parse_common<true, false>(at, end);
    }
    return items_.is_numeric() ? parse_common<false, true>(at, end)
                               : parse_common<false, false>(at, end);
  }

  template <bool numeric>
  using Key = std::conditional_t<numeric, std::uint32_t, std::string_view>;

  bool is_separator(const char* at) const {
    return at[0] == separator_ && at[separator_size_ - 1] == separator_;
  }

  // Past the id and the separator behind it (or, with `last`, on what stands there); null when the
  // id is not of the plainest kind.
  const char* read_id(const char* at, bool last, std::uint32_t* number) const {
    const unsigned size = canonical_at(at, number);
    at += size;
    if (size == 0) return nullptr;
    if (last) return at;
    return is_separator(at) ? at + separator_size_ : nullptr;
  }
  const char* read_id(const char* at, bool last, std::string_view* id) const {
    const char* begin = at;
    if (*at == '"' || *at == ' ') return nullptr;
    while (!stops_[static_cast<unsigned char>(*at)]) ++at;
    if (at == begin || at[-1] == ' ') return nullptr;
    *id = {begin, static_cast<std::size_t>(at - begin)};
    if (last) return at;
    return is_separator(at) ? at + separator_size_ : nullptr;
  }

  static bool is_in_range(const Resolver& resolver, std::uint32_t number) {
    return resolver.is_in_range(number);
  }
  static bool is_in_range(const Resolver&, std::string_view) { return true; }

  // Lines that are ids and a value, plainly written, as nearly all are. Stops before the first line
  // that is not, or at `end`.
  template <bool numeric_users, bool numeric_items>
  const char* parse_common(const char* at, const char* end) {
    Rating* out = chunk_.storage.data() + chunk_.count;
    Rating* const begin = out;
    const bool has_value = format_.has_value;
    while (at < end) {
      Key<numeric_users> user{};
      Key<numeric_items> item{};
      float value = 1;
      const char* p = read_id(at, false, &user);
      if (p == nullptr) break;
      p = read_id(p, !has_value, &item);
      if (p == nullptr) break;
      if (has_value) {
        p = parse_simple(p, &value);
        if (p == nullptr) break;
      }
      if (*p != '\n') {
        if (*p == '\r' && p[1] == '\n') {
          ++p;
        } else if (is_separator(p)) {
          p = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
        } else {
          break;
        }
      }
      if (!is_in_range(users_, user) || !is_in_range(items_, item)) break;
      *out++ = {users_.token(user), items_.token(item), value};
      at = p + 1;
    }
    const auto done = static_cast<std::size_t>(out - begin);
    chunk_.count += done;
    chunk_.lines += done;
    return at;
  }

  // Any line. Gives the place behind it, or null when parsing ends here.
  const char* parse_line(const char* begin, const char* end) {
    const std::string_view rest(begin, static_cast<std::size_t>(end - begin));
    const std::string_view line = line_at(rest, false);
    const char* behind = begin + rest.find('\n') + 1;
    const bool comment = format_.has_comments() && (line.starts_with('%') || line.starts_with('#'));
    if (!is_blank(line) && !comment && !parse_fields(line)) return nullptr;
    ++chunk_.lines;
    return behind;
  }

  bool parse_fields(std::string_view line) {
    FieldCursor cursor(line, format_);
    FieldText field, user, item, value;
    const unsigned needed = format_.columns_needed();
    for (unsigned column = 0; column < needed; ++column) {
      if (!cursor.next(&field)) {
        return column == 0 || too_few_columns(column);  // nothing but spaces and tabs
      }
      if (field.problem != nullptr) return fail(line, field, field.problem);
      if (column == format_.user_column) user = field;
      if (column == format_.item_column) item = field;
      if (column == format_.value_column) value = field;
    }
    Rating rating;
    if (!resolve(line, user, "user", users_, chunk_.users_need_text, &rating.user)) return false;
    if (!resolve(line, item, "item", items_, chunk_.items_need_text, &rating.item)) return false;
    rating.value = 1;
    if (format_.has_value && !read_value(line, value, &rating.value)) return false;
    chunk_.storage[chunk_.count++] = rating;
    return true;
  }

  bool resolve(std::string_view line, const FieldText& field, std::string_view what,
               Resolver& resolver, bool& needs_text, std::uint32_t* token) {
    std::string_view id = field.text;
    if (id.empty()) return fail(line, field, castor::text("expected the {}, found nothing", what));
    std::uint32_t number = 0;
    const bool canonical = parse_canonical(id, &number);
    if (resolver.has_range() && (!canonical || !resolver.is_in_range(number))) {
      return fail(
          line, field,
          castor::text("expected a {} from 1 to {}, found '{}'", what == "user" ? "row" : "column",
                       resolver.number_max(), printable(id)));
    }
    if (resolver.is_numeric()) {
      if (canonical) {
        *token = resolver.token(number);
      } else if (resolver.grows()) {
        needs_text = true;
        return false;
      } else {
        *token = IdMap::npos;
      }
      return true;
    }
    if (field.doubled) id = chunk_.unquoted.emplace_back(undoubled(id));
    *token = resolver.token(id);
    return true;
  }

  bool read_value(std::string_view line, const FieldText& field, float* value) {
    if (field.text.empty()) return fail(line, field, "expected a rating, found nothing");
    std::string_view hint;
    switch (parse_value(field.text, value)) {
      case ValueKind::good: return true;
      case ValueKind::not_a_number: break;
      case ValueKind::not_finite: hint = ": ratings must be finite"; break;
      case ValueKind::too_large: hint = ": it is too large"; break;
      case ValueKind::decimal_comma: hint = ": write the decimal point as '.', not ','"; break;
    }
    return fail(line, field,
                castor::text("expected a rating, found '{}'{}", printable(field.text), hint));
  }

  bool too_few_columns(unsigned found) {
    std::string message = castor::text(
        "expected {} columns{} separated by {}, found {}", format_.columns_needed(),
        format_.has_value ? " (user, item, rating)" : " (user, item)", separator_name(), found);
    if (format_.has_value && found == 2 && format_.columns_needed() == 3) {
      message += "; if these are ratings without values, say --no-value";
    }
    chunk_.error = {.line = chunk_.lines, .column = 0, .message = std::move(message)};
    return false;
  }

  std::string_view separator_name() const {
    switch (format_.format) {
      case RatingsFormat::tab: return "a tab";
      case RatingsFormat::comma: return "','";
      case RatingsFormat::semicolon: return "';'";
      case RatingsFormat::colons: return "'::'";
      case RatingsFormat::space:
      case RatingsFormat::matrix_market: return "spaces";
    }
    return "";
  }

  bool fail(std::string_view line, const FieldText& field, std::string message) {
    chunk_.error = {.line = chunk_.lines,
                    .column = static_cast<std::uint64_t>(field.begin - line.data()) + 1,
                    .message = std::move(message)};
    return false;
  }

  const LineFormat& format_;
  ParsedChunk& chunk_;
  Resolver users_, items_;
  char separator_ = ' ';
  std::size_t separator_size_ = 1;
  std::array<bool, 256> stops_{};
};

// The shortest line that is a rating: "1 1\n", or "1 1 1\n".
std::size_t ratings_max(const LineFormat& format, std::size_t text_bytes) {
  const std::size_t line_bytes = format.has_value ? 6 : 4;
  return text_bytes / line_bytes + 1;
}

}  // namespace

void parse_chunk(const LineFormat& format, const IdColumn& users, const IdColumn& items,
                 ParsedChunk& chunk) {
  const std::size_t needed = ratings_max(format, chunk.text.size());
  if (chunk.storage.size() < needed) chunk.storage.resize(needed);
  chunk.count = 0;
  chunk.lines = 0;
  chunk.users.clear();
  chunk.items.clear();
  chunk.unquoted.clear();
  chunk.users_need_text = chunk.items_need_text = false;
  chunk.error.reset();
  ChunkParser(format, users, items, chunk).parse();
}

}  // namespace castor::data

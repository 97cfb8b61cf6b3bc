#pragma once
// How the lines of a ratings file are laid out, found from its first lines; and cutting a line into
// fields. Spaces around a field are not part of it. Quotes ("a ""b"", c") mean something only where
// the separator is a comma or a semicolon; a quoted field ends on its line.
//
// Thread: any.
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"
#include "data/ratings.h"

namespace castor::data {

struct LineFormat {
  RatingsFormat format = RatingsFormat::space;
  unsigned user_column = 0;  // counted from 0
  unsigned item_column = 1;
  unsigned value_column = 2;
  bool has_value = true;
  std::uint32_t rows_max = 0;  // Matrix Market: ids are from 1 to these; 0 = any id
  std::uint32_t cols_max = 0;

  bool is_spaced() const {  // any run of spaces and tabs separates
    return format == RatingsFormat::space || format == RatingsFormat::matrix_market;
  }
  bool has_quotes() const {
    return format == RatingsFormat::comma || format == RatingsFormat::semicolon;
  }
  bool has_comments() const { return format == RatingsFormat::matrix_market; }
  unsigned columns_needed() const;
  // "\t" ",": what stands between two fields; a single space when is_spaced().
  std::string_view separator() const;
};

struct FieldText {
  std::string_view text;        // within the line; without the quotes, doubled quotes still doubled
  const char* begin = nullptr;  // where the field begins in the line
  bool doubled = false;         // text holds doubled quotes
  const char* problem = nullptr;  // what is wrong with the quotes
};

class FieldCursor {
 public:
  FieldCursor(std::string_view line, const LineFormat& format)
      : at_(line.data()), end_(line.data() + line.size()), format_(&format) {}

  // False when the line has no further field.
  bool next(FieldText* field);

 private:
  void next_spaced(FieldText* field);
  void next_quoted(FieldText* field);

  const char* at_;
  const char* end_;
  const LineFormat* format_;
  bool ended_ = false;
};

// `text` without doubled quotes.
std::string undoubled(std::string_view text);

// Without the newline, a carriage return before it, and a byte order mark if `first` is set.
std::string_view line_at(std::string_view text, bool first);
bool is_blank(std::string_view line);  // nothing but spaces

struct DetectedFormat {
  LineFormat lines;
  bool header = false;
  std::size_t skip_bytes = 0;  // before the first rating
  std::uint64_t skip_lines = 0;
  std::uint64_t entries = 0;  // Matrix Market: how many ratings the file says it holds
  std::string warning = {};   // a sentence; empty = nothing looks wrong
};

// From the first lines of a file, all whole. `name` is used in errors.
Result<DetectedFormat> detect_format(std::string_view start, const ReadOptions& options,
                                     std::string_view name);

}  // namespace castor::data

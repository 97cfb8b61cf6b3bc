#include "data/ratings_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "data/line_format.h"

namespace castor::data {
namespace {

// What tells a reader that the file is not plain lines of UTF-8.
constexpr std::string_view file_marks[] = {"\xEF\xBB\xBF", "\xFF\xFE", "\xFE\xFF",
                                           "%%MatrixMarket"};

bool has_outer_space(std::string_view id) { return id.front() == ' ' || id.back() == ' '; }

// Would a reader take a file that begins with it for something else?
bool is_misleading(std::string_view id) {
  return std::ranges::any_of(file_marks, [&](auto mark) { return id.starts_with(mark); });
}

void append_quoted(std::string_view id, std::string& line) {
  line += '"';
  for (const char c : id) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

}  // namespace

RatingsFormat format_for(std::string_view path) {
  return path.ends_with(".csv") ? RatingsFormat::comma : RatingsFormat::tab;
}

RatingsWriter::RatingsWriter(AtomicFile file, const WriteOptions& options)
    : file_(std::move(file)),
      options_(options),
      separator_(LineFormat{.format = options.format}.separator()) {}

Result<RatingsWriter> RatingsWriter::open(world::Files& files, const std::string& path,
                                          const WriteOptions& options) {
  CHECK(options.format != RatingsFormat::matrix_market);
  TRY_AS(AtomicFile file, AtomicFile::open(files, path));
  if (options.header) {
    const std::string_view separator = LineFormat{.format = options.format}.separator();
    TRY(file.append(text("user{}item{}rating\n", separator, separator)));
  }
  return RatingsWriter(std::move(file), options);
}

Status RatingsWriter::append_id(std::string_view id) {
  const bool held = !id.empty() && id.find('\n') == id.npos && id.find('\0') == id.npos;
  if (held && LineFormat{.format = options_.format}.has_quotes()) {
    const bool quote = id.find(separator_) != id.npos || id.find('\r') != id.npos ||
                       id.front() == '"' || has_outer_space(id) || is_misleading(id);
    quote ? append_quoted(id, line_) : static_cast<void>(line_ += id);
    return {};
  }
  const bool spaced = options_.format == RatingsFormat::space;
  const bool clear = held && id.find_first_of(spaced ? " \t\r" : "\r") == id.npos &&
                     !has_outer_space(id) && id.find(separator_) == id.npos &&
                     (spaced || id.back() != separator_[0]) &&
                     (spaced || id.front() != separator_[0]) && !is_misleading(id);
  if (!clear) {
    return error(Code::invalid, "the id '{}' cannot be written as {}{}", printable(id),
                 name_of(options_.format), held ? "; csv can hold it" : "");
  }
  line_ += id;
  return {};
}

void RatingsWriter::append_value(float value) {
  const float twice = value * 2;
  if (twice >= 0 && twice < 200 && twice == std::floor(twice)) {  // half steps, as most ratings
    const auto whole = static_cast<unsigned>(value);
    if (whole >= 10) line_ += static_cast<char>('0' + whole / 10);
    line_ += static_cast<char>('0' + whole % 10);
    if (static_cast<float>(whole) != value) line_ += ".5";
    return;
  }
  char buffer[32];
  line_.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

Status RatingsWriter::add(std::string_view user, std::string_view item, float value) {
  if (!std::isfinite(value)) {
    return error(Code::invalid, "the rating {} cannot be written: it is not finite", value);
  }
  line_.clear();
  TRY(append_id(user));
  line_ += separator_;
  TRY(append_id(item));
  line_ += separator_;
  append_value(value);
  line_ += '\n';
  ++written_;
  return file_.append(line_);
}

Status RatingsWriter::add(std::uint32_t user, std::uint32_t item, float value) {
  DCHECK(std::isfinite(value));
  char buffer[16];
  line_.assign(buffer, std::to_chars(buffer, buffer + sizeof buffer, user).ptr);
  line_ += separator_;
  line_.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, item).ptr);
  line_ += separator_;
  append_value(value);
  line_ += '\n';
  ++written_;
  return file_.append(line_);
}

Status RatingsWriter::finish() { return file_.commit(options_.sync); }

Result<std::uint64_t> write_ratings(world::Files& files, const std::string& path,
                                    const Ratings& ratings, const WriteOptions& options,
                                    Selection selection) {
  CHECK(selection.selected.empty() || selection.selected.size() == ratings.ratings.size());
  TRY_AS(RatingsWriter writer, RatingsWriter::open(files, path, options));
  std::string user, item;
  for (std::size_t i = 0; i < ratings.ratings.size(); ++i) {
    if (!selection.selected.empty() && selection.selected[i] != selection.wanted) continue;
    const Rating& rating = ratings.ratings[i];
    user.clear(), item.clear();
    ratings.users.append_text(rating.user, user);
    ratings.items.append_text(rating.item, item);
    TRY(writer.add(user, item, rating.value));
  }
  TRY(writer.finish());
  return writer.written();
}

}  // namespace castor::data

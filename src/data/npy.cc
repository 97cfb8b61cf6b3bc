#include "data/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>

#include "core/bytes.h"

namespace castor::data {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t header_alignment = 64;
constexpr std::size_t header_bytes_max = std::size_t{64} << 10;
constexpr std::array all_types = {NpyType::f32, NpyType::f64, NpyType::i32, NpyType::i64,
                                  NpyType::u32};

std::string header_of(const NpyShape& shape) {
  const std::string size =
      shape.dimensions == 1 ? text("({},)", shape.rows) : text("({}, {})", shape.rows, shape.cols);
  std::string header =
      text("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", name_of(shape.type), size);
  const std::size_t prefix = magic.size() + 4;
  while ((prefix + header.size() + 1) % header_alignment != 0) header += ' ';
  header += '\n';
  std::string out(magic);
  out +=
      {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return out + header;
}

// Reads the Python dictionary of a header: quoted keys; values that are quoted, words or tuples.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  struct Parsed {
    std::string_view type;
    bool fortran = false;
    std::vector<std::uint64_t> sizes;
  };

  // False when malformed.
  bool parse(Parsed* out) {
    bool has_type = false, has_order = false, has_sizes = false;
    if (!take('{')) return false;
    while (!take('}')) {
      std::string_view key;
      if (!quoted(&key) || !take(':')) return false;
      if (key == "descr" && !has_type) {
        has_type = quoted(&out->type);
        if (!has_type) return false;
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        if (take_word("True")) {
          out->fortran = true;
        } else if (!take_word("False")) {
          return false;
        }
      } else if (key == "shape" && !has_sizes) {
        has_sizes = tuple(&out->sizes);
        if (!has_sizes) return false;
      } else {
        return false;
      }
      if (!take(',') && !rest_.starts_with('}')) return false;
    }
    skip_space();
    return rest_.empty() && has_type && has_order && has_sizes;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    skip_space();
    return true;
  }
  bool take_word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    skip_space();
    return true;
  }
  bool quoted(std::string_view* out) {
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return false;
    const auto end = rest_.find(rest_[0], 1);
    if (end == rest_.npos) return false;
    *out = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    skip_space();
    return true;
  }
  bool tuple(std::vector<std::uint64_t>* out) {
    if (!take('(')) return false;
    while (!take(')')) {
      std::uint64_t value = 0;
      const auto [at, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (code != std::errc() || out->size() == 8) return false;
      rest_.remove_prefix(static_cast<std::size_t>(at - rest_.data()));
      out->push_back(value);
      if (!take(',') && !rest_.starts_with(')')) return false;
    }
    return true;
  }

  std::string_view rest_;
};

Result<NpyShape> shape_of(std::string_view header, const std::string& path) {
  HeaderParser::Parsed parsed;
  if (!HeaderParser(header).parse(&parsed)) {
    return error(Code::corrupt, "{}: the .npy header is malformed: '{}'", path,
                 printable(header, 200));
  }
  const auto type = std::ranges::find(all_types, parsed.type, [](NpyType t) { return name_of(t); });
  if (type == all_types.end()) {
    return error(Code::unsupported,
                 "{}: elements of type '{}' are not read; expected one of "
                 "<f4, <f8, <i4, <i8, <u4",
                 path, printable(parsed.type));
  }
  if (parsed.sizes.empty() || parsed.sizes.size() > 2) {
    return error(Code::unsupported, "{}: expected 1 or 2 dimensions, found {}", path,
                 parsed.sizes.size());
  }
  NpyShape shape{.type = *type,
                 .dimensions = static_cast<unsigned>(parsed.sizes.size()),
                 .rows = parsed.sizes[0]};
  if (shape.dimensions == 2) shape.cols = parsed.sizes[1];
  if (parsed.fortran && shape.dimensions == 2 && shape.rows > 1 && shape.cols > 1) {
    return error(Code::unsupported,
                 "{}: the array is in Fortran order; save it with "
                 "numpy.ascontiguousarray()",
                 path);
  }
  const std::uint64_t elements_max = std::numeric_limits<std::int64_t>::max() / size_of(shape.type);
  const bool fits = shape.rows <= elements_max && shape.cols <= elements_max &&
                    (shape.cols == 0 || shape.rows <= elements_max / shape.cols);
  if (!fits) return error(Code::corrupt, "{}: an array of impossible size", path);
  return shape;
}

std::uint64_t bytes_of(const NpyShape& shape) {
  return shape.rows * shape.cols * size_of(shape.type);
}

}  // namespace

std::string_view name_of(NpyType type) {
  switch (type) {
    case NpyType::f32: return "<f4";
    case NpyType::f64: return "<f8";
    case NpyType::i32: return "<i4";
    case NpyType::i64: return "<i8";
    case NpyType::u32: return "<u4";
  }
  return "";
}

std::size_t size_of(NpyType type) { return type == NpyType::f64 || type == NpyType::i64 ? 8 : 4; }

Result<NpyWriter> NpyWriter::open(world::Files& files, const std::string& path,
                                  const NpyShape& shape) {
  CHECK(shape.dimensions == 2 || (shape.dimensions == 1 && shape.cols == 1));
  TRY_AS(AtomicFile file, AtomicFile::open(files, path));
  TRY(file.append(header_of(shape)));
  return NpyWriter(std::move(file), shape);
}

Status NpyWriter::add(NpyType type, std::span<const std::byte> bytes, std::uint64_t rows,
                      std::uint64_t stride_bytes) {
  const std::uint64_t row_bytes = shape_.cols * size_of(type);
  CHECK(type == shape_.type, "{} into a file of {}", name_of(type), name_of(shape_.type));
  CHECK(stride_bytes >= row_bytes);
  CHECK(rows <= shape_.rows - rows_done_);
  CHECK(rows == 0 || bytes.size() >= (rows - 1) * stride_bytes + row_bytes);
  rows_done_ += rows;
  if (stride_bytes == row_bytes) return file_.append(bytes.first(rows * row_bytes));
  for (std::uint64_t row = 0; row < rows; ++row) {
    TRY(file_.append(bytes.subspan(row * stride_bytes, row_bytes)));
  }
  return {};
}

Status NpyWriter::finish(bool sync) {
  CHECK(rows_done_ == shape_.rows, "{} of {} rows", rows_done_, shape_.rows);
  return file_.commit(sync);
}

Status NpyReader::read_exactly(std::span<std::byte> into) {
  while (!into.empty()) {
    TRY_AS(const std::size_t got, file_->read(into));
    if (got == 0) return error(Code::corrupt, "{} is cut off", path_);
    into = into.subspan(got);
  }
  return {};
}

Result<NpyReader> NpyReader::open(world::Files& files, const std::string& path) {
  TRY_AS(auto file, files.open_read(path));
  NpyReader reader(std::move(file), path, NpyShape{});
  std::array<std::byte, 8> start{};
  TRY(reader.read_exactly(start));
  if (as_text(start).substr(0, magic.size()) != magic) {
    return error(Code::corrupt, "{} is not an .npy file", path);
  }
  const auto version = std::to_integer<unsigned>(start[6]);
  if (version < 1 || version > 3) {
    return error(Code::unsupported, "{}: version {} of the .npy format", path, version);
  }
  std::array<std::byte, 4> size_bytes{};
  const std::size_t size_width = version == 1 ? 2 : 4;
  TRY(reader.read_exactly(std::span(size_bytes).first(size_width)));
  std::uint32_t size = 0;
  std::memcpy(&size, size_bytes.data(), sizeof size);
  if (size > header_bytes_max) {
    return error(Code::corrupt, "{}: an .npy header of {} bytes", path, size);
  }
  std::vector<std::byte> header(size);
  TRY(reader.read_exactly(header));
  TRY_AS(reader.shape_, shape_of(as_text(header), path));
  TRY_AS(const world::FileInfo info, files.info(path));
  const std::uint64_t expected = start.size() + size_width + size + bytes_of(reader.shape_);
  if (info.kind == world::FileKind::regular && info.size != expected) {
    return error(Code::corrupt, "{}: expected {} bytes as its header says, found {}", path,
                 expected, info.size);
  }
  return reader;
}

Status NpyReader::read(NpyType type, std::span<std::byte> into, std::uint64_t rows,
                       std::uint64_t stride_bytes) {
  if (type != shape_.type) {
    return error(Code::invalid, "{}: expected elements of type {}, found {}", path_, name_of(type),
                 name_of(shape_.type));
  }
  const std::uint64_t row_bytes = shape_.cols * size_of(type);
  CHECK(stride_bytes >= row_bytes);
  CHECK(rows <= shape_.rows - rows_done_);
  CHECK(rows == 0 || into.size() >= (rows - 1) * stride_bytes + row_bytes);
  rows_done_ += rows;
  if (stride_bytes == row_bytes) return read_exactly(into.first(rows * row_bytes));
  // Rows are gathered through a buffer, for fewer and larger reads.
  const std::uint64_t rows_at_once =
      std::max<std::uint64_t>(1, (std::uint64_t{1} << 18) / std::max<std::uint64_t>(row_bytes, 1));
  std::vector<std::byte> buffer(std::min(rows_at_once, rows) * row_bytes);
  for (std::uint64_t row = 0; row < rows;) {
    const std::uint64_t count = std::min(rows_at_once, rows - row);
    TRY(read_exactly(std::span(buffer).first(count * row_bytes)));
    for (std::uint64_t i = 0; i < count && row_bytes > 0; ++i) {
      std::memcpy(into.data() + (row + i) * stride_bytes, buffer.data() + i * row_bytes, row_bytes);
    }
    row += count;
  }
  return {};
}

}  // namespace castor::data

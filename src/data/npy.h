#pragma once
// NumPy's .npy format, version 1.0 (https://numpy.org/neps/nep-0001-npy-format.html): little-endian
// float32, float64, int32, int64, uint32; one or two dimensions in C order. Rows in memory may be
// padded to a stride; files hold none of the padding.
//
// Thread: one at a time.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "data/atomic_file.h"
#include "world/files.h"

namespace castor::data {

enum class NpyType : unsigned char { f32, f64, i32, i64, u32 };

std::string_view name_of(NpyType type);  // "<f4", "<f8", "<i4", "<i8", "<u4"
std::size_t size_of(NpyType type);       // bytes of an element

template <class T>
constexpr NpyType npy_type();
template <>
constexpr NpyType npy_type<float>() {
  return NpyType::f32;
}
template <>
constexpr NpyType npy_type<double>() {
  return NpyType::f64;
}
template <>
constexpr NpyType npy_type<std::int32_t>() {
  return NpyType::i32;
}
template <>
constexpr NpyType npy_type<std::int64_t>() {
  return NpyType::i64;
}
template <>
constexpr NpyType npy_type<std::uint32_t>() {
  return NpyType::u32;
}

struct NpyShape {
  NpyType type = NpyType::f32;
  unsigned dimensions = 1;  // 1 or 2
  std::uint64_t rows = 0;   // elements, when there is one dimension
  std::uint64_t cols = 1;   // 1, when there is one dimension

  bool operator==(const NpyShape&) const = default;
};

// Writes a file row by row; it appears whole, at finish(), or not at all.
class NpyWriter {
 public:
  static Result<NpyWriter> open(world::Files& files, const std::string& path,
                                const NpyShape& shape);

  // Row r is values[r * stride, r * stride + cols). REQUIRES: T is the type of the file, stride >=
  // cols, values covers the rows, and there are not more than the shape says.
  template <class T>
  Status add_rows(std::span<const T> values, std::uint64_t rows, std::uint64_t stride) {
    return add(npy_type<T>(), std::as_bytes(values), rows, stride * sizeof(T));
  }
  // REQUIRES: all rows were added.
  Status finish(bool sync = false);

 private:
  NpyWriter(AtomicFile file, const NpyShape& shape) : file_(std::move(file)), shape_(shape) {}
  Status add(NpyType type, std::span<const std::byte> bytes, std::uint64_t rows,
             std::uint64_t stride_bytes);

  AtomicFile file_;
  NpyShape shape_;
  std::uint64_t rows_done_ = 0;
};

// The whole array at once: one dimension, or rows x cols with the given stride.
template <class T>
Status write_npy(world::Files& files, const std::string& path, std::span<const T> values,
                 bool sync = false) {
  TRY_AS(NpyWriter writer, NpyWriter::open(files, path, {npy_type<T>(), 1, values.size(), 1}));
  TRY(writer.add_rows(values, values.size(), 1));
  return writer.finish(sync);
}
struct MatrixShape {
  std::uint64_t rows = 0, cols = 0;
  std::uint64_t stride = 0;  // elements from one row to the next; >= cols
};
template <class T>
Status write_npy(world::Files& files, const std::string& path, std::span<const T> values,
                 const MatrixShape& matrix, bool sync = false) {
  TRY_AS(NpyWriter writer,
         NpyWriter::open(files, path, {npy_type<T>(), 2, matrix.rows, matrix.cols}));
  TRY(writer.add_rows(values, matrix.rows, matrix.stride));
  return writer.finish(sync);
}

// Reads a file row by row. Nothing of the size the header claims is allocated.
class NpyReader {
 public:
  // Code::corrupt when the header is malformed or the file is shorter or longer than it says
  // (regular files); Code::unsupported for other types, orders and numbers of dimensions.
  static Result<NpyReader> open(world::Files& files, const std::string& path);

  const NpyShape& shape() const { return shape_; }
  // The next rows, row r to into[r * stride, ...); what lies between is not touched. Code::invalid
  // when T is not the type of the file. REQUIRES: as NpyWriter::add_rows.
  template <class T>
  Status read_rows(std::span<T> into, std::uint64_t rows, std::uint64_t stride) {
    return read(npy_type<T>(), std::as_writable_bytes(into), rows, stride * sizeof(T));
  }

 private:
  NpyReader(std::unique_ptr<world::ReadFile> file, std::string path, const NpyShape& shape)
      : file_(std::move(file)), path_(std::move(path)), shape_(shape) {}
  Status read(NpyType type, std::span<std::byte> into, std::uint64_t rows,
              std::uint64_t stride_bytes);
  Status read_exactly(std::span<std::byte> into);

  std::unique_ptr<world::ReadFile> file_;
  std::string path_;
  NpyShape shape_;
  std::uint64_t rows_done_ = 0;
};

template <class T>
struct NpyArray {
  NpyShape shape;
  std::vector<T> values;  // rows * cols, without padding
};

// The whole array; Code::exhausted when it has more than `bytes_max` bytes.
template <class T>
Result<NpyArray<T>> read_npy(world::Files& files, const std::string& path,
                             std::uint64_t bytes_max = std::uint64_t{1} << 36) {
  TRY_AS(NpyReader reader, NpyReader::open(files, path));
  NpyArray<T> array{.shape = reader.shape(), .values = {}};
  const std::uint64_t count = array.shape.rows * array.shape.cols;  // the reader has checked it
  if (count > bytes_max / sizeof(T)) {
    return error(Code::exhausted, "{} holds more than {} bytes", path, bytes_max);
  }
  TRY(reader.read_rows(std::span<T>(), 0, array.shape.cols));  // the type, before allocating
  array.values.resize(count);
  TRY(reader.read_rows(std::span<T>(array.values), array.shape.rows, array.shape.cols));
  return array;
}

}  // namespace castor::data

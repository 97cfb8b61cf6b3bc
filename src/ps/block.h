#pragma once
// A block: contiguous rows of one table, the unit of placement, transfer, leasing and versioning.
// Dense rows lie in one slab, row-major, on a 64-byte boundary; rows of 64 bytes or more are padded
// to whole cache lines, narrower ones are packed. The padding is always zero.
//
// Thread: one writer, or any number of readers.
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "core/aligned.h"
#include "core/bytes.h"
#include "ps/rows.h"

namespace castor::ps {

struct BlockShape {
  RowKind kind = RowKind::dense;
  Element element = Element::f32;
  RowId first = 0;
  std::uint32_t rows = 0;
  std::uint32_t width = 1;

  bool operator==(const BlockShape&) const = default;
};

std::size_t element_bytes(Element element);
// Values from one dense row to the next.
std::uint32_t stride_of(Element element, std::uint32_t width);

class Block {
 public:
  explicit Block(const BlockShape& shape);  // all zero
  Block(Block&&) = default;
  Block& operator=(Block&&) = default;

  Block copy() const;
  const BlockShape& shape() const { return shape_; }

  // Adds `other`, row by row. REQUIRES: equal shapes.
  void add(const Block& other);
  // As add, only rows with rows_touched[row - first] != 0.
  void add_rows(const Block& other, std::span<const std::uint8_t> rows_touched);
  void set_zero();

  // REQUIRES: the row type is the shape's.
  template <Row R>
  typename R::View view();
  template <Row R>
  typename R::ConstView view() const;

  // Rows without padding; a sparse row as its count, its layout() and its non-zeros by column.
  void encode(ByteWriter& out) const;
  std::uint64_t encoded_bytes() const;
  // Into a block of the right shape; a copy of the one encoded, layout of sparse rows included.
  // Code::corrupt when the bytes do not fit it; the content is then unspecified.
  Status decode(ByteReader& in);

 private:
  template <class T>
  using SparseRows = std::vector<SparseRow<T>>;
  template <class T>
  void decode_row(ByteReader& in, SparseRow<T>& row);

  BlockShape shape_;
  std::uint32_t stride_ = 0;
  AlignedVector<std::byte> slab_;  // dense and scalar kinds
  std::variant<std::monostate, SparseRows<float>, SparseRows<double>, SparseRows<std::int32_t>,
               SparseRows<std::int64_t>>
      sparse_;
};

template <Row R>
typename R::View Block::view() {
  using T = typename R::Value;
  CHECK(shape_.kind == R::kind && shape_.element == element_of<T>(), "a view of another row type");
  if constexpr (R::kind == RowKind::dense) {
    return {reinterpret_cast<T*>(slab_.data()), shape_.first, shape_.rows, shape_.width, stride_};
  } else if constexpr (R::kind == RowKind::scalar) {
    return {reinterpret_cast<T*>(slab_.data()), shape_.first, shape_.rows};
  } else {
    return {std::get<SparseRows<T>>(sparse_).data(), shape_.first, shape_.rows};
  }
}

template <Row R>
typename R::ConstView Block::view() const {
  using T = typename R::Value;
  CHECK(shape_.kind == R::kind && shape_.element == element_of<T>(), "a view of another row type");
  if constexpr (R::kind == RowKind::dense) {
    return {reinterpret_cast<const T*>(slab_.data()), shape_.first, shape_.rows, shape_.width,
            stride_};
  } else if constexpr (R::kind == RowKind::scalar) {
    return {reinterpret_cast<const T*>(slab_.data()), shape_.first, shape_.rows};
  } else {
    return {std::get<SparseRows<T>>(sparse_).data(), shape_.first, shape_.rows};
  }
}

}  // namespace castor::ps

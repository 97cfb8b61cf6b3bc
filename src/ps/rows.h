#pragma once
// The three kinds of rows a table may have, and the views a task gets of them. A delta has the same
// shape as a row and is added to it: rows are commutative monoids, which is all the runtime needs.
//   Dense<T>    width values;            view[row] is a span
//   Sparse<T>   few of width values;     view[row] is a SparseRow<T>
//   Scalar<T>   one value;               view[row] is the value
// T is float, double, std::int32_t or std::int64_t. Rows are addressed by their number in the
// table.
//
// Thread: a view belongs to the task that was given it, and is valid until that task ends.
#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/check.h"
#include "core/ids.h"
#include "ps/sparse_row.h"

namespace castor {

namespace ps {

enum class Element : std::uint8_t { f32, f64, i32, i64 };
enum class RowKind : std::uint8_t { dense, sparse, scalar };

template <class T>
inline constexpr bool is_element =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t> ||
    std::is_same_v<T, std::int64_t>;

template <class T>
constexpr Element element_of() {
  static_assert(is_element<T>);
  if constexpr (std::is_same_v<T, float>) return Element::f32;
  if constexpr (std::is_same_v<T, double>) return Element::f64;
  if constexpr (std::is_same_v<T, std::int32_t>) return Element::i32;
  return Element::i64;
}

}  // namespace ps

// Rows [first, first + rows) of a block: row-major, `stride` values from one row to the next.
template <class T>
class DenseView {
 public:
  DenseView() = default;
  DenseView(T* data, RowId first, std::uint32_t rows, std::uint32_t width, std::uint32_t stride)
      : data_(data), first_(first), rows_(rows), width_(width), stride_(stride) {}

  std::span<T> operator[](RowId row) const {
    DCHECK(row >= first_ && row - first_ < rows_, "row {} of [{}, +{})", row, first_, rows_);
    return {data_ + (row - first_) * stride_, width_};
  }
  RowId first() const { return first_; }
  std::uint32_t rows() const { return rows_; }
  std::uint32_t width() const { return width_; }
  std::uint32_t stride() const { return stride_; }  // padding between width and stride stays zero
  T* data() const { return data_; }                 // 64-byte aligned

 private:
  T* data_ = nullptr;
  RowId first_ = 0;
  std::uint32_t rows_ = 0, width_ = 0, stride_ = 0;
};

template <class Row>  // SparseRow<T> or const SparseRow<T>
class SparseView {
 public:
  SparseView() = default;
  SparseView(Row* data, RowId first, std::uint32_t rows)
      : data_(data), first_(first), rows_(rows) {}

  Row& operator[](RowId row) const {
    DCHECK(row >= first_ && row - first_ < rows_, "row {} of [{}, +{})", row, first_, rows_);
    return data_[row - first_];
  }
  RowId first() const { return first_; }
  std::uint32_t rows() const { return rows_; }

 private:
  Row* data_ = nullptr;
  RowId first_ = 0;
  std::uint32_t rows_ = 0;
};

template <class T>
class ScalarView {
 public:
  ScalarView() = default;
  ScalarView(T* data, RowId first, std::uint32_t rows) : data_(data), first_(first), rows_(rows) {}

  T& operator[](RowId row) const {
    DCHECK(row >= first_ && row - first_ < rows_, "row {} of [{}, +{})", row, first_, rows_);
    return data_[row - first_];
  }
  RowId first() const { return first_; }
  std::uint32_t rows() const { return rows_; }
  std::span<T> values() const { return {data_, rows_}; }

 private:
  T* data_ = nullptr;
  RowId first_ = 0;
  std::uint32_t rows_ = 0;
};

template <class T>
struct Dense {
  using Value = T;
  using View = DenseView<T>;
  using ConstView = DenseView<const T>;
  static constexpr ps::RowKind kind = ps::RowKind::dense;
};

template <class T>
struct Sparse {
  using Value = T;
  using View = SparseView<SparseRow<T>>;
  using ConstView = SparseView<const SparseRow<T>>;
  static constexpr ps::RowKind kind = ps::RowKind::sparse;
};

template <class T>
struct Scalar {
  using Value = T;
  using View = ScalarView<T>;
  using ConstView = ScalarView<const T>;
  static constexpr ps::RowKind kind = ps::RowKind::scalar;
};

template <class R>
concept Row = requires {
  typename R::Value;
  typename R::View;
  typename R::ConstView;
  R::kind;
} && ps::is_element<typename R::Value>;

}  // namespace castor

#include "ps/block.h"

#include <cstring>

namespace castor::ps {
namespace {

// f(T{}) with T the element's type: dispatch once per batch.
template <class F>
auto with_element(Element element, F&& f) {
  switch (element) {
    case Element::f32: return f(float{});
    case Element::f64: return f(double{});
    case Element::i32: return f(std::int32_t{});
    case Element::i64: return f(std::int64_t{});
  }
  CHECK(false, "element {}", static_cast<int>(element));
  return f(float{});
}

template <class T>
void add_values(T* into, const T* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) into[i] = wrapping_sum(into[i], from[i]);
}

}  // namespace

std::size_t element_bytes(Element element) {
  return element == Element::f32 || element == Element::i32 ? 4 : 8;
}

std::uint32_t stride_of(Element element, std::uint32_t width) {
  const auto line = static_cast<std::uint32_t>(cache_line_bytes / element_bytes(element));
  return width < line ? width : (width + line - 1) / line * line;
}

Block::Block(const BlockShape& shape) : shape_(shape) {
  if (shape_.kind == RowKind::scalar) shape_.width = 1;
  if (shape_.kind == RowKind::sparse) {
    with_element(shape_.element, [this](auto zero) {
      using T = decltype(zero);
      sparse_ = SparseRows<T>(shape_.rows, SparseRow<T>(shape_.width));
    });
    return;
  }
  stride_ = stride_of(shape_.element, shape_.width);
  slab_ =
      AlignedVector<std::byte>(std::size_t{shape_.rows} * stride_ * element_bytes(shape_.element));
}

Block Block::copy() const {
  Block result(shape_);
  if (shape_.kind == RowKind::sparse) {
    result.sparse_ = sparse_;
  } else if (!slab_.empty()) {
    std::memcpy(result.slab_.data(), slab_.data(), slab_.size());
  }
  return result;
}

void Block::add(const Block& other) {
  const std::vector<std::uint8_t> all(shape_.rows, 1);
  add_rows(other, all);
}

void Block::add_rows(const Block& other, std::span<const std::uint8_t> rows_touched) {
  CHECK(shape_ == other.shape_, "blocks of different shapes");
  CHECK(rows_touched.size() == shape_.rows);
  with_element(shape_.element, [&](auto zero) {
    using T = decltype(zero);
    for (std::uint32_t row = 0; row < shape_.rows; ++row) {
      if (rows_touched[row] == 0) continue;
      if (shape_.kind == RowKind::sparse) {
        std::get<SparseRows<T>>(sparse_)[row].apply(std::get<SparseRows<T>>(other.sparse_)[row]);
      } else {
        const std::size_t at = std::size_t{row} * stride_;
        add_values(reinterpret_cast<T*>(slab_.data()) + at,
                   reinterpret_cast<const T*>(other.slab_.data()) + at, shape_.width);
      }
    }
  });
}

void Block::set_zero() {
  if (!slab_.empty()) std::memset(slab_.data(), 0, slab_.size());
  if (shape_.kind != RowKind::sparse) return;
  with_element(shape_.element, [this](auto zero) {
    for (auto& row : std::get<SparseRows<decltype(zero)>>(sparse_)) row.clear();
  });
}

void Block::encode(ByteWriter& out) const {
  if (shape_.kind != RowKind::sparse) {
    const std::size_t row_bytes = shape_.width * element_bytes(shape_.element);
    const std::size_t stride_bytes = stride_ * element_bytes(shape_.element);
    for (std::uint32_t row = 0; row < shape_.rows; ++row) {
      out.raw(slab_.data() + row * stride_bytes, row_bytes);
    }
    return;
  }
  with_element(shape_.element, [&](auto zero) {
    for (const auto& row : std::get<SparseRows<decltype(zero)>>(sparse_)) {
      out.put<std::uint32_t>(row.count());
      out.put<std::uint8_t>(row.layout());
      for (const auto& [column, value] : row.sorted()) {
        out.put(column);
        out.put(value);
      }
    }
  });
}

std::uint64_t Block::encoded_bytes() const {
  const std::uint64_t value_bytes = element_bytes(shape_.element);
  if (shape_.kind != RowKind::sparse) return shape_.rows * shape_.width * value_bytes;
  return with_element(shape_.element, [&](auto zero) {
    std::uint64_t bytes = 0;
    for (const auto& row : std::get<SparseRows<decltype(zero)>>(sparse_)) {
      bytes += 5 + row.count() * (4 + value_bytes);
    }
    return bytes;
  });
}

template <class T>
void Block::decode_row(ByteReader& in, SparseRow<T>& row) {
  row.clear();
  const auto count = in.get<std::uint32_t>();
  const auto layout = in.get<std::uint8_t>();
  if (in.failed() || count > in.remaining() / (4 + sizeof(T)) || !row.set_layout(layout, count)) {
    return in.fail();
  }
  std::uint32_t least = 0;  // columns come in increasing order
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto column = in.get<std::uint32_t>();
    const T value = in.get<T>();
    if (column < least || column >= shape_.width || value == T{}) return in.fail();
    row.set(column, value);
    least = column + 1;
  }
}

Status Block::decode(ByteReader& in) {
  if (shape_.kind != RowKind::sparse) {
    const std::size_t row_bytes = shape_.width * element_bytes(shape_.element);
    const std::size_t stride_bytes = stride_ * element_bytes(shape_.element);
    for (std::uint32_t row = 0; row < shape_.rows; ++row) {
      in.raw(slab_.data() + row * stride_bytes, row_bytes);
    }
  } else {
    with_element(shape_.element, [&](auto zero) {
      for (auto& row : std::get<SparseRows<decltype(zero)>>(sparse_)) decode_row(in, row);
    });
  }
  if (in.failed()) return error(Code::corrupt, "a block of {} rows is damaged", shape_.rows);
  return {};
}

}  // namespace castor::ps

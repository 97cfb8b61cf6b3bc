#pragma once
// SparseRow<T>: a row of `width` values of which few are not zero. An open-addressing table (linear
// probing, multiplicative hash, capacity a power of two, from 1/8 to 3/4 full) that turns into a
// plain array when that is smaller, and back when few are left: memory is proportional to the
// non-zeros. A value that becomes zero is taken out.
//
// The place of every value depends on the values and the capacity alone, not on the order in which
// they came (in a run of taken slots the larger column goes first: Blelloch and Golovin, "Strongly
// history-independent hashing", FOCS 2007). So for_each() visits in the same order after a
// checkpoint, which keeps values and capacity.
//
// Thread: one at a time; const members are safe together.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/check.h"

namespace castor {

// a + b; integers wrap around.
template <class T>
T wrapping_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return a + b;
  }
}

template <class T>
class SparseRow {
 public:
  SparseRow() = default;
  explicit SparseRow(std::uint32_t width) : width_(width) {}

  std::uint32_t width() const { return width_; }
  std::uint32_t count() const { return count_; }  // non-zeros
  bool is_dense() const { return !dense_.empty(); }

  // REQUIRES (all): column < width().
  T get(std::uint32_t column) const {
    DCHECK(column < width_, "column {} of {}", column, width_);
    if (is_dense()) return dense_[column];
    if (slots_.empty()) return T{};
    const std::size_t at = find(column);
    return slots_[at].column == column ? slots_[at].value : T{};
  }

  void add(std::uint32_t column, T delta) { set(column, wrapping_sum(get(column), delta)); }

  void set(std::uint32_t column, T value) {
    DCHECK(column < width_, "column {} of {}", column, width_);
    if (is_dense()) {
      count_ += static_cast<std::uint32_t>(value != T{}) -
                static_cast<std::uint32_t>(dense_[column] != T{});
      dense_[column] = value == T{} ? T{} : value;  // no negative zero
      if (value == T{}) shrink();
    } else if (value == T{}) {
      erase(column);
    } else {
      insert(column, value);
    }
  }

  void apply(const SparseRow& delta) {
    delta.for_each([this](std::uint32_t column, T value) { add(column, value); });
  }

  void clear() {
    slots_ = {};
    dense_ = {};
    count_ = 0;
  }

  // What for_each()'s order depends on besides the values: the binary logarithm of the capacity, 0
  // when nothing is stored, dense_layout for a plain array.
  std::uint8_t layout() const {
    if (is_dense()) return dense_layout;
    return slots_.empty() ? 0 : static_cast<std::uint8_t>(std::countr_zero(slots_.size()));
  }
  // Prepares an empty row for `count` values in the layout. False when no row of so many values is
  // laid out like that. REQUIRES: count() == 0.
  bool set_layout(std::uint8_t layout, std::uint32_t count) {
    clear();
    if (layout == 0) return count == 0;
    if (width_ == 0) return false;
    if (layout != dense_layout && layout >= std::countr_zero(dense_capacity())) return false;
    const std::size_t capacity =
        layout == dense_layout ? dense_capacity() : std::size_t{1} << layout;
    if (capacity < capacity_min ||
        (capacity > capacity_min && std::size_t{count} * 8 <= capacity)) {
      return false;
    };
    if (layout == dense_layout ? count > width_ : std::size_t{count} * 4 > capacity * 3)
      return false;
    rehash(capacity);
    return true;
  }
  static constexpr std::uint8_t dense_layout = 255;

  // f(column, value) for every non-zero, in an order that depends on values and layout() alone.
  template <class F>
  void for_each(F&& f) const {
    for (std::uint32_t column = 0; column < dense_.size(); ++column) {
      if (dense_[column] != T{}) f(column, dense_[column]);
    }
    for (const Slot& slot : slots_) {
      if (slot.column != empty) f(slot.column, slot.value);
    }
  }

  // The non-zeros by increasing column: the canonical form.
  std::vector<std::pair<std::uint32_t, T>> sorted() const {
    std::vector<std::pair<std::uint32_t, T>> out;
    out.reserve(count_);
    for_each([&out](std::uint32_t column, T value) { out.emplace_back(column, value); });
    std::ranges::sort(out, {}, &std::pair<std::uint32_t, T>::first);
    return out;
  }

 private:
  struct Slot {
    std::uint32_t column = empty;
    T value{};
  };
  static constexpr std::uint32_t empty = ~std::uint32_t{0};
  static constexpr std::size_t capacity_min = 4;

  std::size_t home(std::uint32_t column) const {
    return (column * std::uint32_t{0x9E3779B1}) >> (32 - std::countr_zero(slots_.size()));
  }
  // The slot of `column`, or the empty one where it would go. REQUIRES: slots_ has an empty slot.
  std::size_t find(std::uint32_t column) const {
    std::size_t at = home(column);
    while (slots_[at].column != empty && slots_[at].column != column) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  void insert(std::uint32_t column, T value) {
    if (!slots_.empty()) {
      Slot& present = slots_[find(column)];
      if (present.column == column) {
        present.value = value;
        return;
      }
    }
    if ((count_ + 1) * 4 > slots_.size() * 3) {
      rehash(std::max(capacity_min, slots_.size() * 2));
      if (is_dense()) return set(column, value);
    }
    ++count_;
    place({column, value});
  }

  // REQUIRES: the column is not there yet, and there is an empty slot.
  void place(Slot slot) {
    std::size_t at = home(slot.column);
    while (slots_[at].column != empty) {
      if (slots_[at].column < slot.column) std::swap(slots_[at], slot);
      at = (at + 1) & (slots_.size() - 1);
    }
    slots_[at] = slot;
  }

  void erase(std::uint32_t column) {
    if (slots_.empty()) return;
    std::size_t hole = find(column);
    if (slots_[hole].column == empty) return;
    --count_;
    // Close the gap: move back every later slot of the run that may not stay behind an empty one.
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = (hole + 1) & mask; slots_[at].column != empty; at = (at + 1) & mask) {
      if (((at - home(slots_[at].column)) & mask) >= ((at - hole) & mask)) {
        slots_[hole] = slots_[at];
        hole = at;
      }
    }
    slots_[hole] = Slot{};
    shrink();
  }

  // The smallest capacity at which the table would be no smaller than a plain array.
  std::size_t dense_capacity() const {
    const std::size_t slots = (std::size_t{width_} * sizeof(T) + sizeof(Slot) - 1) / sizeof(Slot);
    return std::max(capacity_min, std::bit_ceil(slots));
  }

  void shrink() {
    const std::size_t capacity = is_dense() ? dense_capacity() : slots_.size();
    if (capacity > capacity_min && std::size_t{count_} * 8 <= capacity) rehash(capacity / 2);
  }

  void rehash(std::size_t capacity) {
    const std::vector<Slot> old_slots = std::exchange(slots_, {});
    const std::vector<T> old_dense = std::exchange(dense_, {});
    const bool becomes_dense = capacity >= dense_capacity();
    if (becomes_dense) {
      dense_.resize(width_);
    } else {
      slots_.resize(capacity);
    }
    auto keep = [&](std::uint32_t column, T value) {
      if (becomes_dense) {
        dense_[column] = value;
      } else {
        place({column, value});
      }
    };
    for (std::uint32_t column = 0; column < old_dense.size(); ++column) {
      if (old_dense[column] != T{}) keep(column, old_dense[column]);
    }
    for (const Slot& slot : old_slots) {
      if (slot.column != empty) keep(slot.column, slot.value);
    }
  }

  std::uint32_t width_ = 0, count_ = 0;
  std::vector<Slot> slots_;  // empty, or a power of two of at least 4
  std::vector<T> dense_;     // empty, or width_ values
};

}  // namespace castor

#pragma once
// SparseRow<T>: a row of `width` values of which few are not zero. An open-addressing table (linear
// probing, multiplicative hash, capacity a power of two, at most 3/4 full) that turns into a plain array
// when that is smaller, and never back. Memory is proportional to the non-zeros; a value that becomes
// zero is taken out.
//
// Thread: one at a time; const members are safe together.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/check.h"

namespace castor {

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

  void add(std::uint32_t column, T delta) { set(column, static_cast<T>(get(column) + delta)); }

  void set(std::uint32_t column, T value) {
    DCHECK(column < width_, "column {} of {}", column, width_);
    if (is_dense()) {
      count_ += static_cast<std::uint32_t>(value != T{}) -
                static_cast<std::uint32_t>(dense_[column] != T{});
      dense_[column] = value;
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
    slots_.clear();
    dense_.clear();
    count_ = 0;
  }

  // f(column, value) for every non-zero, in no particular order.
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
    if ((count_ + 1) * 4 > slots_.size() * 3) {
      grow();
      if (is_dense()) return set(column, value);
    }
    Slot& slot = slots_[find(column)];
    count_ += slot.column == empty ? 1 : 0;
    slot = {column, value};
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
  }

  void grow() {
    const std::size_t capacity = std::max<std::size_t>(4, slots_.size() * 2);
    if (capacity * sizeof(Slot) >= std::size_t{width_} * sizeof(T)) {
      std::vector<T> dense(width_);
      for_each([&dense](std::uint32_t column, T value) { dense[column] = value; });
      dense_ = std::move(dense);
      slots_ = {};
      return;
    }
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(capacity));
    for (const Slot& slot : old) {
      if (slot.column != empty) slots_[find(slot.column)] = slot;
    }
  }

  std::uint32_t width_ = 0, count_ = 0;
  std::vector<Slot> slots_;  // empty, or a power of two of at least 4
  std::vector<T> dense_;     // empty, or width_ values
};

}  // namespace castor

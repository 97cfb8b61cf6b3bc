#pragma once
// AlignedVector<T>: fixed-size array of trivially copyable values on a 64-byte boundary, asking for
// huge pages when it is large. Zero-filled on creation. The storage of every slab.
//
// Thread: as a plain array.
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace castor {

inline constexpr std::size_t cache_line_bytes = 64;

// Zero-filled bytes aligned to 64 (to 2 MiB and advised for huge pages from 4 MiB on).
// `bytes` of 0 gives a null pointer. Allocation failure terminates.
std::byte* allocate_aligned(std::size_t bytes);
void free_aligned(std::byte* pointer, std::size_t bytes);

template <class T>
class AlignedVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedVector() = default;
  explicit AlignedVector(std::size_t size)
      : data_(reinterpret_cast<T*>(allocate_aligned(size * sizeof(T)))), size_(size) {}
  AlignedVector(AlignedVector&& other) noexcept { swap(other); }
  AlignedVector& operator=(AlignedVector&& other) noexcept {
    AlignedVector moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~AlignedVector() { free_aligned(reinterpret_cast<std::byte*>(data_), size_ * sizeof(T)); }

  AlignedVector copy() const {
    AlignedVector result(size_);
    for (std::size_t i = 0; i < size_; ++i) result.data_[i] = data_[i];
    return result;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

  void swap(AlignedVector& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace castor

#pragma once
// The byte codec: little-endian, no padding, bounds-checked. A ByteWriter appends to its own
// buffer; a ByteReader never reads past its span and never allocates more than the bytes that are
// left could hold. A failed reader stays failed and yields zeros, so a decoder may check once, at
// its end.
//
// Thread: one at a time.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/aligned.h"
#include "core/result.h"

namespace castor {

static_assert(std::endian::native == std::endian::little, "the codec copies little-endian arrays");

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// Every byte of a T is part of its value: true of numbers, of what the language knows to be packed,
// and of structs of floats that say `static constexpr bool has_no_padding = true`.
template <class T>
constexpr bool unpadded() {
  if constexpr (std::is_arithmetic_v<T> || std::has_unique_object_representations_v<T>) {
    return true;
  } else if constexpr (requires { T::has_no_padding; }) {
    return T::has_no_padding;
  } else {
    return false;
  }
}

class ByteWriter {
 public:
  template <Plain T>
  void put(T value) {
    raw(&value, sizeof value);
  }
  void put(std::string_view value) {
    CHECK(value.size() <= UINT32_MAX, "a text of {} bytes", value.size());
    put<std::uint32_t>(static_cast<std::uint32_t>(value.size()));
    raw(value.data(), value.size());
  }
  // A count, then the values. T has no padding (arithmetic, enum, or a struct that says so).
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put_array(std::span<const T> values) {
    static_assert(unpadded<T>(), "padding must not be written");
    put<std::uint64_t>(values.size());
    raw(values.data(), values.size_bytes());
  }
  void raw(const void* data, std::size_t size) {
    if (size == 0) return;
    const auto* bytes = static_cast<const std::byte*>(data);
    buffer_.insert(buffer_.end(), bytes, bytes + size);
  }
  void reserve(std::size_t size) { buffer_.reserve(size); }

  std::span<const std::byte> bytes() const { return buffer_; }
  std::vector<std::byte> take() { return std::move(buffer_); }

 private:
  std::vector<std::byte> buffer_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  // An enum comes as it was sent: whether it is one of the enumerators is the decoder's to check.
  template <Plain T>
  T get() {
    if constexpr (std::is_same_v<T, bool>) {
      const auto value = get<std::uint8_t>();
      if (value > 1) fail();
      return value == 1;
    } else {
      T value{};
      raw(&value, sizeof value);
      return value;
    }
  }
  std::string get_string();

  template <class T>
    requires std::is_trivially_copyable_v<T>
  std::vector<T> get_array() {
    const std::uint64_t count = array_count(sizeof(T));
    std::vector<T> values(count);
    raw(values.data(), count * sizeof(T));
    return values;
  }
  // As get_array, into an aligned array of exactly the stored size.
  template <class T>
  AlignedVector<T> get_aligned() {
    const std::uint64_t count = array_count(sizeof(T));
    AlignedVector<T> values(count);
    raw(values.data(), count * sizeof(T));
    return values;
  }
  void raw(void* out, std::size_t size) {
    if (failed_ || size > rest_.size()) {
      fail();
      if (size > 0) std::memset(out, 0, size);
      return;
    }
    if (size > 0) std::memcpy(out, rest_.data(), size);
    rest_ = rest_.subspan(size);
  }
  std::span<const std::byte> view(std::size_t size);
  void fail() { failed_ = true, rest_ = {}; }

  bool failed() const { return failed_; }
  std::size_t remaining() const { return rest_.size(); }
  // OK, or Code::corrupt naming `what`; also corrupt when bytes are left over.
  Status finish(std::string_view what) const;

 private:
  // A count whose elements fit what is left; else fails and gives 0.
  std::uint64_t array_count(std::size_t element_size);

  std::span<const std::byte> rest_;
  bool failed_ = false;
};

// CRC-32C (Castagnoli), as in iSCSI: crc32c of "123456789" is 0xe3069283.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous = 0);

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace castor

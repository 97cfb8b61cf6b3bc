#pragma once
// How shard state becomes bytes: it is checkpointed, and later moved and sent. Arithmetic values,
// vectors of them and AlignedVectors have a codec already; any other type has two members:
//     void encode(ByteWriter&) const;
//     void decode(ByteReader&);          // marks the reader failed on nonsense
//
// Thread: any (pure).
#include <array>
#include <concepts>
#include <span>
#include <vector>

#include "core/aligned.h"
#include "core/bytes.h"

namespace castor {

template <class T>
concept SelfCoded = requires(T& value, const T& constant, ByteWriter& out, ByteReader& in) {
  constant.encode(out);
  value.decode(in);
};

template <Plain T>
void encode_state(ByteWriter& out, const T& value) {
  out.put(value);
}
template <Plain T>
void decode_state(ByteReader& in, T& value) {
  value = in.get<T>();
}

template <class T>
  requires std::is_trivially_copyable_v<T>
void encode_state(ByteWriter& out, const std::vector<T>& values) {
  out.put_array(std::span<const T>(values));
}
template <class T>
  requires std::is_trivially_copyable_v<T>
void decode_state(ByteReader& in, std::vector<T>& values) {
  values = in.get_array<T>();
}

template <Plain T, std::size_t n>
void encode_state(ByteWriter& out, const std::vector<std::array<T, n>>& values) {
  out.put_array(
      std::span<const T>(values.empty() ? nullptr : values.front().data(), values.size() * n));
}
template <Plain T, std::size_t n>
void decode_state(ByteReader& in, std::vector<std::array<T, n>>& values) {
  const std::vector<T> flat = in.get_array<T>();
  if (flat.size() % n != 0) return in.fail();
  values.resize(flat.size() / n);
  for (std::size_t i = 0; i < flat.size(); ++i) values[i / n][i % n] = flat[i];
}

template <class T>
void encode_state(ByteWriter& out, const AlignedVector<T>& values) {
  out.put_array(values.span());
}
template <class T>
void decode_state(ByteReader& in, AlignedVector<T>& values) {
  values = in.get_aligned<T>();
}

template <SelfCoded T>
void encode_state(ByteWriter& out, const T& value) {
  value.encode(out);
}
template <SelfCoded T>
void decode_state(ByteReader& in, T& value) {
  value.decode(in);
}

}  // namespace castor

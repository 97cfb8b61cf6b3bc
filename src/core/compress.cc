#include "core/compress.h"

#include <zstd.h>

namespace castor {

std::vector<std::byte> compressed(std::span<const std::byte> bytes, int level) {
  std::vector<std::byte> out(ZSTD_compressBound(bytes.size()));
  const std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), level);
  CHECK(ZSTD_isError(size) == 0, "zstd: {}", ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

Result<std::vector<std::byte>> decompressed(std::span<const std::byte> bytes, std::size_t size) {
  if (ZSTD_getFrameContentSize(bytes.data(), bytes.size()) != size) {
    return error(Code::corrupt, "compressed data does not hold the expected {} bytes", size);
  }
  std::vector<std::byte> out(size);
  const std::size_t got = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) != 0 || got != size) {
    return error(Code::corrupt, "compressed data is damaged");
  }
  return out;
}

}  // namespace castor

#include "core/compress.h"

#include <zstd.h>

#include <memory>

namespace castor {

std::vector<std::byte> compressed(std::span<const std::byte> bytes, int level) {
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                        &ZSTD_freeCCtx);
  CHECK(context != nullptr, "out of memory");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  // Without its checksum a changed literal would pass unnoticed.
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::vector<std::byte> out(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
  CHECK(ZSTD_isError(size) == 0, "zstd: {}", ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

Result<std::vector<std::byte>> decompressed(std::span<const std::byte> bytes, std::size_t size) {
  const unsigned long long stated = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (stated >= ZSTD_CONTENTSIZE_ERROR || stated != size) {
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

#pragma once
// zstd compression of whole buffers, for checkpoints and traces.
//
// Thread: any.
#include <cstddef>
#include <span>
#include <vector>

#include "core/result.h"

namespace castor {

// With a checksum of the content.
std::vector<std::byte> compressed(std::span<const std::byte> bytes, int level = 1);

// `size` is what the caller knows the result to be; anything else is Code::corrupt, and no more
// than `size` bytes are ever allocated.
Result<std::vector<std::byte>> decompressed(std::span<const std::byte> bytes, std::size_t size);

}  // namespace castor

#include "core/aligned.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "core/check.h"

namespace castor {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

std::byte* allocate_aligned(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t unit = bytes >= 2 * huge_page_bytes ? huge_page_bytes : cache_line_bytes;
  const std::size_t total = rounded_up(bytes, unit);
  void* pointer = std::aligned_alloc(unit, total);
  CHECK(pointer != nullptr, "out of memory: {} bytes", total);
  if (unit == huge_page_bytes) ::madvise(pointer, total, MADV_HUGEPAGE);
  std::memset(pointer, 0, total);
  return static_cast<std::byte*>(pointer);
}

void free_aligned(std::byte* pointer, std::size_t /*bytes*/) { std::free(pointer); }

}  // namespace castor

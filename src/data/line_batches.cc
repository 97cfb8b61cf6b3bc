#include "data/line_batches.h"

#include <algorithm>
#include <span>

#include "data/numbers.h"

namespace castor::data {
namespace {

constexpr std::size_t first_bytes = std::size_t{16} << 10;  // small files need no large buffer

}  // namespace

Status LineBatches::next(Batch& into) {
  std::vector<char>& buffer = into.buffer;
  into.text = {};
  const std::size_t room = std::max(batch_bytes_, 2 * carry_.size());
  const std::size_t least = std::min(room, std::max(first_bytes, 2 * carry_.size()));
  if (buffer.size() < least + 1 + readable_beyond) buffer.resize(least + 1 + readable_beyond);
  std::ranges::copy(carry_, buffer.begin());
  std::size_t used = carry_.size();
  std::size_t newline = std::string_view::npos;  // the last one
  while (!at_end_) {
    const std::size_t capacity = buffer.size() - 1 - readable_beyond;
    if (used == capacity && capacity < room) {
      buffer.resize(std::min(room, 4 * capacity) + 1 + readable_beyond);
      continue;
    }
    if (used == capacity) {
      newline = std::string_view(buffer.data(), used).rfind('\n');
      if (newline != std::string_view::npos || used > line_bytes_max) break;
      buffer.resize(2 * capacity + 1 + readable_beyond);
      continue;
    }
    TRY_AS(const std::size_t got,
           file_->read(std::as_writable_bytes(std::span(buffer).subspan(used, capacity - used))));
    used += got;
    at_end_ = got == 0;
  }
  std::size_t size = newline == std::string_view::npos ? used : newline + 1;
  carry_ = {buffer.data() + size, used - size};
  text_bytes_ += size;
  if (size > 0 && buffer[size - 1] != '\n') buffer[size++] = '\n';
  into.text = {buffer.data(), size};
  into.stored_bytes = file_->stored_bytes();
  return {};
}

}  // namespace castor::data

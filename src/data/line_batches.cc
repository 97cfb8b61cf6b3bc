#include "data/line_batches.h"

#include <algorithm>
#include <span>

#include "data/numbers.h"

namespace castor::data {
namespace {

constexpr std::size_t first_bytes = std::size_t{16} << 10;  // small files need no large buffer
constexpr std::size_t head_bytes_max = std::size_t{256} << 10;

}  // namespace

std::size_t LineBatches::read(std::span<char> into) {
  if (head_given_ < head_.size()) {
    const std::size_t count = std::min(head_.size() - head_given_, into.size());
    std::copy_n(head_.begin() + static_cast<std::ptrdiff_t>(head_given_), count, into.begin());
    head_given_ += count;
    return count;
  }
  if (failure_.has_value()) return 0;
  auto got = file_->read(std::as_writable_bytes(into));
  if (got.has_value()) {
    text_read_ += *got;
    return *got;
  }
  failure_ = std::move(got).error();
  return 0;
}

// More text has been read than was given out: the head, and what is carried over.
std::uint64_t LineBatches::stored_share() const {
  if (text_bytes_ == text_read_) return file_->stored_bytes();
  const double share = static_cast<double>(text_bytes_) / static_cast<double>(text_read_);
  return static_cast<std::uint64_t>(share * static_cast<double>(file_->stored_bytes()));
}

Result<std::string_view> LineBatches::head() {
  std::vector<char> head(first_bytes);
  std::size_t used = 0;
  for (std::size_t got = 1; got > 0 && used < head_bytes_max; used += got) {
    if (used == head.size()) head.resize(2 * used);
    got = read(std::span(head).subspan(used));
  }
  if (used == 0 && failure_.has_value()) return *failure_;
  head.resize(used);
  head_ = std::move(head);
  std::string_view text(head_.data(), used);
  const std::size_t newline = text.rfind('\n');
  if (used >= head_bytes_max && newline != text.npos) text = text.substr(0, newline + 1);
  return text;
}

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
    const std::size_t got = read(std::span(buffer).subspan(used, capacity - used));
    used += got;
    at_end_ = got == 0;
  }
  if (at_end_ && failure_.has_value()) {  // only whole lines before it, and then the error
    newline = std::string_view(buffer.data(), used).rfind('\n');
    if (newline == std::string_view::npos) return *failure_;
    at_end_ = false;
  }
  std::size_t size = newline == std::string_view::npos ? used : newline + 1;
  carry_ = {buffer.data() + size, used - size};
  text_bytes_ += size;
  if (size > 0 && buffer[size - 1] != '\n') buffer[size++] = '\n';
  into.text = {buffer.data(), size};
  into.stored_bytes = stored_share();
  return {};
}

}  // namespace castor::data

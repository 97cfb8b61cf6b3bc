#include "data/rating_store.h"

#include <algorithm>
#include <utility>

namespace castor::data {
namespace {

// 36 MB: above any threshold below which freed memory is kept by the allocator.
constexpr std::size_t segment_ratings = 3'000'000;

}  // namespace

std::span<Rating> RatingStore::grow(std::size_t count, std::size_t expected) {
  if (segments_.empty() || segments_.back().capacity() - segments_.back().size() < count) {
    // Later segments are never large, so that joining them needs little memory.
    const std::size_t most = segments_.empty() && expected > 0 ? expected : segment_ratings;
    const std::size_t likely = std::min(expected > 0 ? expected : size_, most);
    segments_.emplace_back().reserve(std::max(count, likely));
  }
  std::vector<Rating>& segment = segments_.back();
  segment.resize(segment.size() + count);
  size_ += count;
  return std::span(segment).last(count);
}

std::vector<Rating> RatingStore::take() {
  std::vector<std::vector<Rating>> segments = std::exchange(segments_, {});
  const std::size_t size = std::exchange(size_, 0);
  if (segments.empty()) return {};
  if (segments.size() == 1) return std::move(segments.front());
  std::vector<Rating> all;
  all.reserve(size);
  for (std::vector<Rating>& segment : segments) {
    all.insert(all.end(), segment.begin(), segment.end());
    std::vector<Rating>().swap(segment);  // frees it; `= {}` would keep the memory
  }
  return all;
}

}  // namespace castor::data

#pragma once
// Ratings that come in pieces, in all unknown how many, and end in one vector, without ever holding
// them twice: space is reserved by an estimate (which costs nothing until it is used); what does
// not fit goes to further segments, which are joined at the end, one freed after another.
//
// Thread: one at a time; the span of grow() may be filled by several.
#include <cstddef>
#include <span>
#include <vector>

#include "data/ratings.h"

namespace castor::data {

class RatingStore {
 public:
  // Room for `count` more, which are contiguous. `expected` ratings, these among them, are likely
  // to be added from now on; 0 = unknown. Spans given before stay valid.
  std::span<Rating> grow(std::size_t count, std::size_t expected);
  std::size_t size() const { return size_; }
  // All of them; the store is empty afterwards.
  std::vector<Rating> take();

 private:
  std::vector<std::vector<Rating>> segments_;
  std::size_t size_ = 0;
};

}  // namespace castor::data

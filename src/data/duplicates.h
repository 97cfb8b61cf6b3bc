#pragma once
// Pairs (user, item) that were rated more than once: counted, and if asked for brought to one.
// Time O(n); memory 4 bytes a rating (none if ratings are grouped by user), 8 a user, 20 an item.
//
// Thread: any (plain values).
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "data/ratings.h"

namespace castor::data {

enum class Duplicates : unsigned char {
  keep,  // every observation stays
  last,  // only the last in input order stays, in its place
  mean,  // the first stays in its place and takes the mean of all
};

// Code::invalid for anything but "keep", "last", "mean".
Result<Duplicates> parse_duplicates(std::string_view name);

struct DuplicateCounts {
  std::uint64_t found = 0;    // ratings whose pair had occurred before
  std::uint64_t removed = 0;  // found, or 0 for keep
};

// Ratings with an unknown user or item (IdMap::npos) are left alone. The order of those that stay
// is that of the input. REQUIRES: other indices < users, items; fewer than 2^32 ratings.
DuplicateCounts handle_duplicates(std::vector<Rating>& ratings, std::uint32_t users,
                                  std::uint32_t items, Duplicates rule);

}  // namespace castor::data

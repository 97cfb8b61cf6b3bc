#pragma once
// Ratings by user, without moving them.
//
// Thread: any (plain values).
#include <cstdint>
#include <span>
#include <vector>

#include "data/ratings.h"

namespace castor::data {

// The ratings of user u are those with numbers order[starts[u]], ..., order[starts[u + 1] - 1],
// ascending. `order` is empty when it would be 0, 1, 2, ...
struct UserGroups {
  std::vector<std::uint32_t> starts;  // (users + 1)
  std::vector<std::uint32_t> order;

  std::uint32_t rating(std::uint32_t place) const { return order.empty() ? place : order[place]; }
};

// Ratings with user IdMap::npos are left out. REQUIRES: other users < `users`; fewer than 2^32
// ratings.
UserGroups group_by_user(std::span<const Rating> ratings, std::uint32_t users);

}  // namespace castor::data

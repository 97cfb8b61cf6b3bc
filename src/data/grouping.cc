#include "data/grouping.h"

#include "core/check.h"

namespace castor::data {

UserGroups group_by_user(std::span<const Rating> ratings, std::uint32_t users) {
  CHECK(ratings.size() < IdMap::npos);
  UserGroups groups;
  groups.starts.resize(std::size_t{users} + 1);
  bool grouped = true;
  std::uint32_t before = 0;
  for (const Rating& rating : ratings) {
    grouped = grouped && rating.user >= before && rating.user != IdMap::npos;
    before = rating.user;
    if (rating.user != IdMap::npos) ++groups.starts[std::size_t{rating.user} + 1];
  }
  for (std::size_t user = 0; user < users; ++user) groups.starts[user + 1] += groups.starts[user];
  if (grouped) return groups;
  std::vector<std::uint32_t> next(groups.starts.begin(), groups.starts.end() - 1);
  groups.order.resize(groups.starts.back());
  for (std::size_t i = 0; i < ratings.size(); ++i) {
    const std::uint32_t user = ratings[i].user;
    if (user != IdMap::npos) groups.order[next[user]++] = static_cast<std::uint32_t>(i);
  }
  return groups;
}

}  // namespace castor::data

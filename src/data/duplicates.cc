#include "data/duplicates.h"

#include <algorithm>
#include <utility>

#include "data/grouping.h"

namespace castor::data {
namespace {

constexpr std::uint32_t removed_item = IdMap::npos - 1;  // marks a rating

struct Mean {
  std::uint32_t count = 0;
  double sum = 0;
};

// The passes over one user's ratings. An entry of an array by item belongs to the present user when
// the item's stamp names that user, so nothing is cleared between users.
class PairFinder {
 public:
  PairFinder(std::vector<Rating>& ratings, std::uint32_t items, Duplicates rule)
      : ratings_(ratings), rule_(rule), stamps_(items, IdMap::npos) {
    if (rule == Duplicates::mean) means_.resize(items);
  }

  // Gives how many of the user's ratings repeat a pair; they are marked for removal, unless all
  // stay.
  std::uint64_t pass(const UserGroups& groups, std::uint32_t user) {
    const std::uint32_t begin = groups.starts[user], end = groups.starts[user + 1];
    std::uint64_t found = 0;
    for (std::uint32_t i = 0; i < end - begin; ++i) {
      const std::uint32_t place = rule_ == Duplicates::last ? end - 1 - i : begin + i;
      Rating& rating = ratings_[groups.rating(place)];
      if (rating.item == IdMap::npos) continue;
      const bool repeats = std::exchange(stamps_[rating.item], user) == user;
      if (rule_ == Duplicates::mean) {
        Mean& mean = means_[rating.item];
        mean = repeats ? Mean{mean.count + 1, mean.sum + rating.value} : Mean{1, rating.value};
      }
      if (!repeats) continue;
      ++found;
      if (rule_ != Duplicates::keep) rating.item = removed_item;
    }
    return found;
  }

  // After pass().
  void take_means(const UserGroups& groups, std::uint32_t user) {
    for (std::uint32_t place = groups.starts[user]; place < groups.starts[user + 1]; ++place) {
      Rating& rating = ratings_[groups.rating(place)];
      if (rating.item >= removed_item) continue;
      const Mean& mean = means_[rating.item];
      if (mean.count > 1) rating.value = static_cast<float>(mean.sum / mean.count);
    }
  }

 private:
  std::vector<Rating>& ratings_;
  const Duplicates rule_;
  std::vector<std::uint32_t> stamps_;  // (items) the user who was last seen to rate the item
  std::vector<Mean> means_;            // (items) of that user's ratings of it; for `mean` only
};

}  // namespace

Result<Duplicates> parse_duplicates(std::string_view name) {
  if (name == "keep") return Duplicates::keep;
  if (name == "last") return Duplicates::last;
  if (name == "mean") return Duplicates::mean;
  return error(Code::invalid, "duplicates: expected keep, last or mean, found '{}'",
               printable(name));
}

DuplicateCounts handle_duplicates(std::vector<Rating>& ratings, std::uint32_t users,
                                  std::uint32_t items, Duplicates rule) {
  const UserGroups groups = group_by_user(ratings, users);
  PairFinder finder(ratings, items, rule);
  DuplicateCounts counts;
  for (std::uint32_t user = 0; user < users; ++user) {
    const std::uint64_t found = finder.pass(groups, user);
    if (found > 0 && rule == Duplicates::mean) finder.take_means(groups, user);
    counts.found += found;
  }
  if (rule != Duplicates::keep && counts.found > 0) {
    counts.removed = counts.found;
    std::erase_if(ratings, [](const Rating& rating) { return rating.item == removed_item; });
  }
  return counts;
}

}  // namespace castor::data

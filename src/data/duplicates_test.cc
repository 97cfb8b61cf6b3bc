#include "data/duplicates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/property.h"

namespace castor::data {
namespace {

// The obvious way.
std::vector<Rating> reference(const std::vector<Rating>& ratings, Duplicates rule) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < ratings.size(); ++i) {
    places[{ratings[i].user, ratings[i].item}].push_back(i);
  }
  std::vector<Rating> result;
  for (std::size_t i = 0; i < ratings.size(); ++i) {
    Rating rating = ratings[i];
    const auto& all = places[{rating.user, rating.item}];
    const bool unknown = rating.user == IdMap::npos || rating.item == IdMap::npos;
    if (!unknown && rule == Duplicates::last && i != all.back()) continue;
    if (!unknown && rule == Duplicates::mean) {
      if (i != all.front()) continue;
      double sum = 0;
      for (const std::size_t place : all) sum += ratings[place].value;
      rating.value = static_cast<float>(sum / static_cast<double>(all.size()));
    }
    result.push_back(rating);
  }
  return result;
}

TEST(Duplicates, AgreeWithTheObviousWay) {
  for_seeds(300, [](Rng& rng) {
    const auto users = static_cast<std::uint32_t>(1 + rng.below(6));
    const auto items = static_cast<std::uint32_t>(1 + rng.below(6));
    std::vector<Rating> ratings(rng.below(60));
    for (Rating& rating : ratings) {
      rating = {static_cast<std::uint32_t>(rng.below(users)),
                static_cast<std::uint32_t>(rng.below(items)), static_cast<float>(rng.below(10))};
      if (rng.below(10) == 0) rating.user = IdMap::npos;
      if (rng.below(10) == 0) rating.item = IdMap::npos;
    }
    if (rng.below(2) != 0) {  // also data that is grouped by user, some of it sorted by value
      std::ranges::sort(ratings, {}, [](const Rating& r) { return std::pair(r.user, r.value); });
    }
    const std::size_t removed = ratings.size() - reference(ratings, Duplicates::last).size();
    for (const Duplicates rule : {Duplicates::keep, Duplicates::last, Duplicates::mean}) {
      std::vector<Rating> handled = ratings;
      const DuplicateCounts counts = handle_duplicates(handled, users, items, rule);
      EXPECT_EQ(handled, reference(ratings, rule));
      EXPECT_EQ(counts.found, removed);
      EXPECT_EQ(counts.removed, rule == Duplicates::keep ? 0 : removed);
    }
  });
}

TEST(Duplicates, NothingIsADuplicateOfNothing) {
  std::vector<Rating> none;
  EXPECT_EQ(handle_duplicates(none, 0, 0, Duplicates::mean).found, 0u);
}

TEST(Duplicates, RulesHaveNames) {
  EXPECT_EQ(parse_duplicates("last").value(), Duplicates::last);
  EXPECT_EQ(parse_duplicates("first").error().code(), Code::invalid);
}

}  // namespace
}  // namespace castor::data

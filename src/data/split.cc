#include "data/split.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/rng.h"
#include "data/grouping.h"

namespace castor::data {
namespace {

constexpr std::uint32_t split_purpose = 0x53504c54;  // keeps these numbers apart from other uses

// A random number that belongs to the rating at `place`.
std::uint64_t random_of(std::uint64_t seed, std::uint64_t place) {
  const auto words =
      philox4x32({static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32),
                  split_purpose, 0},
                 {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return std::uint64_t{words[1]} << 32 | words[0];
}

// How many of a user's n ratings are held out.
std::uint32_t count_of(const SplitOptions& options, std::uint32_t n) {
  const double wanted =
      options.per_user > 0 ? static_cast<double>(options.per_user) : std::round(options.test * n);
  return n == 0 ? 0 : static_cast<std::uint32_t>(std::min<double>(wanted, n - 1));
}

std::vector<std::uint8_t> held_out_by_chance(const Ratings& ratings, const SplitOptions& options) {
  std::vector<std::uint8_t> mask(ratings.ratings.size());
  const auto seed = static_cast<std::uint64_t>(options.seed);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    mask[i] = static_cast<double>(random_of(seed, i) >> 11) * 0x1.0p-53 < options.test ? 1 : 0;
  }
  return mask;
}

std::vector<std::uint8_t> held_out_by_user(const Ratings& ratings, const SplitOptions& options) {
  std::vector<std::uint8_t> mask(ratings.ratings.size());
  const UserGroups groups = group_by_user(ratings.ratings, ratings.users.size());
  const auto seed = static_cast<std::uint64_t>(options.seed);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
  for (std::uint32_t user = 0; user < ratings.users.size(); ++user) {
    const std::uint32_t begin = groups.starts[user], end = groups.starts[user + 1];
    const std::uint32_t count = count_of(options, end - begin);
    if (options.by == "last") {
      for (std::uint32_t place = end - count; place < end; ++place) mask[groups.rating(place)] = 1;
      continue;
    }
    order.clear();
    for (std::uint32_t place = begin; place < end; ++place) {
      const std::uint32_t rating = groups.rating(place);
      order.emplace_back(random_of(seed, rating), rating);
    }
    std::nth_element(order.begin(), order.begin() + count, order.end());
    for (std::uint32_t i = 0; i < count; ++i) mask[order[i].second] = 1;
  }
  return mask;
}

}  // namespace

std::vector<Field> fields(SplitOptions& options) {
  return {
      {.name = "test",
       .target = &options.test,
       .help = "share of the ratings that is held out",
       .minimum = 0,
       .maximum = 1,
       .positive = true},
      {.name = "per_user",
       .target = &options.per_user,
       .help = "hold out so many ratings of each user instead of a share; 0 = a share",
       .minimum = 0,
       .maximum = 1e9},
      {.name = "by",
       .target = &options.by,
       .help = "hold out ratings at random, or the last of each user in input order",
       .choices = {"random", "last"}},
      {.name = "seed", .target = &options.seed, .help = "seed of the random choice", .minimum = 0},
  };
}

Result<std::vector<std::uint8_t>> held_out(const Ratings& ratings, const SplitOptions& options) {
  SplitOptions copy = options;
  for (const Field& field : fields(copy)) {
    TRY(assign(field, std::string_view(value_text(field))));
  }
  const bool by_chance = options.per_user == 0 && options.by == "random";
  std::vector<std::uint8_t> mask =
      by_chance ? held_out_by_chance(ratings, options) : held_out_by_user(ratings, options);
  const auto count = static_cast<std::size_t>(std::ranges::count(mask, std::uint8_t{1}));
  if (count == 0 || count == mask.size()) {
    return error(Code::invalid, "the split would leave {} of {} ratings for testing; {}", count,
                 mask.size(), count == 0 ? "hold out more" : "hold out less");
  }
  return mask;
}

}  // namespace castor::data

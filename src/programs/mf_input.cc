#include "programs/mf_input.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/rng.h"

namespace castor::programs {
namespace {

constexpr ShardId relabel_stream = ~ShardId{0} - 0x10000;

Side relabelled(std::uint32_t count, std::uint64_t seed, BlockId which) {
  Side side;
  side.index_at.resize(count);
  side.position_of.resize(count);
  side.degree.assign(count, 0);
  std::iota(side.index_at.begin(), side.index_at.end(), 0);
  Rng rng({seed, relabel_stream, 0, which});
  rng.shuffle(side.index_at);
  for (std::uint32_t position = 0; position < count; ++position) {
    side.position_of[side.index_at[position]] = position;
  }
  return side;
}

std::uint32_t position_or_none(const Side& side, std::uint32_t index) {
  return index == data::IdMap::npos ? index : side.position_of[index];
}

// Does not depend on the order of the ratings.
std::uint64_t fingerprint_of(std::span<const data::Rating> ratings) {
  std::uint64_t sum = 0;
  for (const data::Rating& rating : ratings) {
    const std::uint64_t pair = std::uint64_t{rating.user} << 32 | rating.item;
    sum += mix64(pair ^ (std::uint64_t{std::bit_cast<std::uint32_t>(rating.value)} << 16));
  }
  return sum;
}

void summarise(std::span<const data::Rating> ratings, MfInput& input) {
  double sum = 0, sum_squares = 0;
  input.value_least = input.value_most = ratings.front().value;
  for (const data::Rating& rating : ratings) {
    sum += rating.value;
    sum_squares += double{rating.value} * rating.value;
    input.value_least = std::min(input.value_least, rating.value);
    input.value_most = std::max(input.value_most, rating.value);
  }
  const auto count = static_cast<double>(ratings.size());
  input.mean = sum / count;
  const double variance = sum_squares / count - input.mean * input.mean;
  input.deviation = variance > 1e-12 ? std::sqrt(variance) : 1;
}

}  // namespace

Band band_of(std::uint32_t total, std::uint32_t parts, std::uint32_t part) {
  const std::uint32_t size = (total + parts - 1) / parts;
  const std::uint64_t first = std::min<std::uint64_t>(std::uint64_t{size} * part, total);
  const std::uint64_t last = std::min<std::uint64_t>(first + size, total);
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last - first)};
}

void ShardedRatings::clear() {
  ratings_ = {};
  std::ranges::fill(begin_, std::size_t{0});
}

ShardedRatings shard_ratings(std::vector<data::Rating> ratings, const Side& users,
                             const Side& items, ShardId shards) {
  const std::uint32_t band = std::max<std::uint32_t>(1, (users.count() + shards - 1) / shards);
  auto shard_of = [&](std::uint32_t user) { return user == data::IdMap::npos ? 0 : user / band; };
  ShardedRatings result;
  result.begin_.assign(shards + 1, 0);
  for (data::Rating& rating : ratings) {
    rating.user = position_or_none(users, rating.user);
    rating.item = position_or_none(items, rating.item);
    ++result.begin_[shard_of(rating.user) + 1];
  }
  std::partial_sum(result.begin_.begin(), result.begin_.end(), result.begin_.begin());
  // Grouped in place: each rating is swapped to its shard's next free place.
  std::vector<std::size_t> next(result.begin_.begin(), result.begin_.end() - 1);
  for (ShardId shard = 0; shard < shards; ++shard) {
    while (next[shard] < result.begin_[shard + 1]) {
      const ShardId home = shard_of(ratings[next[shard]].user);
      if (home == shard) {
        ++next[shard];
      } else {
        std::swap(ratings[next[shard]], ratings[next[home]++]);
      }
    }
  }
  result.ratings_.reserve(ratings.size());
  for (const data::Rating& rating : ratings) {
    result.ratings_.push_back({rating.user, rating.item, rating.value});
  }
  return result;
}

MfInput prepare_input(std::vector<data::Rating> train, std::vector<data::Rating> test,
                      std::vector<data::Rating> validation, MfCounts counts, ShardId shards,
                      std::uint64_t seed) {
  CHECK(!train.empty() && shards >= 1);
  MfInput input;
  input.shards = shards;
  summarise(train, input);
  input.fingerprint = fingerprint_of(train);
  input.validation_fingerprint = fingerprint_of(validation);
  input.users = relabelled(counts.users, seed, 0);
  input.items = relabelled(counts.items, seed, 1);
  input.train = shard_ratings(std::move(train), input.users, input.items, shards);
  for (const kernels::MfRating& rating : input.train.all()) {
    ++input.users.degree[rating.user];
    ++input.items.degree[rating.item];
  }
  input.test = shard_ratings(std::move(test), input.users, input.items, shards);
  input.validation = shard_ratings(std::move(validation), input.users, input.items, shards);
  return input;
}

}  // namespace castor::programs

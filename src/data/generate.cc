#include "data/generate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/rng.h"
#include "data/ratings_writer.h"

namespace castor::data {
namespace {

// Random streams of one seed, by what they are for.
enum Purpose : ShardId { activity, popularity, user_factors, item_factors, biases, user_ratings };

constexpr std::size_t chunk_ratings = std::size_t{32} << 10;
constexpr std::size_t chunks_at_once = 32;
constexpr double mean_value = 3.5;

// Walker's alias method: draws an index with probability in proportion to its weight in constant
// time.
class AliasTable {
 public:
  explicit AliasTable(const std::vector<double>& weights)
      : keep_(weights.size()), alias_(weights.size()) {
    const double mean =
        std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
    std::vector<std::uint32_t> below, above;
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
      keep_[i] = weights[i] / mean;
      alias_[i] = i;
      (keep_[i] < 1 ? below : above).push_back(i);
    }
    while (!below.empty() && !above.empty()) {
      const std::uint32_t small = below.back(), large = above.back();
      below.pop_back();
      alias_[small] = large;
      keep_[large] -= 1 - keep_[small];
      if (keep_[large] < 1) above.pop_back(), below.push_back(large);
    }
    for (const std::uint32_t i : below) keep_[i] = 1;  // what rounding left over
    for (const std::uint32_t i : above) keep_[i] = 1;
  }

  std::uint32_t draw(Rng& rng) const {
    const auto i = static_cast<std::uint32_t>(rng.below(keep_.size()));
    return rng.uniform() < keep_[i] ? i : alias_[i];
  }

 private:
  std::vector<double> keep_;
  std::vector<std::uint32_t> alias_;
};

// The items one user has rated: an open hash set, emptied for each user.
class SeenItems {
 public:
  void clear(std::size_t capacity) { slots_.assign(std::bit_ceil(2 * capacity + 2), IdMap::npos); }
  // False when it was in already.
  bool insert(std::uint32_t item) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(item * 0x9e3779b1u) & mask;
    for (; slots_[at] != IdMap::npos; at = (at + 1) & mask) {
      if (slots_[at] == item) return false;
    }
    slots_[at] = item;
    return true;
  }

 private:
  std::vector<std::uint32_t> slots_;
};

// Log-normal activity with a floor, no user above a third of the items unless the mean is high;
// exactly options.ratings in all.
std::vector<std::uint32_t> degrees_of(const GenerateOptions& options) {
  const auto users = static_cast<std::size_t>(options.users);
  const auto total = static_cast<double>(options.ratings);
  const double mean = total / static_cast<double>(users);
  const double least = std::min(20.0, std::floor(mean / 2));
  const auto items = static_cast<double>(options.items);
  const double most = std::min(items, std::max(std::ceil(items / 3), std::ceil(2 * mean)));
  Rng rng({.seed = static_cast<std::uint64_t>(options.seed), .shard = activity});
  std::vector<double> weights(users);
  for (double& weight : weights) weight = std::exp(1.1 * rng.normal());
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::uint32_t> degrees(users);
  std::uint64_t given = 0;
  for (std::size_t u = 0; u < users; ++u) {
    const double share = least + (total - least * static_cast<double>(users)) * weights[u] / sum;
    degrees[u] = static_cast<std::uint32_t>(std::min(most, share));
    given += degrees[u];
  }
  std::uint64_t left = static_cast<std::uint64_t>(options.ratings) - given;
  while (left > 0) {
    const std::uint64_t each = left / users + 1;
    for (std::size_t u = 0; u < users && left > 0; ++u) {
      const std::uint64_t more =
          std::min({each, left, static_cast<std::uint64_t>(most) - degrees[u]});
      degrees[u] += static_cast<std::uint32_t>(more);
      left -= more;
    }
  }
  return degrees;
}

// By item: a Zipf-like law over a random order of the items.
std::vector<double> popularity_of(const GenerateOptions& options) {
  const auto items = static_cast<std::size_t>(options.items);
  std::vector<std::uint32_t> order(items);
  std::iota(order.begin(), order.end(), 0u);
  Rng rng({.seed = static_cast<std::uint64_t>(options.seed), .shard = popularity});
  rng.shuffle(order);
  std::vector<double> weights(items);
  for (std::size_t i = 0; i < items; ++i) {
    const auto place = static_cast<double>(i);
    weights[order[i]] =
        std::pow(place + 20, -0.9) * std::exp(-3 * place / static_cast<double>(items));
  }
  return weights;
}

std::vector<float> normals(const GenerateOptions& options, ShardId purpose, Clock part,
                           std::size_t count, double scale) {
  Rng rng({.seed = static_cast<std::uint64_t>(options.seed), .shard = purpose, .clock = part});
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(scale * rng.normal());
  return values;
}

struct Chunk {
  std::size_t first_user = 0, end_user = 0;
  std::vector<Rating> ratings = {};
  std::vector<std::uint8_t> test = {};
  SeenItems seen = {};
  double squared_error = 0, test_squared_error = 0;
};

class Generator {
 public:
  explicit Generator(const GenerateOptions& options)
      : options_(options),
        rank_(static_cast<std::size_t>(options.rank)),
        degrees_(degrees_of(options)),
        popularity_(popularity_of(options)) {
    const auto users = static_cast<std::size_t>(options.users);
    const auto items = static_cast<std::size_t>(options.items);
    const double scale = std::sqrt(0.55 / std::sqrt(static_cast<double>(rank_)));
    user_factors_ = normals(options, user_factors, 0, users * rank_, scale);
    item_factors_ = normals(options, item_factors, 0, items * rank_, scale);
    user_biases_ = normals(options, biases, 0, users, 0.4);
    item_biases_ = normals(options, biases, 1, items, 0.45);
  }

  Result<GenerateReport> run(world::Pool& pool, RatingsSink sink) {
    GenerateReport report;
    double squared_error = 0, test_squared_error = 0;
    std::vector<Chunk> chunks(chunks_at_once);
    for (std::size_t user = 0; user < degrees_.size();) {
      std::size_t count = 0;
      for (; count < chunks.size() && user < degrees_.size(); ++count) {
        user = cut(user, chunks[count]);
      }
      pool.run(count, 1, [&](std::size_t i, std::size_t) { fill(chunks[i]); });
      for (std::size_t i = 0; i < count; ++i) {
        TRY(sink(chunks[i].ratings, chunks[i].test));
        report.ratings += chunks[i].ratings.size();
        report.test_ratings +=
            static_cast<std::uint64_t>(std::ranges::count(chunks[i].test, std::uint8_t{1}));
        squared_error += chunks[i].squared_error;
        test_squared_error += chunks[i].test_squared_error;
      }
    }
    report.rmse_floor = std::sqrt(squared_error / static_cast<double>(report.ratings));
    if (report.test_ratings > 0) {
      report.test_rmse_floor =
          std::sqrt(test_squared_error / static_cast<double>(report.test_ratings));
    }
    return report;
  }

 private:
  // The next users, with about chunk_ratings ratings. Gives the first user after them.
  std::size_t cut(std::size_t user, Chunk& chunk) const {
    chunk.first_user = user;
    for (std::size_t count = 0; user < degrees_.size() && count < chunk_ratings; ++user) {
      count += degrees_[user];
    }
    return chunk.end_user = user;
  }

  void fill(Chunk& chunk) const {
    chunk.ratings.clear();
    chunk.test.clear();
    chunk.squared_error = chunk.test_squared_error = 0;
    for (std::size_t user = chunk.first_user; user < chunk.end_user; ++user) {
      fill_user(static_cast<std::uint32_t>(user), chunk);
    }
  }

  void fill_user(std::uint32_t user, Chunk& chunk) const {
    const std::uint32_t degree = degrees_[user];
    Rng rng({.seed = static_cast<std::uint64_t>(options_.seed),
             .shard = user_ratings,
             .clock = static_cast<Clock>(user)});
    chunk.seen.clear(degree);
    std::uint32_t done = 0;
    for (std::uint64_t tries = 0; done < degree && tries < 20 * std::uint64_t{degree}; ++tries) {
      const std::uint32_t item = popularity_.draw(rng);
      if (!chunk.seen.insert(item)) continue;
      add(user, item, rng, chunk);
      ++done;
    }
    if (done == degree) return;
    // The popular items are used up: whichever come next, from a random one on.
    const auto items = static_cast<std::uint32_t>(options_.items);
    auto item = static_cast<std::uint32_t>(rng.below(items));
    for (; done < degree; item = item + 1 == items ? 0 : item + 1) {
      if (!chunk.seen.insert(item)) continue;
      add(user, item, rng, chunk);
      ++done;
    }
  }

  void add(std::uint32_t user, std::uint32_t item, Rng& rng, Chunk& chunk) const {
    const float* p = &user_factors_[user * rank_];
    const float* q = &item_factors_[item * rank_];
    double mean = mean_value + user_biases_[user] + item_biases_[item];
    for (std::size_t k = 0; k < rank_; ++k) mean += p[k] * q[k];
    const double noisy = mean + options_.noise * rng.normal();
    const double value = std::clamp(std::round(2 * noisy) / 2, 0.5, 5.0);
    const bool test = options_.test > 0 && rng.uniform() < options_.test;
    const double miss = value - std::clamp(mean, 0.5, 5.0);
    chunk.ratings.push_back({user, item, static_cast<float>(value)});
    chunk.test.push_back(test ? 1 : 0);
    chunk.squared_error += miss * miss;
    if (test) chunk.test_squared_error += miss * miss;
  }

  const GenerateOptions& options_;
  const std::size_t rank_;
  const std::vector<std::uint32_t> degrees_;  // (users) ratings of each
  const AliasTable popularity_;
  std::vector<float> user_factors_, item_factors_;  // (users, rank), (items, rank)
  std::vector<float> user_biases_, item_biases_;
};

Status check_options(const GenerateOptions& options) {
  GenerateOptions copy = options;
  for (const Field& field : fields(copy)) {
    TRY(assign(field, std::string_view(value_text(field))));
  }
  const double pairs = static_cast<double>(options.users) * static_cast<double>(options.items);
  if (static_cast<double>(options.ratings) > 0.9 * pairs) {
    return error(
        Code::invalid,
        "ratings: {} of {} users and {} items without a pair twice: at most {} are possible",
        options.ratings, options.users, options.items, static_cast<std::uint64_t>(0.9 * pairs));
  }
  return {};
}

}  // namespace

std::vector<Field> fields(GenerateOptions& options) {
  return {
      {.name = "users",
       .target = &options.users,
       .help = "number of users",
       .minimum = 1,
       .maximum = 2e9},
      {.name = "items",
       .target = &options.items,
       .help = "number of items",
       .minimum = 1,
       .maximum = 2e9},
      {.name = "ratings",
       .target = &options.ratings,
       .help = "number of ratings in all",
       .minimum = 1,
       .maximum = 4e9},
      {.name = "rank",
       .target = &options.rank,
       .help = "rank of the planted model",
       .minimum = 1,
       .maximum = 1024},
      {.name = "noise",
       .target = &options.noise,
       .help = "standard deviation of the noise before rounding to half steps",
       .minimum = 0,
       .maximum = 10},
      {.name = "test",
       .target = &options.test,
       .help = "share that goes to the test file",
       .minimum = 0,
       .maximum = 0.9},
      {.name = "seed", .target = &options.seed, .help = "seed of everything random", .minimum = 0},
  };
}

Result<GenerateReport> generate_ratings(world::Pool& pool, const GenerateOptions& options,
                                        RatingsSink sink) {
  TRY(check_options(options));
  return Generator(options).run(pool, sink);
}

Result<GenerateReport> generate_ratings(world::Files& files, world::Pool& pool,
                                        const GenerateOptions& options, const std::string& path,
                                        const std::string& test_path) {
  TRY(check_options(options));
  if ((options.test > 0) == test_path.empty()) {
    return error(Code::invalid, "a share for testing and a test file go together");
  }
  if (path == test_path) return error(Code::invalid, "both files are named '{}'", path);
  TRY_AS(RatingsWriter train, RatingsWriter::open(files, path, {.format = format_for(path)}));
  std::optional<RatingsWriter> test;
  if (!test_path.empty()) {
    TRY_AS(RatingsWriter opened,
           RatingsWriter::open(files, test_path, {.format = format_for(test_path)}));
    test.emplace(std::move(opened));
  }
  const auto write = [&](std::span<const Rating> ratings,
                         std::span<const std::uint8_t> held_out) -> Status {
    for (std::size_t i = 0; i < ratings.size(); ++i) {
      RatingsWriter& writer = held_out[i] != 0 ? *test : train;
      TRY(writer.add(ratings[i].user + 1, ratings[i].item + 1, ratings[i].value));
    }
    return {};
  };
  TRY_AS(const GenerateReport report, generate_ratings(pool, options, write));
  TRY(train.finish());
  if (test.has_value()) TRY(test->finish());
  return report;
}

}  // namespace castor::data

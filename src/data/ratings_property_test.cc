#include <gtest/gtest.h>

#include <array>

#include "core/property.h"
#include "data/fixture.h"
#include "data/line_format.h"
#include "data/ratings_case.h"
#include "data/ratings_writer.h"

namespace castor::data {
namespace {

constexpr std::array formats = {RatingsFormat::tab, RatingsFormat::comma, RatingsFormat::semicolon,
                                RatingsFormat::colons, RatingsFormat::space};

// Ids such as people have: numbers of all sizes, words, and text that needs quotes.
std::string random_id(Rng& rng, std::uint64_t kind) {
  switch (kind) {
    case 0: return std::to_string(rng.below(1000));
    case 1: return std::to_string(rng.below(std::uint64_t{1} << (1 + rng.below(40))));
    case 2: return "user-" + std::to_string(rng.below(300));
    case 3: return std::string(rng.below(3), '0') + std::to_string(rng.below(20));
    default: {
      static constexpr std::string_view letters =
          "ab \t,;:\"'\r#%\\\xc3\x84"
          "07.";
      std::string id;
      for (std::uint64_t i = 0, n = 1 + rng.below(8); i < n; ++i) {
        id += letters[rng.below(letters.size())];
      }
      return id;
    }
  }
}

float random_value(Rng& rng) {
  switch (rng.below(3)) {
    case 0: return static_cast<float>(rng.below(11)) / 2;
    case 1: return static_cast<float>(rng.normal());
    default: return static_cast<float>(rng.normal() * 1e20);
  }
}

Ratings random_ratings(Rng& rng, std::size_t count) {
  Ratings ratings;
  const std::uint64_t users = rng.below(5), items = rng.below(5);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t user = ratings.users.add(random_id(rng, users));
    const std::uint32_t item = ratings.items.add(random_id(rng, items));
    ratings.ratings.push_back({user, item, random_value(rng)});
  }
  return ratings;
}

TEST(RatingsProperty, WhatIsWrittenIsReadBackUnderTheSameIds) {
  for_seeds(300, [](Rng& rng) {
    const Ratings ratings = random_ratings(rng, 1 + rng.below(60));
    Disk disk;
    world::Pool pool(1);
    const WriteOptions options{.format = formats[rng.below(formats.size())],
                               .header = rng.below(2) != 0};
    const auto written = write_ratings(disk.files, "r", ratings, options);
    if (!written.has_value()) {  // ids this format cannot hold, which csv can
      EXPECT_NE(options.format, RatingsFormat::comma) << written.error().message();
      EXPECT_NE(options.format, RatingsFormat::semicolon) << written.error().message();
      EXPECT_FALSE(disk.files.exists("r"));
      return;
    }
    const auto back = read_ratings(disk.files, pool,
                                   {.paths = {"r"},
                                    .format = std::string(name_of(options.format)),
                                    .header = options.header ? "yes" : "no"});
    ASSERT_TRUE(back.has_value()) << back.error().message() << "\n" << disk.get("r");
    EXPECT_EQ(plain(*back), plain(ratings)) << disk.get("r");
    EXPECT_EQ(back->ratings, ratings.ratings);
    EXPECT_EQ(back->users.is_numeric(), ratings.users.is_numeric());
  });
}

TEST(RatingsProperty, FormatsWrittenFromPlainIdsAreDetected) {
  for_seeds(100, [](Rng& rng) {
    Ratings ratings;
    for (int i = 0; i < 20; ++i) {
      const std::uint32_t user = ratings.users.add(random_id(rng, rng.below(4)));
      ratings.ratings.push_back({user, ratings.items.add(random_id(rng, 2)), 2.5});
    }
    Disk disk;
    world::Pool pool(1);
    const RatingsFormat format = formats[rng.below(formats.size())];
    ASSERT_TRUE(
        write_ratings(disk.files, "r", ratings, {.format = format, .header = rng.below(2) != 0})
            .has_value());
    const auto back = read_ratings(disk.files, pool, {.paths = {"r"}});
    ASSERT_TRUE(back.has_value()) << back.error().message();
    EXPECT_EQ(back->stats.files[0].format, format);
    EXPECT_EQ(plain(*back), plain(ratings));
  });
}

TEST(RatingsProperty, ThreadsAndSizesOfPiecesChangeNothing) {
  for_seeds(40, [](Rng& rng) {
    const Ratings ratings = random_ratings(rng, 200 + rng.below(2000));
    Disk disk;
    ASSERT_TRUE(
        write_ratings(disk.files, "r", ratings, {.format = RatingsFormat::comma}).has_value());
    for (const unsigned threads : {1u, 2u, 3u}) {
      world::Pool pool(threads);
      ReadOptions options{.paths = {"r"}, .format = "csv", .header = "no"};
      options.chunk_bytes = 1 + rng.below(1000);
      options.batch_bytes = options.chunk_bytes * (1 + rng.below(20));
      const auto back = read_ratings(disk.files, pool, options);
      ASSERT_TRUE(back.has_value()) << back.error().message();
      EXPECT_EQ(back->ratings, ratings.ratings);
      EXPECT_EQ(plain(*back), plain(ratings));
      EXPECT_EQ(back->stats.files[0].bytes, disk.get("r").size());
      EXPECT_EQ(back->stats.files[0].lines, ratings.ratings.size());
    }
  });
}

// Every file of up to five of these pieces is either an error or read the same however it is cut.
TEST(RatingsProperty, EverySmallFileIsReadTheSameInOnePieceAndInMany) {
  static constexpr const char* pieces[] = {"1", " ", ",", "\n", "\"", "x", "2.5 "};
  constexpr std::size_t kinds = std::size(pieces);
  for (std::size_t length = 0; length <= 5; ++length) {
    std::size_t total = 1;
    for (std::size_t i = 0; i < length; ++i) total *= kinds;
    for (std::size_t number = 0; number < total; ++number) {
      std::string bytes("\0", 1);
      bytes[0] = static_cast<char>(number % 3 == 0 ? 32 : 0);
      std::size_t rest = number;
      for (std::size_t i = 0; i < length; ++i, rest /= kinds) bytes += pieces[rest % kinds];
      check_ratings_case({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    }
  }
}

TEST(RatingsProperty, RandomBytesAreAnErrorOrReadTheSameHoweverCut) {
  for_seeds(3000, [](Rng& rng) {
    static constexpr std::string_view likely = "0123456789 \t,;:.\n\n\r\"abN%#-+e";
    std::string bytes(1, static_cast<char>(rng.below(256)));
    for (std::uint64_t i = 0, n = rng.below(60); i < n; ++i) {
      bytes +=
          rng.below(50) == 0 ? static_cast<char>(rng.below(256)) : likely[rng.below(likely.size())];
    }
    check_ratings_case({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  });
}

}  // namespace
}  // namespace castor::data

#include "data/ratings.h"

#include <gtest/gtest.h>

#include "data/fixture.h"

namespace castor::data {
namespace {

Result<Ratings> read(std::string_view text, ReadOptions options = {}) {
  Disk disk;
  disk.put("r", text);
  world::Pool pool(1);
  options.paths = {"r"};
  return read_ratings(disk.files, pool, options);
}

std::vector<PlainRating> read_plain(std::string_view text, const ReadOptions& options = {}) {
  auto result = read(text, options);
  EXPECT_TRUE(result.has_value()) << result.error().message();
  return result.has_value() ? plain(*result) : std::vector<PlainRating>{};
}

const std::vector<PlainRating> two = {{"1", "10", 3.5f}, {"2", "20", 4}};

TEST(ReadRatings, EverySeparatorIsDetected) {
  const std::pair<const char*, RatingsFormat> cases[] = {
      {"1\t10\t3.5\n2\t20\t4\n", RatingsFormat::tab},
      {"1,10,3.5\n2,20,4\n", RatingsFormat::comma},
      {"1;10;3.5\n2;20;4\n", RatingsFormat::semicolon},
      {"1::10::3.5\n2::20::4\n", RatingsFormat::colons},
      {"1 10 3.5\n2 20 4\n", RatingsFormat::space},
      {"  1   10\t 3.5  \n2 20 4 \n", RatingsFormat::space},
  };
  for (const auto& [text, format] : cases) {
    const auto result = read(text);
    ASSERT_TRUE(result.has_value()) << result.error().message();
    EXPECT_EQ(plain(*result), two) << text;
    EXPECT_EQ(result->stats.files[0].format, format) << text;
    EXPECT_EQ(read_plain(text, {.format = std::string(name_of(format))}), two);
  }
}

TEST(ReadRatings, LineEndsAndBlankLinesDoNotMatter) {
  for (const char* text :
       {"1 10 3.5\n2 20 4", "1 10 3.5\r\n2 20 4\r\n", "1 10 3.5\r\n2 20 4\r",
        "\n1 10 3.5\n\n \n2 20 4\n\n",
        "\xEF\xBB\xBF"
        "1 10 3.5\n2 20 4\n",
        "1,10,3.5\r\n2,20,4\r\n", "1\t10\t3.5\r\n\r\n2\t20\t4", "\t1 10 3.5\n\t\n2 20 4\n"}) {
    EXPECT_EQ(read_plain(text), two) << text;
  }
}

TEST(ReadRatings, FurtherColumnsAreIgnored) {
  EXPECT_EQ(read_plain("1\t10\t3.5\t881250949\n2\t20\t4\t\n"), two);
  EXPECT_EQ(read_plain("1::10::3.5::x::\n2::20::4::y\n"), two);
  EXPECT_EQ(read_plain("1,10,3.5,\"a,b\"\r\n2,20,4,x\r\n"), two);
  EXPECT_EQ(read_plain("1 10 3.5 extra words\n2 20 4 \n"), two);
}

TEST(ReadRatings, AHeaderIsDetectedOrStated) {
  EXPECT_EQ(read_plain("userId,movieId,rating,timestamp\n1,10,3.5,7\n2,20,4,8\n"), two);
  EXPECT_EQ(read_plain("\n\"user\"\t\"item\"\t\"rating\"\n1\t10\t3.5\n2\t20\t4\n"), two);
  EXPECT_EQ(read_plain("9 9 9\n1 10 3.5\n2 20 4\n", {.header = "yes"}), two);
  const auto kept = read_plain("a,b,1\nc,d,2\n");
  EXPECT_EQ(kept.size(), 2u);
  EXPECT_FALSE(read("user,item,rating\n1,10,3.5\n", {.header = "no"}).has_value());
  EXPECT_TRUE(read("user,item,rating\n1,10,3.5\n")->stats.files[0].header);
}

TEST(ReadRatings, IdsAreAnyTextAndStayApart) {
  const auto found = read_plain(
      "1 a 1\n4294967297 a 2\n7 007 3\n007 7 4\n\xc3\x84-7 a 5\n-1 +1 1\n18446744073709551617 a "
      "2\n");
  const std::vector<PlainRating> expected = {{"1", "a", 1},
                                             {"4294967297", "a", 2},
                                             {"7", "007", 3},
                                             {"007", "7", 4},
                                             {"\xc3\x84-7", "a", 5},
                                             {"-1", "+1", 1},
                                             {"18446744073709551617", "a", 2}};
  EXPECT_EQ(found, expected);
}

TEST(ReadRatings, QuotedFieldsMayHoldSeparatorsAndQuotes) {
  const std::vector<PlainRating> expected = {
      {"Doe, \"J\"", "Film: a, b", 4}, {"x", " spaced ", 3}, {"17", "a\"b", 2}};
  EXPECT_EQ(read_plain("\"Doe, \"\"J\"\"\",\"Film: a, b\",\"4\"\n"
                       "x,\" spaced \" , 3 \n"
                       "\"17\",a\"b,2\n"),
            expected);
  EXPECT_EQ(read_plain("\"1\";\"10\";\"3.5\"\n\"2\";\"20\";\"4\"\n"), two);
  const std::vector<PlainRating> literal = {{"\"a", "b\"", 1}};
  EXPECT_EQ(read_plain("\"a\tb\"\t1\n"), literal);  // quotes mean nothing between tabs
}

TEST(ReadRatings, ColumnsCanBeChosen) {
  const ReadOptions options{.user_column = 3, .item_column = 1, .value_column = 4};
  EXPECT_EQ(read_plain("10,x,1,3.5\n20,y,2,4\n", options), two);
}

TEST(ReadRatings, WithoutValuesEveryRatingIsOne) {
  const std::vector<PlainRating> ones = {{"1", "10", 1}, {"2", "20", 1}};
  EXPECT_EQ(read_plain("1 10\n2 20\n", {.no_value = true}), ones);
  EXPECT_EQ(read_plain("1,10,3.5\n2,20,4\n", {.no_value = true}), ones);
  EXPECT_EQ(read_plain("user,item\r\n1,10\r\n2,20\r\n", {.no_value = true}), ones);
  EXPECT_EQ(read_plain("a b\nc d\n", {.no_value = true}).size(), 2u);
}

TEST(ReadRatings, ValuesMayBeNegativeLongOrInExponents) {
  const auto found =
      read_plain("1 1 -3.25\n1 2 +2\n1 3 1e2\n1 4 3.14159274\n1 5 16777217\n1 6 .5\n");
  const float expected[] = {-3.25f, 2, 100, 3.14159274f, 16777216, 0.5f};
  ASSERT_EQ(found.size(), std::size(expected));
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].value, expected[i]);
}

TEST(ReadRatings, IndicesFollowTheFirstAppearance) {
  const auto result = read("30 b 1\n10 a 2\n30 a 3\n20 c 4\n");
  ASSERT_TRUE(result.has_value());
  const std::vector<Rating> expected = {{0, 0, 1}, {1, 1, 2}, {0, 1, 3}, {2, 2, 4}};
  EXPECT_EQ(result->ratings, expected);
  EXPECT_TRUE(result->users.is_numeric());
  EXPECT_FALSE(result->items.is_numeric());
}

TEST(ReadRatings, MatrixMarketFilesAreRead) {
  const std::string_view head = "%%MatrixMarket matrix coordinate real general\n% a comment\n\n";
  EXPECT_EQ(read_plain(std::string(head) + "2 20 2\n1 10 3.5\n% between\n2 20 4\n"), two);
  EXPECT_EQ(read_plain("%%MatrixMarket MATRIX Coordinate Integer General\n2 20 1\n2 7 -4\n"),
            (std::vector<PlainRating>{{"2", "7", -4}}));
  const auto pattern =
      read("%%MatrixMarket matrix coordinate pattern general\r\n3 3 3\r\n1 3\r\n3 3\r\n1 3\r\n");
  ASSERT_TRUE(pattern.has_value()) << pattern.error().message();
  EXPECT_EQ(plain(*pattern),
            (std::vector<PlainRating>{{"1", "3", 1}, {"3", "3", 1}, {"1", "3", 1}}));
  EXPECT_EQ(pattern->stats.duplicates, 1u);
  EXPECT_EQ(pattern->stats.files[0].format, RatingsFormat::matrix_market);
}

TEST(ReadRatings, SeveralFilesOfAnyKindAreOneDataSet) {
  Disk disk;
  disk.put("a", "1 10 3.5\n");
  disk.put("b.gz", gzip_member("user,item,rating\nx,10,1\n"));
  disk.put("c.zst", zstd_frame("1::20::2\n"));
  disk.put("d", "%%MatrixMarket matrix coordinate real general\n1 20 1\n1 20 4\n");
  disk.put("empty", "");
  world::Pool pool(2);
  std::vector<std::uint64_t> progress;
  ReadOptions options{.paths = {"a", "b.gz", "empty", "c.zst", "d"}};
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_LE(done, total);
    progress.push_back(done);
  };
  const auto result = read_ratings(disk.files, pool, options);
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(plain(*result),
            (std::vector<PlainRating>{
                {"1", "10", 3.5f}, {"x", "10", 1}, {"1", "20", 2}, {"1", "20", 4}}));
  EXPECT_EQ(result->stats.files.size(), 5u);
  EXPECT_EQ(result->stats.files[1].compression, Compression::gzip);
  EXPECT_EQ(result->stats.files[1].ratings, 1u);
  EXPECT_EQ(result->stats.files[3].compression, Compression::zstd);
  EXPECT_EQ(result->stats.warnings, std::vector<std::string>{"empty holds no ratings"});
  EXPECT_TRUE(std::ranges::is_sorted(progress));
}

TEST(ReadRatings, StandardInputIsADash) {
  Disk disk;
  PipedFiles files(disk.files, "1 10 3.5\n2 20 4\n");
  world::Pool pool(1);
  const auto result = read_ratings(files, pool, {.paths = {"-"}});
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(plain(*result), two);
  EXPECT_EQ(result->stats.files[0].name, "standard input");
}

TEST(ReadRatings, DuplicatesAreCountedAndHandledAsAsked) {
  const char* text = "1 1 2\n1 2 5\n2 1 1\n1 1 4\n";
  auto kept = read(text);
  EXPECT_EQ(kept->stats.duplicates, 1u);
  EXPECT_EQ(kept->stats.duplicates_removed, 0u);
  EXPECT_EQ(kept->ratings.size(), 4u);
  EXPECT_EQ(read_plain(text, {.duplicates = "last"}),
            (std::vector<PlainRating>{{"1", "2", 5}, {"2", "1", 1}, {"1", "1", 4}}));
  EXPECT_EQ(read_plain(text, {.duplicates = "mean"}),
            (std::vector<PlainRating>{{"1", "1", 3}, {"1", "2", 5}, {"2", "1", 1}}));
  EXPECT_EQ(read(text, {.duplicates = "last"})->stats.duplicates_removed, 1u);
}

TEST(ReadRatingsKnown, UnknownIdsAreKeptApart) {
  Disk disk;
  disk.put("train", "1 a 3\n2 b 4\n");
  disk.put("test", "2 a 5\n3 a 1\n1 c 2\n007 zz 2\n");
  world::Pool pool(1);
  const auto train = read_ratings(disk.files, pool, {.paths = {"train"}});
  ASSERT_TRUE(train.has_value());
  const auto test =
      read_ratings_known(disk.files, pool, {.paths = {"test"}}, train->users, train->items);
  ASSERT_TRUE(test.has_value()) << test.error().message();
  constexpr std::uint32_t npos = IdMap::npos;
  const std::vector<Rating> expected = {{1, 0, 5}, {npos, 0, 1}, {0, npos, 2}, {npos, npos, 2}};
  EXPECT_EQ(test->ratings, expected);
  EXPECT_EQ(test->unknown_users, 2u);
  EXPECT_EQ(test->unknown_items, 2u);
  EXPECT_EQ(test->known, 1u);
}

TEST(ReadRatings, OptionsAreDescribedOnce) {
  ReadOptions options;
  for (const Field& field : fields(options)) {
    EXPECT_TRUE(assign(field, std::string_view(value_text(field))).has_value()) << field.name;
  }
  EXPECT_EQ(read("1 1 1\n", {.format = "tvs"}).error().code(), Code::invalid);
  EXPECT_EQ(read("1 1 1\n", {.user_column = 0}).error().code(), Code::invalid);
  EXPECT_EQ(read("1 1 1\n", {.user_column = 2}).error().code(), Code::invalid);
}

}  // namespace
}  // namespace castor::data

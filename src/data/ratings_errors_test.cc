// What is wrong with a ratings file is said with its place.
#include <gtest/gtest.h>

#include "data/fixture.h"
#include "data/line_batches.h"

namespace castor::data {
namespace {

std::string error_of(std::string_view text, ReadOptions options = {}) {
  Disk disk;
  disk.put("r", text);
  world::Pool pool(1);
  options.paths = {"r"};
  const auto result = read_ratings(disk.files, pool, options);
  EXPECT_FALSE(result.has_value()) << text.substr(0, 100);
  return result.has_value() ? "" : result.error().message();
}

TEST(RatingsErrors, NameFileLineAndColumn) {
  EXPECT_EQ(error_of("1 2 3\n1 2 abc\n"), "r:2:5: expected a rating, found 'abc'");
  EXPECT_EQ(error_of("1,2,3\n\n1,2,\n"), "r:3:5: expected a rating, found nothing");
  EXPECT_EQ(error_of("u,i,r\n1,2,3x\n"), "r:2:5: expected a rating, found '3x'");
  EXPECT_EQ(error_of("1\t2\t3\n\t2\t3\n"), "r:2:1: expected the user, found nothing");
  EXPECT_EQ(error_of("1\t2\t3\n1\t \t3\n"), "r:2:3: expected the item, found nothing");
  EXPECT_EQ(error_of("1 2 abc\n"), "r:1:5: expected a rating, found 'abc'");
  EXPECT_EQ(error_of("a b c\nd e f\n"), "r:2:5: expected a rating, found 'f'");
}

TEST(RatingsErrors, RatingsMustBeFiniteNumbers) {
  for (const std::string bad : {"nan", "NaN", "inf", "-inf", "Infinity"}) {
    EXPECT_EQ(error_of("1 2 3\n1 2 " + bad + "\n"),
              "r:2:5: expected a rating, found '" + bad + "': ratings must be finite");
    EXPECT_EQ(error_of("1 2 " + bad + "\n").substr(0, 6), "r:1:5:") << "not taken for a header";
  }
  EXPECT_EQ(error_of("1 2 1e40\n"), "r:1:5: expected a rating, found '1e40': it is too large");
}

TEST(RatingsErrors, ADecimalCommaIsNamed) {
  const std::string hint = "': write the decimal point as '.', not ','";
  EXPECT_EQ(error_of("1 2 3,5\n"), "r:1:5: expected a rating, found '3,5" + hint);
  EXPECT_EQ(error_of("1\t2\t3\n1\t2\t4,5\n"), "r:2:5: expected a rating, found '4,5" + hint);
  EXPECT_EQ(error_of("1;2;3,5\n"), "r:1:5: expected a rating, found '3,5" + hint);
  EXPECT_EQ(error_of("1,2,\"3,5\"\n"), "r:1:5: expected a rating, found '3,5" + hint);
}

TEST(RatingsErrors, ADecimalCommaBetweenCommasIsAColumnTooMany) {
  EXPECT_EQ(error_of("user,item,rating\n1,2,3,5\n1,3,4,0\n"),
            "r:2: expected the 3 columns that the header names, found 4; if decimals are written "
            "with ',', write them with '.'");
  Disk disk;
  world::Pool pool(1);
  disk.put("r", "1,2,3,5\n1,3,4,0\n");
  EXPECT_EQ(read_ratings(disk.files, pool, {.paths = {"r"}})->stats.warnings.size(), 1u);
  disk.put("r", "1,2,3,881250949\n1,3,4,0\n");
  EXPECT_EQ(read_ratings(disk.files, pool, {.paths = {"r"}})->stats.warnings.size(), 0u);
  disk.put("r", "user,item,rating\n1,2,3,\n1,3,4\n");
  EXPECT_TRUE(read_ratings(disk.files, pool, {.paths = {"r"}}).has_value());
}

TEST(RatingsErrors, TooFewColumns) {
  EXPECT_EQ(error_of("17\n18\n"),
            "r:1: expected 3 columns (user, item, rating) separated by spaces, found 1");
  EXPECT_EQ(error_of("1,2,3\n1,2\n"),
            "r:2: expected 3 columns (user, item, rating) separated by ',', found 2; if these are "
            "ratings without values, say --no-value");
  EXPECT_NE(error_of("1 2\n3 4\n").find("--no-value"), std::string::npos);
  EXPECT_EQ(error_of("1\n", {.no_value = true}),
            "r:1: expected 2 columns (user, item) separated by spaces, found 1");
  EXPECT_EQ(error_of("1 2 3\n", {.format = "tsv"}),
            "r:1: expected 3 columns (user, item, rating) separated by a tab, found 1");
}

TEST(RatingsErrors, EmptyMissingAndFolders) {
  EXPECT_EQ(error_of(""), "r: expected ratings, found none");
  EXPECT_EQ(error_of("\n \n"), "r: expected ratings, found none");
  EXPECT_EQ(error_of("user,item,rating\n"), "r: expected ratings, found none");
  Disk disk;
  ASSERT_TRUE(disk.files.make_folders("folder").has_value());
  world::Pool pool(1);
  EXPECT_EQ(read_ratings(disk.files, pool, {.paths = {"absent"}}).error().code(), Code::not_found);
  EXPECT_FALSE(read_ratings(disk.files, pool, {.paths = {"folder"}}).has_value());
  EXPECT_EQ(read_ratings(disk.files, pool, {}).error().code(), Code::invalid);
}

TEST(RatingsErrors, BinaryFilesAreRefused) {
  EXPECT_EQ(error_of(std::string("\x89PNG\r\n\x1a\n\0\0", 10)), "r is not text: byte 9 is zero");
  EXPECT_EQ(error_of(std::string("\xff\xfe"
                                 "1\0",
                                 4)),
            "r is UTF-16 text; convert it to UTF-8 first");
  std::string late;
  for (int i = 0; i < 20000; ++i) late += "1 2 3\n";
  EXPECT_EQ(error_of(late + std::string("1 2\0 3\n", 7)),
            "r:20001:4: expected text, found a zero byte");
}

TEST(RatingsErrors, LinesHaveALimit) {
  const std::string huge(line_bytes_max + 1, 'x');
  const std::string message = ": the line is longer than 1,048,576 bytes";
  EXPECT_EQ(error_of("1 2 3\n1 " + huge + " 3\n1 2 x\n"), "r:2" + message);
  EXPECT_EQ(error_of("1 2 3\n" + huge + huge + huge + huge + huge), "r:2" + message);
  EXPECT_EQ(error_of("1 2 x3\n1 " + huge + " 3\n"), "r:1:5: expected a rating, found 'x3'");
  const std::string long_id(line_bytes_max - 100, 'x');
  Disk disk;
  disk.put("r", "1 " + long_id + " 3\n");
  world::Pool pool(1);
  EXPECT_TRUE(read_ratings(disk.files, pool, {.paths = {"r"}, .chunk_bytes = 10, .batch_bytes = 10})
                  .has_value());
}

TEST(RatingsErrors, BrokenQuotes) {
  EXPECT_EQ(error_of("1,2,3\n\"a,2,3\n"), "r:2:1: the quotes are not closed on this line");
  EXPECT_EQ(error_of("1,2,3\n1,\"a\"b,3\n"), "r:2:3: text follows the closing quote");
  EXPECT_EQ(error_of("1,2,3\n\"\",2,3\n"), "r:2:1: expected the user, found nothing");
}

TEST(RatingsErrors, CutOffAndDamagedCompression) {
  const std::string text = "1 2 3\n4 5 1\n";
  for (const std::string& whole : {gzip_member(text), zstd_frame(text)}) {
    EXPECT_NE(error_of(whole.substr(0, whole.size() - 3)).find("r is cut off"), std::string::npos);
  }
  EXPECT_EQ(error_of(gzip_member("1 2 3\n1 2 x\n").substr(0, 25)).substr(0, 1), "r");
}

TEST(RatingsErrors, MatrixMarketFilesAreChecked) {
  const std::string head = "%%MatrixMarket matrix coordinate real general\n";
  EXPECT_EQ(error_of(head + "2 3 1\n3 1 1\n"), "r:3:1: expected a row from 1 to 2, found '3'");
  EXPECT_EQ(error_of(head + "2 3 1\n1 4 1\n"), "r:3:3: expected a column from 1 to 3, found '4'");
  EXPECT_EQ(error_of(head + "2 3 1\n0 1 1\n"), "r:3:1: expected a row from 1 to 2, found '0'");
  EXPECT_EQ(error_of(head + "2 3 1\nx 1 1\n"), "r:3:1: expected a row from 1 to 2, found 'x'");
  EXPECT_EQ(error_of(head + "2 3 2\n1 1 1\n"),
            "r: expected 2 entries as its size line says, found 1");
  EXPECT_EQ(error_of(head + "2 3 1\n1 1 1\n1 2 2\n"),
            "r: expected 1 entries as its size line says, found 2");
  EXPECT_EQ(error_of(head + "2 3\n1 1 1\n"),
            "r:2: expected the sizes 'rows columns entries', found '2 3'");
  EXPECT_EQ(error_of(head + "% only comments\n"),
            "r:3: expected a line of sizes 'rows columns entries', found none");
  EXPECT_NE(error_of("%%MatrixMarket matrix array real general\n2 2\n").find("'array'"),
            std::string::npos);
  EXPECT_NE(error_of("%%MatrixMarket matrix coordinate complex general\n").find("'complex'"),
            std::string::npos);
  EXPECT_NE(error_of("%%MatrixMarket matrix coordinate real symmetric\n").find("'symmetric'"),
            std::string::npos);
  EXPECT_NE(error_of("%%MatrixMarket matrix\n").find("r:1: expected '%%MatrixMarket matrix coo"),
            std::string::npos);
  EXPECT_NE(error_of("1 2 3\n", {.format = "mtx"}).find("r:1: expected a first line"),
            std::string::npos);
  EXPECT_EQ(error_of(head + "5000000000 3 1\n1 1 1\n"),
            "r:2: more than 4,294,967,295 rows or columns");
}

TEST(RatingsErrors, TheFirstOneInInputOrderIsReportedWhateverTheThreadsAndPieces) {
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    text += i == 3210 || i == 4000 ? "a b oops\n" : "user" + std::to_string(i) + " b 1\n";
  }
  Disk disk;
  disk.put("r", text);
  for (const unsigned threads : {1u, 2u, 3u}) {
    world::Pool pool(threads);
    for (const std::size_t chunk : {std::size_t{1}, std::size_t{100}, std::size_t{5000}}) {
      const auto result = read_ratings(
          disk.files, pool, {.paths = {"r"}, .chunk_bytes = chunk, .batch_bytes = 20 * chunk});
      EXPECT_EQ(result.error().message(), "r:3211:5: expected a rating, found 'oops'");
    }
  }
}

}  // namespace
}  // namespace castor::data

#include "data/describe.h"

#include <gtest/gtest.h>

#include "data/fixture.h"

namespace castor::data {
namespace {

Ratings read(std::string_view text) {
  Disk disk;
  disk.put("r", text);
  world::Pool pool(1);
  auto result = read_ratings(disk.files, pool, {.paths = {"r"}});
  CHECK(result.has_value());
  return std::move(result).value();
}

TEST(Describe, CountsAndMomentsAreThoseOfTheRatings) {
  const Summary summary = describe(read("1,a,1\n1,b,2\n2,a,3\n1,a,4\n"));
  EXPECT_EQ(summary.users, 2u);
  EXPECT_EQ(summary.items, 2u);
  EXPECT_EQ(summary.ratings, 4u);
  EXPECT_EQ(summary.density, 1.0);
  EXPECT_EQ(summary.duplicates, 1u);
  EXPECT_EQ(summary.value_min, 1);
  EXPECT_EQ(summary.value_max, 4);
  EXPECT_EQ(summary.value_mean, 2.5);
  EXPECT_NEAR(summary.value_sd, 1.1180339887, 1e-9);
  EXPECT_TRUE(summary.numeric_users);
  EXPECT_FALSE(summary.numeric_items);
  EXPECT_EQ(summary.per_user.min, 1u);
  EXPECT_EQ(summary.per_user.max, 3u);
  EXPECT_EQ(summary.per_user.mean, 2);
}

TEST(Describe, FewValuesAreCountedEachManyInTenBins) {
  const Summary few = describe(read("1 1 3.5\n1 2 3.5\n1 3 0.5\n"));
  ASSERT_EQ(few.histogram.size(), 2u);
  EXPECT_EQ(few.histogram[0].low, 0.5);
  EXPECT_EQ(few.histogram[0].count, 1u);
  EXPECT_EQ(few.histogram[1].count, 2u);
  std::string text;
  for (int i = 0; i <= 100; ++i) text += "1 " + std::to_string(i) + " " + std::to_string(i) + "\n";
  const Summary many = describe(read(text));
  ASSERT_EQ(many.histogram.size(), 10u);
  std::uint64_t total = 0;
  for (const HistogramBin& bin : many.histogram) total += bin.count;
  EXPECT_EQ(total, 101u);
  EXPECT_EQ(many.histogram.front().count, 10u);
  EXPECT_EQ(many.histogram.back().count, 11u);
  EXPECT_EQ(many.histogram.back().high, 100);
  EXPECT_EQ(many.per_item.median, 1u);
}

TEST(Describe, JsonAndTextSayTheSame) {
  const Summary summary = describe(read("user,item,rating\n1,a,1\n2,b,5\n"));
  const Json json = to_json(summary);
  EXPECT_EQ(json.integer("ratings").value(), 2);
  EXPECT_EQ(json.number("value_mean").value(), 3);
  EXPECT_EQ(json.find("files")->as_array()->at(0).string("format").value(), "csv");
  EXPECT_TRUE(Json::parse(json.dump(), "json").has_value());
  const std::string text = to_text(summary);
  EXPECT_NE(text.find("csv with header"), std::string::npos) << text;
  EXPECT_NE(text.find("items    2 (ids are text)"), std::string::npos) << text;
  EXPECT_EQ(text.find("badly formatted"), std::string::npos) << text;
}

}  // namespace
}  // namespace castor::data

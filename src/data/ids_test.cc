#include "data/ids.h"

#include <gtest/gtest.h>

#include <map>

#include "core/property.h"
#include "data/fixture.h"

namespace castor::data {
namespace {

std::string random_id(Rng& rng) {
  switch (rng.below(4)) {
    case 0: return std::to_string(rng.below(50));
    case 1: return std::to_string(rng.below(std::uint64_t{1} << 34));
    case 2: return "00" + std::to_string(rng.below(20));
    default: {
      std::string id;
      for (std::uint64_t i = 0, n = 1 + rng.below(20); i < n; ++i) {
        id += static_cast<char>(1 + rng.below(255));
      }
      return id;
    }
  }
}

TEST(IdMap, OnlyCanonicalIntegersBelowTwoToThe32AreNumbers) {
  std::uint32_t number = 0;
  for (const char* id : {"0", "7", "10", "4294967295"}) {
    EXPECT_TRUE(parse_canonical(id, &number)) << id;
    EXPECT_EQ(std::to_string(number), id);
  }
  for (const char* id : {"", "00", "007", "-1", "+1", "1 ", "1.0", "4294967296", "4294967297",
                         "18446744073709551617", "99999999999", "a"}) {
    EXPECT_FALSE(parse_canonical(id, &number)) << id;
  }
}

TEST(IdMap, IdsThatWouldOverflowOrLoseZerosStayDistinct) {
  IdMap map;
  const char* ids[] = {"1", "4294967297", "7", "007", "\xc3\x84-7", "18446744073709551617", "01"};
  for (std::uint32_t i = 0; i < std::size(ids); ++i) EXPECT_EQ(map.add(ids[i]), i);
  for (std::uint32_t i = 0; i < std::size(ids); ++i) {
    EXPECT_EQ(map.find(ids[i]), i);
    EXPECT_EQ(map.text(i), ids[i]);
  }
  EXPECT_FALSE(map.is_numeric());
  EXPECT_EQ(map.find("2"), IdMap::npos);
}

TEST(IdMap, AgreesWithAnOrdinaryMapWhateverTheIds) {
  for_seeds(60, [](Rng& rng, std::uint64_t seed) {
    IdMap map;
    std::map<std::string, std::uint32_t> expected;
    std::vector<std::string> order;
    for (int i = 0; i < 800; ++i) {
      const std::string id =
          seed % 2 == 0
              ? std::to_string(rng.below(std::uint64_t{1} << (seed % 32 + 1)) & 0xffffffff)
              : random_id(rng);
      const auto [place, fresh] = expected.emplace(id, static_cast<std::uint32_t>(order.size()));
      if (fresh) order.push_back(id);
      ASSERT_EQ(map.add(id), place->second);
    }
    ASSERT_EQ(map.size(), order.size());
    for (std::uint32_t i = 0; i < map.size(); ++i) {
      ASSERT_EQ(map.text(i), order[i]);
      ASSERT_EQ(map.find(order[i]), i);
    }
    for (int i = 0; i < 200; ++i) {
      const std::string id = random_id(rng);
      const auto place = expected.find(id);
      ASSERT_EQ(map.find(id), place == expected.end() ? IdMap::npos : place->second);
    }
    EXPECT_EQ(map.is_numeric(), seed % 2 == 0);
  });
}

TEST(IdMap, NumbersAreFoundInTheTableAndBeyondIt) {
  IdMap map;
  const std::uint32_t numbers[] = {0, 5, (1u << 22) - 1, 1u << 22, 4000000000u, 0xffffffff};
  for (std::uint32_t i = 0; i < std::size(numbers); ++i) EXPECT_EQ(map.add_number(numbers[i]), i);
  for (std::uint32_t i = 0; i < std::size(numbers); ++i) EXPECT_EQ(map.find_number(numbers[i]), i);
  EXPECT_EQ(map.find_number(1), IdMap::npos);
  EXPECT_EQ(map.find_number(4000000001u), IdMap::npos);
  map.become_text();
  EXPECT_EQ(map.find("4000000000"), 4u);
  EXPECT_EQ(map.size(), std::size(numbers));
}

TEST(IdMap, SavedAndLoadedItIsTheSame) {
  for_seeds(40, [](Rng& rng, std::uint64_t seed) {
    Disk disk;
    IdMap map;
    for (int i = 0; i < 300; ++i) {
      map.add(seed % 2 == 0 ? std::to_string(rng.below(1000)) : random_id(rng));
    }
    ASSERT_TRUE(map.save(disk.files, "ids.txt").has_value());
    const auto back = IdMap::load(disk.files, "ids.txt");
    ASSERT_TRUE(back.has_value()) << back.error().message();
    ASSERT_EQ(back->size(), map.size());
    EXPECT_EQ(back->is_numeric(), map.is_numeric());
    for (std::uint32_t i = 0; i < map.size(); ++i) ASSERT_EQ(back->text(i), map.text(i));
  });
}

TEST(IdMap, TheFileIsOneEscapedIdALine) {
  Disk disk;
  IdMap map;
  for (const char* id : {"plain", "with \"quotes\", comma", "back\\slash", "a\nb\rc\td", "\x01"}) {
    map.add(id);
  }
  ASSERT_TRUE(map.save(disk.files, "ids.txt").has_value());
  EXPECT_EQ(disk.get("ids.txt"),
            "plain\nwith \"quotes\", comma\nback\\\\slash\na\\nb\\rc\\td\n\\x01\n");
}

TEST(IdMap, MalformedFilesAreCorrupt) {
  Disk disk;
  for (const char* text :
       {"a\n\nb\n", "a\na\n", "a\\q\n", "a\\\n", "\\x1\n", "\\x1g\n", "7\n7\n"}) {
    disk.put("ids.txt", text);
    const auto result = IdMap::load(disk.files, "ids.txt");
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code(), Code::corrupt);
    EXPECT_EQ(result.error().message().substr(0, 8), "ids.txt:");
  }
  EXPECT_EQ(IdMap::load(disk.files, "absent").error().code(), Code::not_found);
}

}  // namespace
}  // namespace castor::data

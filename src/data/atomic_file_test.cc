#include "data/atomic_file.h"

#include <gtest/gtest.h>

#include "data/fixture.h"
#include "data/rating_store.h"

namespace castor::data {
namespace {

TEST(AtomicFile, AppearsWholeAtCommit) {
  Disk disk;
  auto file = AtomicFile::open(disk.files, "f");
  ASSERT_TRUE(file.has_value());
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    const std::string piece(static_cast<std::size_t>(i) * 37, static_cast<char>('a' + i % 26));
    expected += piece;
    ASSERT_TRUE(file->append(piece).has_value());
  }
  const std::string large(std::size_t{3} << 20, 'x');
  ASSERT_TRUE(file->append(large).has_value());
  EXPECT_FALSE(disk.files.exists("f"));
  ASSERT_TRUE(file->commit(true).has_value());
  EXPECT_EQ(disk.get("f"), expected + large);
  EXPECT_EQ(disk.files.list("").value(), std::vector<std::string>{"f"});
}

TEST(AtomicFile, DroppedItLeavesTheOldContentAndNothingElse) {
  Disk disk;
  disk.put("f", "old");
  {
    ASSERT_TRUE(AtomicFile::open(disk.files, "f")->append("new").has_value());
  }
  EXPECT_EQ(disk.get("f"), "old");
  EXPECT_EQ(disk.files.list("").value(), std::vector<std::string>{"f"});
}

TEST(AtomicFile, AnyFailureLeavesTheOldContentOrTheNew) {
  const auto write = [](Disk& disk) -> Status {
    TRY_AS(AtomicFile file, AtomicFile::open(disk.files, "f"));
    TRY(file.append("new"));
    return file.commit(true);
  };
  for (std::uint64_t operation = 0; operation < 6; ++operation) {
    Disk disk;
    disk.put("f", "old");
    disk.files.fail_after(operation);
    const bool written = write(disk).has_value();
    EXPECT_TRUE(disk.get("f") == "new" || (!written && disk.get("f") == "old"));
  }
}

TEST(AtomicFile, AFolderIsNotReplaced) {
  Disk disk;
  ASSERT_TRUE(disk.files.make_folders("d").has_value());
  EXPECT_EQ(AtomicFile::open(disk.files, "d").error().code(), Code::exists);
}

TEST(RatingStore, KeepsTheOrderWhateverWasExpected) {
  for (const std::size_t expected : {0u, 1u, 10u, 100000u}) {
    RatingStore store;
    std::uint32_t number = 0;
    for (std::size_t count = 0; count < 40; ++count) {
      for (Rating& rating : store.grow(count, expected)) rating = {number++, 0, 0};
    }
    EXPECT_EQ(store.size(), number);
    const std::vector<Rating> all = store.take();
    ASSERT_EQ(all.size(), number);
    for (std::uint32_t i = 0; i < number; ++i) ASSERT_EQ(all[i].user, i);
    EXPECT_EQ(store.size(), 0u);
  }
}

}  // namespace
}  // namespace castor::data

#include "world/sim/sim_files.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "core/property.h"

namespace castor::world::sim {
namespace {

std::string content(Files& files, const std::string& path) {
  const auto bytes = read_whole(files, path, 1 << 20);
  return bytes ? std::string(as_text(*bytes)) : "(absent)";
}

// What `path` may hold after a crash, over many draws of it. `prepare` is run on a new disk each
// time.
template <class Prepare>
std::set<std::string> after_crashes(const std::string& path, Prepare prepare) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(StreamKey{.seed = seed});
    SimFiles files(rng);
    prepare(files);
    files.crash();
    seen.insert(content(files, path));
  }
  return seen;
}

using Seen = std::set<std::string>;

TEST(SimFiles, SyncedBytesSurviveUnderTheirName) {
  EXPECT_EQ(after_crashes("a",
                          [](SimFiles& files) {
                            auto file = std::move(files.open_write("a")).value();
                            ASSERT_TRUE(file->append(as_bytes("kept")));
                            ASSERT_TRUE(file->sync());
                          }),
            Seen{"kept"});
}

TEST(SimFiles, OfBytesNotSyncedAnyBeginningMaySurviveAndItsEndMayBeZeros) {
  const Seen seen = after_crashes("a", [](SimFiles& files) {
    auto file = std::move(files.open_write("a")).value();
    ASSERT_TRUE(file->append(as_bytes("kept")));
    ASSERT_TRUE(file->sync());
    ASSERT_TRUE(file->append(as_bytes("+new")));
  });
  for (const char* possible : {"kept", "kept+", "kept+n", "kept+ne", "kept+new"}) {
    EXPECT_TRUE(seen.contains(possible)) << possible;
  }
  EXPECT_TRUE(seen.contains(std::string("kept+n\0\0", 8)));
  for (const std::string& one : seen) EXPECT_EQ(one.substr(0, 4), "kept");
}

TEST(SimFiles, AFileNeverSyncedMayBeGoneOrEmptyOrTorn) {
  const Seen seen = after_crashes(
      "a", [](SimFiles& files) { ASSERT_TRUE((*files.open_write("a"))->append(as_bytes("new"))); });
  for (const char* possible : {"(absent)", "", "n", "new"}) EXPECT_TRUE(seen.contains(possible));
}

TEST(SimFiles, ATruncationNotSyncedMayBringTheOldContentBack) {
  const Seen seen = after_crashes("a", [](SimFiles& files) {
    ASSERT_TRUE(write_atomically(files, "a", as_bytes("old")));
    ASSERT_TRUE((*files.open_write("a"))->append(as_bytes("x")));
  });
  EXPECT_EQ(seen, (Seen{"old", "", "x", std::string(1, '\0')}));
}

TEST(SimFiles, ARenameSurvivesOnceItHasReturned) {
  EXPECT_EQ(after_crashes("b",
                          [](SimFiles& files) {
                            ASSERT_TRUE(write_atomically(files, "a", as_bytes("new")));
                            ASSERT_TRUE(write_atomically(files, "b", as_bytes("old")));
                            ASSERT_TRUE(files.rename("a", "b"));
                          }),
            Seen{"new"});
}

TEST(SimFiles, ARenameWhoseSyncFailedMayBeUndoneButIsNeverHalf) {
  for (const char* path : {"a", "b"}) {
    const Seen seen = after_crashes(path, [](SimFiles& files) {
      ASSERT_TRUE(write_atomically(files, "a", as_bytes("new")));
      ASSERT_TRUE(write_atomically(files, "b", as_bytes("old")));
      files.fail_after(1);
      ASSERT_FALSE(files.rename("a", "b"));
    });
    EXPECT_EQ(seen, path[0] == 'a' ? (Seen{"new", "(absent)"}) : (Seen{"old", "new"}));
  }
}

TEST(SimFiles, ARemovalNotSyncedMayBeUndone) {
  EXPECT_EQ(after_crashes("a",
                          [](SimFiles& files) {
                            ASSERT_TRUE(write_atomically(files, "a", as_bytes("x")));
                            ASSERT_TRUE(files.remove("a"));
                          }),
            (Seen{"x", "(absent)"}));
  EXPECT_EQ(after_crashes("d/a",
                          [](SimFiles& files) {
                            ASSERT_TRUE(files.make_folders("d"));
                            ASSERT_TRUE(write_atomically(files, "d/a", as_bytes("x")));
                            ASSERT_TRUE(files.remove_tree("d"));
                          }),
            (Seen{"x", "(absent)"}));
}

TEST(SimFiles, ChangesOfAFolderAreUndoneFromTheLastOn) {
  for_seeds(100, [](Rng& rng) {
    SimFiles files(rng);
    for (const char* name : {"a", "b", "c", "d"}) ASSERT_TRUE(files.open_write(name));
    files.crash();
    const std::vector<std::string> names = std::move(files.list("")).value();
    const std::vector<std::string> all = {"a", "b", "c", "d"};
    EXPECT_EQ(names, std::vector<std::string>(
                         all.begin(), all.begin() + static_cast<std::ptrdiff_t>(names.size())));
  });
}

TEST(SimFiles, WhatWasOpenAtACrashIsDead) {
  Rng rng(StreamKey{});
  SimFiles files(rng);
  auto writer = std::move(files.open_write("a")).value();
  ASSERT_TRUE(writer->sync());
  auto reader = std::move(files.open_read("a")).value();
  files.crash();
  EXPECT_EQ(writer->append(as_bytes("x")).error().code(), Code::io);
  EXPECT_EQ(writer->sync().error().code(), Code::io);
  std::vector<std::byte> bytes(1);
  EXPECT_EQ(reader->read(bytes).error().code(), Code::io);
  EXPECT_EQ(content(files, "a"), "");
}

TEST(SimFiles, AFullDiskTakesAPartAndSaysSo) {
  Rng rng(StreamKey{});
  SimFiles files(rng);
  files.set_faults({.capacity_bytes = 10});
  auto file = std::move(files.open_write("a")).value();
  ASSERT_TRUE(file->append(as_bytes("12345678")));
  EXPECT_EQ(*files.free_bytes(""), 2u);
  EXPECT_EQ(file->append(as_bytes("abcdef")).error().code(), Code::exhausted);
  EXPECT_EQ(content(files, "a"), "12345678ab");
  ASSERT_TRUE(files.remove("a"));
  EXPECT_EQ(*files.free_bytes(""), 10u);
  EXPECT_EQ(write_atomically(files, "b", as_bytes("longer than ten")).error().code(),
            Code::exhausted);
  EXPECT_EQ(files.list("")->size(), 0u);
}

TEST(SimFiles, ErrorsComeByChance) {
  Rng rng(StreamKey{});
  SimFiles files(rng);
  files.set_faults({.error = 0.5, .read_error = 0.5});
  int write_errors = 0, read_errors = 0;
  for (int i = 0; i < 200; ++i) {
    write_errors += files.make_folders("d") ? 0 : 1;
    const auto listed = files.list("");
    read_errors += listed || listed.error().code() != Code::io ? 0 : 1;
  }
  EXPECT_NEAR(write_errors, 100, 40);
  EXPECT_NEAR(read_errors, 100, 40);
}

// The use of all this: whatever goes wrong at whichever operation, a reader sees old or new.
TEST(WriteAtomically, LeavesTheOldOrTheNewWhateverFailsAndWhenever) {
  for (const bool power : {false, true}) {
    bool done = false;
    for (std::uint64_t at = 0; !done; ++at) {
      ASSERT_LT(at, 20u) << "it never succeeds";
      for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        Rng rng(StreamKey{.seed = seed});
        SimFiles files(rng);
        ASSERT_TRUE(write_atomically(files, "a", as_bytes("the old content")));
        if (power) {
          files.cut_power_after(at);
        } else {
          files.fail_after(at);
        }
        done = write_atomically(files, "a", as_bytes("the new content")).has_value();
        if (!power) {
          const std::string now = content(files, "a");
          EXPECT_TRUE(now == "the old content" || now == "the new content") << now;
        }
        files.crash();
        const std::string after = content(files, "a");
        EXPECT_TRUE(after == "the new content" || (!done && after == "the old content")) << after;
      }
    }
  }
}

// The same without the sync must be noticed, or the disk is too kind.
TEST(SimFilesCanary, LeavingOutTheSyncIsNoticed) {
  const Seen seen = after_crashes("a", [](SimFiles& files) {
    ASSERT_TRUE(write_atomically(files, "a", as_bytes("old")));
    ASSERT_TRUE((*files.open_write("a.tmp"))->append(as_bytes("new")));
    ASSERT_TRUE(files.rename("a.tmp", "a"));
  });
  EXPECT_TRUE(seen.contains("")) << "a name that survives without its bytes";
}

TEST(SimFiles, TheDigestSaysWhetherTwoDisksAreEqual) {
  const auto digest_of = [](std::string_view name, std::string_view words) {
    Rng rng(StreamKey{});
    SimFiles files(rng);
    EXPECT_TRUE(write_atomically(files, std::string(name), as_bytes(words)));
    return files.digest();
  };
  EXPECT_EQ(digest_of("a", "x"), digest_of("a", "x"));
  EXPECT_NE(digest_of("a", "x"), digest_of("a", "y"));
  EXPECT_NE(digest_of("a", "x"), digest_of("b", "x"));
}

}  // namespace
}  // namespace castor::world::sim

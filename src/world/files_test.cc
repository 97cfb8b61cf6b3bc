#include "world/files.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/bytes.h"
#include "core/property.h"
#include "world/sim/sim_files.h"

namespace castor::world {
namespace {

// A disk and an empty folder on it.
class Disk {
 public:
  virtual ~Disk() = default;
  virtual Files& files() = 0;
  virtual std::string folder() = 0;
};

class RealDisk final : public Disk {
 public:
  RealDisk() : folder_(testing::TempDir() + "castor_files_XXXXXX") {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  ~RealDisk() override { EXPECT_TRUE(files_->remove_tree(folder_)); }
  Files& files() override { return *files_; }
  std::string folder() override { return folder_; }

 private:
  std::unique_ptr<Files> files_ = real_files();
  std::string folder_;
};

class SimDisk final : public Disk {
 public:
  SimDisk() { EXPECT_TRUE(files_.make_folders("/disk")); }
  Files& files() override { return files_; }
  std::string folder() override { return "/disk"; }

 private:
  Rng rng_{StreamKey{}};
  sim::SimFiles files_{rng_};
};

struct Kind {
  const char* name;
  std::unique_ptr<Disk> (*make)();
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class FilesContract : public testing::TestWithParam<Kind> {
 protected:
  std::string at(std::string_view name) { return joined_path(disk_->folder(), name); }
  Status put(const std::string& path, std::string_view content) {
    TRY_AS(auto file, files_.open_write(path));
    return file->append(as_bytes(content));
  }
  std::string content(const std::string& path) {
    const auto bytes = read_whole(files_, path, 1 << 20);
    EXPECT_TRUE(bytes) << bytes.error().message();
    return bytes ? std::string(as_text(*bytes)) : "";
  }
  std::vector<std::string> names(std::string_view folder = "") {
    auto listed = files_.list(at(folder));
    EXPECT_TRUE(listed) << listed.error().message();
    return listed ? std::move(listed).value() : std::vector<std::string>();
  }

  const std::unique_ptr<Disk> disk_ = GetParam().make();
  Files& files_ = disk_->files();
};

using Names = std::vector<std::string>;

INSTANTIATE_TEST_SUITE_P(
    Every, FilesContract,
    testing::Values(
        Kind{"Real", []() -> std::unique_ptr<Disk> { return std::make_unique<RealDisk>(); }},
        Kind{"Sim", []() -> std::unique_ptr<Disk> { return std::make_unique<SimDisk>(); }}),
    [](const auto& param) { return std::string(param.param.name); });

TEST_P(FilesContract, ReadsBackWhatWasWritten) {
  for (const std::size_t size : {0u, 1u, 100u, 300'000u}) {
    const std::string text(size, 'x');
    ASSERT_TRUE(put(at("a"), text));
    EXPECT_EQ(content(at("a")), text);
    const auto info = files_.info(at("a"));
    ASSERT_TRUE(info);
    EXPECT_EQ(info->size, size);
    EXPECT_EQ(info->kind, FileKind::regular);
  }
}

TEST_P(FilesContract, AppendsInOrderAndReadersSeeItBeforeTheSync) {
  auto file = std::move(files_.open_write(at("log"))).value();
  ASSERT_TRUE(file->append(as_bytes("one ")));
  ASSERT_TRUE(file->append({}));
  ASSERT_TRUE(file->append(as_bytes("two")));
  EXPECT_EQ(content(at("log")), "one two");
  ASSERT_TRUE(file->sync());
  ASSERT_TRUE(file->append(as_bytes(" three")));
  ASSERT_TRUE(file->sync());
  EXPECT_EQ(content(at("log")), "one two three");
}

TEST_P(FilesContract, OpeningForWritingTruncates) {
  ASSERT_TRUE(put(at("a"), "long content"));
  ASSERT_TRUE(put(at("a"), "short"));
  EXPECT_EQ(content(at("a")), "short");
}

TEST_P(FilesContract, ReadsAtAPlaceWithoutMovingAndIsShortOnlyAtTheEnd) {
  ASSERT_TRUE(put(at("a"), "0123456789"));
  auto file = std::move(files_.open_read(at("a"))).value();
  std::vector<std::byte> four(4);
  const auto read = [&](std::uint64_t offset) {
    const auto got = file->read_at(offset, four);
    return std::string(as_text(std::span(four).first(got.value())));
  };
  EXPECT_EQ(read(3), "3456");
  EXPECT_EQ(read(8), "89");
  EXPECT_EQ(read(10), "");
  EXPECT_EQ(read(1'000'000), "");
  EXPECT_EQ(file->read(four).value(), 4u);
  EXPECT_EQ(as_text(four), "0123");
  EXPECT_EQ(file->read(four).value(), 4u);
  EXPECT_EQ(file->read(four).value(), 2u);
  EXPECT_EQ(file->read(four).value(), 0u);
}

TEST_P(FilesContract, WhatIsAbsentIsNotFoundAndNamesThePath) {
  const auto is_absent = [&](const auto& result) {
    return !result && result.error().code() == Code::not_found &&
           result.error().message().find(disk_->folder()) != std::string::npos;
  };
  EXPECT_TRUE(is_absent(files_.open_read(at("none"))));
  EXPECT_TRUE(is_absent(files_.open_write(at("none/a"))));
  EXPECT_TRUE(is_absent(files_.info(at("none"))));
  EXPECT_TRUE(is_absent(files_.list(at("none"))));
  EXPECT_TRUE(is_absent(files_.rename(at("none"), at("a"))));
  EXPECT_TRUE(is_absent(files_.free_bytes(at("none"))));
  EXPECT_FALSE(files_.exists(at("none")));
  EXPECT_TRUE(files_.remove(at("none")));
  EXPECT_TRUE(files_.remove_tree(at("none")));
  EXPECT_TRUE(files_.remove(at("none/deeper")));
}

TEST_P(FilesContract, AFolderIsNotAFile) {
  ASSERT_TRUE(files_.make_folders(at("d")));
  EXPECT_EQ(files_.info(at("d"))->kind, FileKind::directory);
  EXPECT_EQ(files_.open_read(at("d")).error().code(), Code::invalid);
  EXPECT_FALSE(files_.open_write(at("d")));
  EXPECT_FALSE(files_.remove(at("d")));
  ASSERT_TRUE(put(at("f"), ""));
  EXPECT_FALSE(files_.rename(at("f"), at("d")));
  EXPECT_EQ(files_.make_folders(at("f")).error().code(), Code::exists);
  EXPECT_EQ(files_.make_folders(at("f/sub")).error().code(), Code::exists);
  EXPECT_FALSE(files_.open_write(at("f/sub")));
  EXPECT_TRUE(files_.remove(at("f/sub")));
}

TEST_P(FilesContract, MakesFoldersWithTheirParents) {
  ASSERT_TRUE(files_.make_folders(at("a/b//c/")));
  ASSERT_TRUE(files_.make_folders(at("a/b/c")));
  ASSERT_TRUE(put(at("a/b/c/file"), "x"));
  EXPECT_EQ(names("a/b"), Names{"c"});
  EXPECT_EQ(files_.make_folders("").error().code(), Code::invalid);
}

TEST_P(FilesContract, ListsNamesSorted) {
  for (const char* name : {"b", "c", "a", "ab"}) ASSERT_TRUE(put(at(name), ""));
  ASSERT_TRUE(files_.make_folders(at("aa")));
  EXPECT_EQ(names(), (Names{"a", "aa", "ab", "b", "c"}));
}

TEST_P(FilesContract, RenameReplacesAndAlsoMovesBetweenFolders) {
  ASSERT_TRUE(put(at("a"), "new") && put(at("b"), "old"));
  ASSERT_TRUE(files_.rename(at("a"), at("b")));
  EXPECT_EQ(content(at("b")), "new");
  EXPECT_EQ(names(), Names{"b"});
  ASSERT_TRUE(files_.make_folders(at("d")));
  ASSERT_TRUE(files_.rename(at("b"), at("d/b")));
  EXPECT_EQ(names(), Names{"d"});
  EXPECT_EQ(content(at("d/b")), "new");
  ASSERT_TRUE(files_.rename(at("d/b"), at("d/b")));
  EXPECT_EQ(content(at("d/b")), "new");
}

TEST_P(FilesContract, AnOpenFileOutlivesItsName) {
  ASSERT_TRUE(put(at("a"), "content"));
  auto reader = std::move(files_.open_read(at("a"))).value();
  ASSERT_TRUE(put(at("b"), "other"));
  ASSERT_TRUE(files_.rename(at("b"), at("a")));
  ASSERT_TRUE(files_.remove(at("a")));
  std::vector<std::byte> seven(7);
  EXPECT_EQ(reader->read(seven).value(), 7u);
  EXPECT_EQ(as_text(seven), "content");
}

TEST_P(FilesContract, RemovesAFolderWithAllInItAndNothingElse) {
  ASSERT_TRUE(files_.make_folders(at("a/b/c")) && files_.make_folders(at("ab")));
  for (const char* name : {"a/x", "a/b/y", "a/b/c/z", "ab/keep"}) ASSERT_TRUE(put(at(name), "1"));
  ASSERT_TRUE(files_.remove_tree(at("a")));
  EXPECT_EQ(names(), Names{"ab"});
  EXPECT_EQ(names("ab"), Names{"keep"});
  ASSERT_TRUE(files_.make_folders(at("a")));
  EXPECT_EQ(names("a"), Names{});
  ASSERT_TRUE(files_.remove_tree(at("ab/keep")));
  EXPECT_EQ(names("ab"), Names{});
}

TEST_P(FilesContract, SaysHowMuchIsFree) { EXPECT_GT(*files_.free_bytes(disk_->folder()), 0u); }

TEST_P(FilesContract, ReadWholeRefusesWhatIsLarger) {
  ASSERT_TRUE(put(at("a"), "12345"));
  EXPECT_TRUE(read_whole(files_, at("a"), 5));
  EXPECT_EQ(read_whole(files_, at("a"), 4).error().code(), Code::exhausted);
}

TEST_P(FilesContract, WriteAtomicallyReplacesAndLeavesNothingBehind) {
  ASSERT_TRUE(write_atomically(files_, at("a"), as_bytes("one")));
  ASSERT_TRUE(write_atomically(files_, at("a"), as_bytes("two")));
  EXPECT_EQ(content(at("a")), "two");
  ASSERT_TRUE(files_.make_folders(at("d")));
  EXPECT_FALSE(write_atomically(files_, at("d"), as_bytes("x"))) << "the rename fails";
  EXPECT_EQ(names(), (Names{"a", "d"}));
}

TEST_P(FilesContract, ThreadsMayReadOneFileAtPlacesOfTheirOwn) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += static_cast<char>('a' + i % 26);
  ASSERT_TRUE(put(at("a"), text));
  auto file = std::move(files_.open_read(at("a"))).value();
  std::vector<std::string> seen(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::vector<std::byte> part(100);
        for (std::size_t i = 0; i < 10; ++i) {
          const auto got = file->read_at(t * 1000 + i * 100, part);
          seen[t] += as_text(std::span(part).first(got ? *got : 0));
        }
        static_cast<void>(files_.info(at("a")).has_value());
      });
    }
  }
  EXPECT_EQ(seen[0] + seen[1] + seen[2] + seen[3], text);
}

// The simulated disk does what the real one does, operation by operation.
TEST(Files, SimulatedAndRealOnesAgreeOnEveryOperation) {
  for_seeds(40, [](Rng& rng) {
    RealDisk real;
    SimDisk simulated;
    static constexpr const char* paths[] = {"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "a/x"};
    const auto both = [&](auto operation) {
      const auto outcome = [&](Disk& disk) { return operation(disk.files(), disk.folder()); };
      const std::string expected = outcome(real), got = outcome(simulated);
      EXPECT_EQ(got, expected);
    };
    const auto shown = [](const Status& status) { return status ? "done" : "refused"; };
    for (int step = 0; step < 60 && !testing::Test::HasFailure(); ++step) {
      const std::string one = paths[rng.below(8)], other = paths[rng.below(8)];
      const std::string words(rng.below(10), static_cast<char>('a' + rng.below(26)));
      const std::uint64_t kind = rng.below(7);
      both([&](Files& files, const std::string& folder) -> std::string {
        const std::string path = joined_path(folder, one);
        switch (kind) {
          case 0: {
            auto file = files.open_write(path);
            return file ? shown((*file)->append(as_bytes(words))) : "refused";
          }
          case 1: {
            const auto bytes = read_whole(files, path, 100);
            return bytes ? std::string(as_text(*bytes)) : "refused";
          }
          case 2: return shown(files.make_folders(path));
          case 3: {
            const auto info = files.info(path);
            return info && info->kind == FileKind::directory
                       ? "not tried: files only"
                       : shown(files.rename(path, joined_path(folder, other)));
          }
          case 4: return shown(files.remove(path));
          case 5: return shown(files.remove_tree(path));
          default: {
            const auto names = files.list(path);
            std::string all = names ? "" : "refused";
            for (const auto& name : names ? *names : Names()) all += name + ' ';
            return all;
          }
        }
      });
    }
  });
}

// ---- The real one only

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    struct stat status{};
    if (::fstat(fd, &status) == 0) ++count;
  }
  return count;
}

TEST(RealFiles, LeakNoDescriptorInSuccessOrFailure) {
  RealDisk disk;
  Files& files = disk.files();
  const std::size_t before = open_descriptors();
  for (int round = 0; round < 3; ++round) {
    const std::string path = joined_path(disk.folder(), "a");
    ASSERT_TRUE(write_atomically(files, path, as_bytes("x")));
    ASSERT_TRUE(read_whole(files, path, 10));
    ASSERT_TRUE(files.list(disk.folder()));
    ASSERT_TRUE(files.make_folders(joined_path(disk.folder(), "d/e")));
    EXPECT_FALSE(files.open_read(disk.folder()));
    EXPECT_FALSE(files.open_write(disk.folder()));
    EXPECT_FALSE(files.list(path));
    EXPECT_FALSE(files.rename(path, joined_path(disk.folder(), "none/a")));
    ASSERT_TRUE(files.open_standard_input());
    ASSERT_TRUE(files.remove_tree(joined_path(disk.folder(), "d")));
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(RealFiles, RemoveTreeDoesNotFollowLinks) {
  RealDisk disk, other;
  const std::string kept = joined_path(other.folder(), "kept");
  ASSERT_TRUE(write_atomically(other.files(), kept, as_bytes("x")));
  ASSERT_TRUE(disk.files().make_folders(joined_path(disk.folder(), "d")));
  ASSERT_EQ(::symlink(other.folder().c_str(), joined_path(disk.folder(), "d/link").c_str()), 0);
  ASSERT_TRUE(disk.files().remove_tree(joined_path(disk.folder(), "d")));
  EXPECT_TRUE(other.files().exists(kept));
}

TEST(RealFiles, APipeIsReadInOrderOnlyAndNeedsNoSync) {
  RealDisk disk;
  const std::string path = joined_path(disk.folder(), "pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(disk.files().info(path)->kind, FileKind::other);
  const std::jthread writer([&] {
    auto file = disk.files().open_write(path);
    ASSERT_TRUE(file);
    EXPECT_TRUE((*file)->append(as_bytes("through the pipe")));
    EXPECT_TRUE((*file)->sync());
  });
  auto file = std::move(disk.files().open_read(path)).value();
  std::vector<std::byte> four(4);
  EXPECT_EQ(file->read_at(0, four).error().code(), Code::unsupported);
  std::string all;
  for (;;) {
    const std::size_t got = file->read(four).value();
    if (got == 0) break;
    all += as_text(std::span(four).first(got));
  }
  EXPECT_EQ(all, "through the pipe");
}

TEST(RealFiles, ErrorsSayWhatTheSystemSaid) {
  const auto files = real_files();
  EXPECT_EQ(files->open_read("/nowhere/at all").error().message(),
            "cannot open '/nowhere/at all': No such file or directory");
  EXPECT_EQ(files->rename("/nowhere/a", "/nowhere/b\n").error().message(),
            "cannot rename '/nowhere/a' to '/nowhere/b\\x0a': No such file or directory");
  const auto full = files->open_write("/dev/full");
  if (full) {
    EXPECT_EQ((*full)->append(as_bytes("x")).error().code(), Code::exhausted);
  }
}

TEST(JoinedPath, PutsOneSlashBetween) {
  EXPECT_EQ(joined_path("a", "b"), "a/b");
  EXPECT_EQ(joined_path("a/", "b"), "a/b");
  EXPECT_EQ(joined_path("", "b"), "b");
  EXPECT_EQ(joined_path("/", "b"), "/b");
}

}  // namespace
}  // namespace castor::world

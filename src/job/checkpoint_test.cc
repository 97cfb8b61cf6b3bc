#include "job/checkpoint.h"

#include <gtest/gtest.h>

#include "core/property.h"
#include "job/fixture.h"

namespace castor::job {
namespace {

using Files = world::sim::SimFiles;

struct Disk {
  Rng rng{StreamKey{}};
  Files files{rng};
};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

Result<std::string> write(Files& files, Clock clock, const std::vector<Section>& sections = {}) {
  Json header;
  header.set("clock", clock);
  TRY_AS(auto writer, CheckpointWriter::open(files, "folder", clock, header, 0));
  for (const Section& section : sections) TRY(writer.add(section.name, section.bytes));
  return writer.publish();
}

Result<std::vector<Section>> read(Files& files, const std::string& path) {
  TRY_AS(auto reader, CheckpointReader::open(files, path));
  std::vector<Section> sections;
  for (;;) {
    TRY_AS(Section section, reader.next());
    if (section.name.empty()) return sections;
    sections.push_back(std::move(section));
  }
}

std::vector<std::string> names(Files& files) {
  auto found = files.list("folder");
  return found ? *found : std::vector<std::string>{};
}

void put_file(Files& files, const std::string& path, std::span<const std::byte> bytes) {
  auto file = files.open_write(path);
  CHECK(file.has_value() && (*file)->append(bytes).has_value() && (*file)->sync().has_value());
}

std::vector<std::byte> whole(Files& files, const std::string& path) {
  auto bytes = world::read_whole(files, path, 1 << 20);
  CHECK(bytes.has_value());
  return *bytes;
}

// CRC-32C from its definition, one bit at a time.
std::uint32_t slow_crc(std::string_view text) {
  std::uint32_t sum = ~0U;
  for (const char c : text) {
    sum ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82F63B78U : 0U);
  }
  return ~sum;
}

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 255);
}

// The layout as docs/formats/checkpoint.md gives it.
TEST(Checkpoint, HasTheDocumentedBytes) {
  Disk disk;
  const auto path = write(disk.files, 12, {{"table/x/0", bytes_of("abc")}, {"s", {}}});
  ASSERT_TRUE(path);
  EXPECT_EQ(*path, "folder/clock-000000000012.checkpoint");
  const std::string header = "{\"clock\":12}";
  std::string expected = "CASTORCK";
  put(expected, 1, 4);
  put(expected, header.size(), 4);
  expected += header;
  put(expected, slow_crc(header), 4);
  for (const auto& [name, content] :
       {std::pair<std::string, std::string>{"table/x/0", "abc"}, {"s", ""}, {"end", ""}}) {
    put(expected, name.size(), 4);
    expected += name;
    put(expected, content.size(), 8);
    put(expected, slow_crc(name + content), 4);
    expected += content;
  }
  EXPECT_EQ(as_text(whole(disk.files, *path)), expected);
}

TEST(Checkpoint, ReadsWhatWasWritten) {
  for_seeds(50, [](Rng& rng) {
    Disk disk;
    std::vector<Section> sections(rng.below(6));
    for (Section& section : sections) {
      section.name = text("section {}", rng.below(1000));
      section.bytes.resize(rng.below(3000));
      for (std::byte& byte : section.bytes) byte = static_cast<std::byte>(rng.below(256));
    }
    const auto path = write(disk.files, 3, sections);
    ASSERT_TRUE(path);
    const auto found = read(disk.files, *path);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), sections.size());
    for (std::size_t i = 0; i < sections.size(); ++i) {
      EXPECT_EQ((*found)[i].name, sections[i].name);
      EXPECT_EQ((*found)[i].bytes, sections[i].bytes);
    }
  });
}

TEST(Checkpoint, EveryChangedByteAndEveryTruncationIsNoticed) {
  Disk disk;
  const auto path = write(disk.files, 1, {{"one", bytes_of("content")}, {"two", bytes_of("more")}});
  ASSERT_TRUE(path);
  const std::vector<std::byte> good = whole(disk.files, *path);
  for (std::size_t size = 0; size < good.size(); ++size) {
    put_file(disk.files, "cut", {good.data(), size});
    const auto found = read(disk.files, "cut");
    ASSERT_FALSE(found) << size;
    ASSERT_EQ(found.error().code(), Code::corrupt) << size;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> bad = good;
      bad[at] ^= static_cast<std::byte>(1 << bit);
      put_file(disk.files, "bad", bad);
      const auto found = read(disk.files, "bad");
      ASSERT_FALSE(found) << "byte " << at << " bit " << bit;
      const bool is_version = at >= 8 && at < 12;
      ASSERT_EQ(found.error().code(), is_version ? Code::unsupported : Code::corrupt);
    }
  }
}

TEST(Checkpoint, GarbageIsAnError) {
  for_seeds(300, [](Rng& rng) {
    Disk disk;
    std::vector<std::byte> bytes(rng.below(200));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.below(256));
    put_file(disk.files, "x", bytes);
    EXPECT_FALSE(read(disk.files, "x"));
  });
}

TEST(Checkpoint, TheNewestTwoOfOneRunAreKept) {
  Disk disk;
  for (const Clock clock : {3, 5, 9}) ASSERT_TRUE(write(disk.files, clock));
  const auto found = list_checkpoints(disk.files, "folder");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ((*found)[0].clock, 9);
  EXPECT_EQ((*found)[1].clock, 5);
  EXPECT_EQ((*found)[0].path, "folder/clock-000000000009.checkpoint");
}

TEST(Checkpoint, ThoseOfLaterClocksAreOfAnotherRunAndGo) {
  Disk disk;
  for (const Clock clock : {40, 50, 3}) ASSERT_TRUE(write(disk.files, clock));
  EXPECT_EQ(names(disk.files), std::vector<std::string>{"clock-000000000003.checkpoint"});
}

TEST(Checkpoint, WhatIsNoCheckpointIsLeftAlone) {
  Disk disk;
  ASSERT_TRUE(disk.files.make_folders("folder"));
  const std::vector<std::string> others = {"clock-.checkpoint", "clock-12.checkpoint.old",
                                           "clock-x.checkpoint", "notes", "notes.tmp"};
  for (const std::string& name : others) put_file(disk.files, "folder/" + name, {});
  ASSERT_TRUE(write(disk.files, 1));
  std::vector<std::string> expected = others;
  expected.push_back("clock-000000000001.checkpoint");
  std::ranges::sort(expected);
  EXPECT_EQ(names(disk.files), expected);
}

TEST(Checkpoint, AnUnpublishedOneLeavesNothing) {
  Disk disk;
  {
    auto writer = CheckpointWriter::open(disk.files, "folder", 1, Json(Json::Object{}), 0);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->add("a", bytes_of("b")));
    EXPECT_EQ(names(disk.files).size(), 1U);
  }
  EXPECT_TRUE(names(disk.files).empty());
}

TEST(Checkpoint, WhatAKilledProcessLeftIsRemovedByTheNext) {
  Disk disk;
  ASSERT_TRUE(disk.files.make_folders("folder"));
  put_file(disk.files, "folder/clock-000000000007.checkpoint.tmp", bytes_of("half"));
  ASSERT_TRUE(write(disk.files, 8));
  EXPECT_EQ(names(disk.files), std::vector<std::string>{"clock-000000000008.checkpoint"});
}

TEST(Checkpoint, ADiskThatIsTooFullIsRefusedBeforeWriting) {
  Disk disk;
  disk.files.set_faults({.capacity_bytes = 1000});
  const auto writer = CheckpointWriter::open(disk.files, "folder", 1, Json(Json::Object{}), 5000);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code(), Code::exhausted);
  EXPECT_TRUE(names(disk.files).empty());
}

TEST(Checkpoint, AFolderThatIsNotThereHasNone) {
  Disk disk;
  const auto found = list_checkpoints(disk.files, "nowhere");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->empty());
}

}  // namespace
}  // namespace castor::job

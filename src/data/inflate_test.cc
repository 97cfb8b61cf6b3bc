#include "data/inflate.h"

#include <gtest/gtest.h>

#include "data/fixture.h"

namespace castor::data {
namespace {

// gzip.compress(b"1 2 3\n" * 50) as CPython writes it: real deflate blocks.
constexpr unsigned char deflated[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                      0x33, 0x54, 0x30, 0x52, 0x30, 0xe6, 0x32, 0x1c, 0x25, 0x89,
                                      0x20, 0x01, 0x55, 0x19, 0xbc, 0xf9, 0x2c, 0x01, 0x00, 0x00};

Result<std::string> inflated(std::string_view stored, std::size_t piece = 1000) {
  Disk disk;
  disk.put("f", stored);
  TRY_AS(auto file, InflatedFile::open(disk.files, "f"));
  std::string out;
  std::vector<std::byte> buffer(piece);
  for (;;) {
    TRY_AS(const std::size_t got, file->read(buffer));
    if (got == 0) return out;
    out += as_text(std::span(buffer).first(got));
  }
}

std::string sample_text() {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += std::to_string(i * 7919 % 100003) + "\n";
  return text;
}

TEST(Inflate, PlainTextPassesThroughUnchanged) {
  for (const std::string& text : {std::string(), std::string("1"), sample_text()}) {
    EXPECT_EQ(inflated(text).value(), text);
    EXPECT_EQ(inflated(text, 1).value(), text);
  }
}

TEST(Inflate, GzipOfSeveralMembersIsTheirConcatenation) {
  const std::string text = sample_text();
  const std::string stored = gzip_member(text) + gzip_member("") + gzip_member("end\n");
  EXPECT_EQ(inflated(stored).value(), text + "end\n");
  EXPECT_EQ(inflated(stored, 7).value(), text + "end\n");
  const std::string real(reinterpret_cast<const char*>(deflated), sizeof deflated);
  EXPECT_EQ(inflated(real + gzip_member("end\n")).value().size(), 304u);
}

TEST(Inflate, GzipMayBePaddedWithZerosButNotWithOtherBytes) {
  const std::string stored = gzip_member("1 2 3\n");
  EXPECT_EQ(inflated(stored + std::string(513, '\0')).value(), "1 2 3\n");
  EXPECT_EQ(inflated(stored + "rubbish").error().code(), Code::corrupt);
  EXPECT_EQ(inflated(stored + std::string(10, '\0') + "x").error().code(), Code::corrupt);
}

TEST(Inflate, ZstdOfSeveralFramesIsTheirConcatenation) {
  const std::string text = sample_text();
  EXPECT_EQ(inflated(zstd_frame(text) + zstd_frame("end\n")).value(), text + "end\n");
  EXPECT_EQ(inflated(zstd_frame(text) + zstd_frame("end\n"), 5).value(), text + "end\n");
}

TEST(Inflate, EveryTruncationIsAnErrorThatNamesTheFile) {
  const std::string text = "1 2 3\n4 5 1\n6 7 2\n";
  for (const std::string& whole : {gzip_member(text), zstd_frame(text)}) {
    for (std::size_t size = 4; size < whole.size(); ++size) {
      const auto result = inflated(whole.substr(0, size));
      ASSERT_FALSE(result.has_value()) << size;
      EXPECT_EQ(result.error().code(), Code::corrupt);
      EXPECT_NE(result.error().message().find("f is cut off"), std::string::npos)
          << result.error().message();
    }
  }
}

TEST(Inflate, DamageIsNoticed) {
  std::string gzip = gzip_member("1 2 3\n4 5 1\n");
  gzip[gzip.size() - 6] ^= 1;  // of the checksum
  EXPECT_EQ(inflated(gzip).error().code(), Code::corrupt);
  std::string zstd = zstd_frame(sample_text());
  zstd[zstd.size() / 2] = static_cast<char>(~zstd[zstd.size() / 2]);
  zstd[zstd.size() / 2 + 1] = static_cast<char>(~zstd[zstd.size() / 2 + 1]);
  const auto result = inflated(zstd);
  EXPECT_TRUE(!result.has_value() || *result != sample_text());
}

TEST(Inflate, StandardInputIsDecompressedToo) {
  Disk disk;
  PipedFiles files(disk.files, gzip_member("1 2 3\n"));
  auto file = InflatedFile::open(files, "-");
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ((*file)->compression(), Compression::gzip);
  std::vector<std::byte> buffer(100);
  std::string out;
  for (std::size_t got = 1; got > 0;) {
    got = (*file)->read(buffer).value();
    out += as_text(std::span(buffer).first(got));
  }
  EXPECT_EQ(out, "1 2 3\n");
  EXPECT_EQ((*file)->read_at(0, buffer).error().code(), Code::unsupported);
}

}  // namespace
}  // namespace castor::data

#pragma once
// What the tests of this module share: a disk in memory, standard input, gzip members made by hand.
// For tests only.
//
// Thread: one at a time.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.h"
#include "core/compress.h"
#include "core/rng.h"
#include "data/ratings.h"
#include "world/pool.h"
#include "world/sim/sim_files.h"

namespace castor::data {

struct Disk {
  Rng rng{StreamKey{}};
  world::sim::SimFiles files{rng};

  void put(const std::string& path, std::string_view content) {
    auto file = files.open_write(path);
    CHECK(file.has_value() && (*file)->append(as_bytes(content)).has_value());
  }
  std::string get(const std::string& path) {
    auto bytes = world::read_whole(files, path, std::uint64_t{1} << 30);
    CHECK(bytes.has_value(), "{}", bytes.has_value() ? "" : bytes.error().message());
    return std::string(as_text(*bytes));
  }
};

// Files with something on standard input, a few bytes at a time as from a pipe.
class PipedFiles final : public world::Files {
 public:
  PipedFiles(world::Files& files, std::string input) : files_(files), input_(std::move(input)) {}

  Result<std::unique_ptr<world::ReadFile>> open_standard_input() override {
    return std::unique_ptr<world::ReadFile>(std::make_unique<Pipe>(input_));
  }
  Result<std::unique_ptr<world::ReadFile>> open_read(const std::string& path) override {
    return files_.open_read(path);
  }
  Result<std::unique_ptr<world::WriteFile>> open_write(const std::string& path) override {
    return files_.open_write(path);
  }
  Result<world::FileInfo> info(const std::string& path) override { return files_.info(path); }
  Result<std::vector<std::string>> list(const std::string& folder) override {
    return files_.list(folder);
  }
  Status make_folders(const std::string& path) override { return files_.make_folders(path); }
  Status rename(const std::string& from, const std::string& to) override {
    return files_.rename(from, to);
  }
  Status remove(const std::string& path) override { return files_.remove(path); }
  Status remove_tree(const std::string& path) override { return files_.remove_tree(path); }
  Result<std::uint64_t> free_bytes(const std::string& folder) override {
    return files_.free_bytes(folder);
  }

 private:
  class Pipe final : public world::ReadFile {
   public:
    explicit Pipe(std::string_view rest) : rest_(rest) {}
    Result<std::size_t> read(std::span<std::byte> into) override {
      const std::size_t count = std::min({into.size(), rest_.size(), std::size_t{3}});
      std::ranges::copy(as_bytes(rest_.substr(0, count)), into.begin());
      rest_.remove_prefix(count);
      return count;
    }
    Result<std::size_t> read_at(std::uint64_t, std::span<std::byte>) override {
      return error(Code::unsupported, "a pipe");
    }

   private:
    std::string_view rest_;
  };

  world::Files& files_;
  std::string input_;
};

// CRC-32 as gzip wants it, bit by bit.
inline std::uint32_t gzip_crc(std::string_view content) {
  std::uint32_t crc = ~0u;
  for (const char c : content) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1)));
  }
  return ~crc;
}

// A gzip member that holds `content` in stored blocks.
inline std::string gzip_member(std::string_view content) {
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  const auto put = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  };
  std::string_view rest = content;
  do {
    const std::string_view block = rest.substr(0, 65535);
    rest.remove_prefix(block.size());
    put(rest.empty() ? 1 : 0, 1);
    put(static_cast<std::uint32_t>(block.size()), 2);
    put(~static_cast<std::uint32_t>(block.size()), 2);
    out += block;
  } while (!rest.empty());
  put(gzip_crc(content), 4);
  put(static_cast<std::uint32_t>(content.size()), 4);
  return out;
}

inline std::string zstd_frame(std::string_view content) {
  return std::string(as_text(compressed(as_bytes(content))));
}

// Ratings by their external ids: what a reader is compared by.
struct PlainRating {
  std::string user, item;
  float value = 0;
  bool operator==(const PlainRating&) const = default;
};

inline std::vector<PlainRating> plain(const Ratings& ratings) {
  std::vector<PlainRating> result;
  for (const Rating& rating : ratings.ratings) {
    result.push_back(
        {ratings.users.text(rating.user), ratings.items.text(rating.item), rating.value});
  }
  return result;
}

}  // namespace castor::data

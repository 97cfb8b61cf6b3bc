#pragma once
// Opens a file that may be compressed: gzip (of any number of members) and zstd (of any number of
// frames) are recognised by their first bytes and decompressed while reading; anything else passes
// through unchanged. Truncated or damaged input is Code::corrupt, naming the file.
//
// Thread: one at a time.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "world/files.h"

namespace castor::data {

enum class Compression : unsigned char { none, gzip, zstd };

std::string_view name_of(Compression compression);

class InflatedFile final : public world::ReadFile {
 public:
  struct State;
  explicit InflatedFile(std::unique_ptr<State> state);  // made by open()
  // `name` is used in errors.
  static Result<std::unique_ptr<InflatedFile>> open(std::unique_ptr<world::ReadFile> file,
                                                    std::string name);
  // The file at `path`; "-" is standard input.
  static Result<std::unique_ptr<InflatedFile>> open(world::Files& files, const std::string& path);
  ~InflatedFile() override;

  // Decompressed bytes; 0 at the end. ENSURES: at the end, all checksums in the file were right.
  Result<std::size_t> read(std::span<std::byte> into) override;
  // Always Code::unsupported.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) override;

  Compression compression() const;
  // Bytes of the file, as it is stored, that have been decompressed so far.
  std::uint64_t stored_bytes() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace castor::data

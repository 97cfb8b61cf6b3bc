#pragma once
// A file that appears under its name whole or not at all: written with a large buffer to a
// temporary name in the same folder, renamed by commit(), removed when dropped before.
//
// Thread: one at a time.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "world/files.h"

namespace castor::data {

class AtomicFile {
 public:
  // `files` must outlive the result.
  static Result<AtomicFile> open(world::Files& files, const std::string& path);
  AtomicFile(AtomicFile&&) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status append(std::span<const std::byte> bytes);
  Status append(std::string_view text);
  // With sync, returns only when the file survives a power cut. REQUIRES: not called before.
  Status commit(bool sync);

 private:
  AtomicFile(world::Files& files, std::string path, std::unique_ptr<world::WriteFile> file);
  std::string temporary() const;
  Status flush();

  world::Files* files_;
  std::string path_;
  std::unique_ptr<world::WriteFile> file_;  // null once committed, or moved from
  std::string buffer_;
};

}  // namespace castor::data

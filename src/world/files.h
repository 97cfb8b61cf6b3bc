#pragma once
// Every file operation castor makes. The real implementation is files_posix.cc; the simulated one
// (world/sim/sim_files.h) keeps files in memory and forgets, at a crash, what was not synced.
// Errors name the path and what the system said. Paths are used as given; "-" has no meaning here.
//
// Thread: Files is safe from any thread; a ReadFile or WriteFile belongs to one at a time
// (read_at may be called by several).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace castor::world {

class ReadFile {
 public:
  virtual ~ReadFile() = default;
  // Up to into.size() bytes from the present place; 0 at the end.
  virtual Result<std::size_t> read(std::span<std::byte> into) = 0;
  // Up to into.size() bytes from `offset`; short only at the end. Code::unsupported for a pipe.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) = 0;
};

class WriteFile {
 public:
  virtual ~WriteFile() = default;  // closes; bytes not synced may be lost
  virtual Status append(std::span<const std::byte> bytes) = 0;
  // When it returns, the bytes survive a power cut, under the name the file was opened by.
  virtual Status sync() = 0;
};

enum class FileKind : unsigned char { regular, directory, other };  // other: pipe, device, socket

struct FileInfo {
  FileKind kind = FileKind::regular;
  std::uint64_t size = 0;  // bytes; 0 unless regular
};

class Files {
 public:
  virtual ~Files() = default;

  virtual Result<std::unique_ptr<ReadFile>> open_read(const std::string& path) = 0;
  virtual Result<std::unique_ptr<ReadFile>> open_standard_input() = 0;
  // Creates, or truncates what is there.
  virtual Result<std::unique_ptr<WriteFile>> open_write(const std::string& path) = 0;

  virtual Result<FileInfo> info(const std::string& path) = 0;                    // follows links
  virtual Result<std::vector<std::string>> list(const std::string& folder) = 0;  // names, sorted
  // And parents; fine if there already. They survive a crash.
  virtual Status make_folders(const std::string& path) = 0;
  // Of a file. Replaces `to` in one step, then syncs its folder: after it returns the new name
  // survives a crash.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  // A file; fine if absent. A crash soon after may bring it back.
  virtual Status remove(const std::string& path) = 0;
  // A folder and all in it, or a file; as remove().
  virtual Status remove_tree(const std::string& path) = 0;
  virtual Result<std::uint64_t> free_bytes(const std::string& folder) = 0;

  bool exists(const std::string& path) { return info(path).has_value(); }
};

std::unique_ptr<Files> real_files();

// "folder/name".
std::string joined_path(std::string_view folder, std::string_view name);

// The whole of a regular file; Code::exhausted above `size_max`.
Result<std::vector<std::byte>> read_whole(Files& files, const std::string& path,
                                          std::uint64_t size_max);

// Writes `path` so that a reader sees the old content or the new, never a part: to a temporary name
// in the same folder, synced, then renamed.
Status write_atomically(Files& files, const std::string& path, std::span<const std::byte> bytes);

}  // namespace castor::world

#pragma once
// Checkpoint files: an exact cut of a job at a clock edge. One file a checkpoint, written under a
// temporary name, synced, then renamed; the newest two are kept. Every section carries a checksum,
// so a damaged file is noticed and the one before is used. Byte layout: docs/formats/checkpoint.md.
//
// Thread: one at a time.
#include <memory>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/json.h"
#include "world/files.h"

namespace castor::job {

struct Section {
  std::string name;
  std::vector<std::byte> bytes;
};

class CheckpointWriter {
 public:
  // Starts a file in `folder`, which is created. Code::exhausted when the disk has fewer than
  // `bytes_expected` bytes left.
  static Result<CheckpointWriter> open(world::Files& files, const std::string& folder, Clock clock,
                                       const Json& header, std::uint64_t bytes_expected);
  CheckpointWriter(CheckpointWriter&&) = default;
  ~CheckpointWriter();  // an unpublished file is removed

  Status add(std::string_view name, std::span<const std::byte> bytes);
  // Makes the file the newest checkpoint: its path. Removes all others but the one before it.
  Result<std::string> publish();

 private:
  CheckpointWriter(world::Files& files, std::string folder, Clock clock);
  world::Files* files_;
  Clock clock_;
  std::string folder_, name_;
  std::unique_ptr<world::WriteFile> file_;
};

class CheckpointReader {
 public:
  // Code::corrupt when the file is not a checkpoint, or of a version this build does not read.
  static Result<CheckpointReader> open(world::Files& files, const std::string& path);

  const Json& header() const { return header_; }
  // The next section; at the end one without a name. Code::corrupt on damage.
  Result<Section> next();

 private:
  CheckpointReader() = default;
  Status read_exactly(std::span<std::byte> into);

  std::string path_;
  std::unique_ptr<world::ReadFile> file_;
  std::uint64_t left_ = 0;  // bytes of the file not read yet
  Json header_;
};

struct CheckpointName {
  Clock clock = 0;
  std::string path;
};

// The checkpoints of a folder, newest first; none when there is no such folder.
Result<std::vector<CheckpointName>> list_checkpoints(world::Files& files,
                                                     const std::string& folder);

}  // namespace castor::job

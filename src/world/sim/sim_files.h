#pragma once
// A disk in memory that behaves at a crash as a real one may:
//
// - bytes not synced are lost, or only their beginning is there, or its end reads as zeros;
// - a truncation that was not synced may be undone, and brings the old content back;
// - in each folder, of the new names, removals and renames since its last sync only the first few
// (none,
//   some or all) survive. sync() of a file and rename() sync the folder too, as world/files.h
//   promises.
//
// It can be given a capacity (Code::exhausted, after a part was written), errors by chance or at a
// numbered operation, and a power cut in the middle of an operation: from then on everything fails,
// and nothing changes, until crash().
//
// Thread: any; but the order in which threads draw faults is not deterministic.
#include <map>
#include <optional>

#include "core/mutex.h"
#include "core/rng.h"
#include "world/files.h"

namespace castor::world::sim {

struct FileFaults {
  std::optional<std::uint64_t> capacity_bytes = {};
  double error =
      0;  // probability with which an operation that changes something fails with Code::io
  double read_error = 0;
};

class SimFiles final : public Files {
 public:
  explicit SimFiles(Rng& rng) : rng_(rng) {}

  Result<std::unique_ptr<ReadFile>> open_read(const std::string& path) override;
  Result<std::unique_ptr<ReadFile>> open_standard_input() override;  // empty
  Result<std::unique_ptr<WriteFile>> open_write(const std::string& path) override;
  Result<FileInfo> info(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& folder) override;
  Status make_folders(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status remove_tree(const std::string& path) override;
  Result<std::uint64_t> free_bytes(const std::string& folder) override;

  void set_faults(const FileFaults& faults);
  // How many operations that change something have been asked for: opening for writing, appending,
  // syncing, making folders, renaming, removing. A rename counts twice: the new name, then its
  // sync.
  std::uint64_t operations() const;
  // The power goes when that many more have succeeded: the next one fails, an append having written
  // a part, and so does all that follows.
  void cut_power_after(std::uint64_t operations);
  // The same number for a single failure with Code::io.
  void fail_after(std::uint64_t operations);

  // Forgets what was not synced and turns the power on. Open files are dead: they give Code::io.
  void crash();
  // Of all names and contents as they are now.
  std::uint64_t digest() const;

 private:
  friend class SimReadFile;
  friend class SimWriteFile;

  // One file, by whatever name.
  struct Inode {
    std::vector<std::byte> bytes;
    std::size_t synced = 0;                          // bytes of it that survive
    std::optional<std::vector<std::byte>> old = {};  // what a truncation not synced replaced
  };
  using Names = std::map<std::string, std::shared_ptr<Inode>, std::less<>>;
  // What one operation did to the names of one folder; null = removed.
  using Change = std::vector<std::pair<std::string, std::shared_ptr<Inode>>>;
  struct Folder {
    Names now, synced;
    std::vector<Change> changes;  // from `synced` to `now`
    bool removed = false;
  };

  // What stops an operation that changes something: an injected error, or no power. `partly` is set
  // when power goes in this very operation.
  Status begin_change(std::string_view doing, const std::string& path, bool* partly = nullptr)
      REQUIRES_LOCK(mutex_);
  Status begin_read(std::string_view doing, const std::string& path) REQUIRES_LOCK(mutex_);
  Folder* find_folder(const std::string& path) REQUIRES_LOCK(mutex_);
  std::shared_ptr<Inode> find_file(const std::string& path) REQUIRES_LOCK(mutex_);
  void change_names(Folder& folder, Change change) REQUIRES_LOCK(mutex_);
  static void sync_names(Folder& folder);
  Status remove_name(const std::string& place) REQUIRES_LOCK(mutex_);
  std::uint64_t used_bytes() const REQUIRES_LOCK(mutex_);
  void crash_folder(Folder& folder) REQUIRES_LOCK(mutex_);
  void crash_inode(Inode& inode) REQUIRES_LOCK(mutex_);

  Result<std::size_t> read(Inode& inode, const std::string& path, std::uint64_t generation,
                           std::uint64_t offset, std::span<std::byte> into);
  Status append(Inode& inode, const std::string& path, std::uint64_t generation,
                std::span<const std::byte> bytes);
  Status sync(Inode& inode, const std::string& path, std::uint64_t generation);

  mutable Mutex mutex_;
  Rng& rng_ GUARDED_BY(mutex_);
  FileFaults faults_ GUARDED_BY(mutex_);
  std::map<std::string, Folder> folders_ GUARDED_BY(mutex_) = {{"", {}}, {"/", {}}};
  std::uint64_t generation_ GUARDED_BY(mutex_) = 0;  // crashes so far
  std::uint64_t operations_ GUARDED_BY(mutex_) = 0;
  std::optional<std::uint64_t> power_until_ GUARDED_BY(mutex_), fail_at_ GUARDED_BY(mutex_);
  bool has_power_ GUARDED_BY(mutex_) = true;
};

}  // namespace castor::world::sim

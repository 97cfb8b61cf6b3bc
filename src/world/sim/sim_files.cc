#include "world/sim/sim_files.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "core/bytes.h"

namespace castor::world::sim {
namespace {

// "a//b/./c/../d/" -> "a/b/d". The root is "/", the present folder "".
std::string normal(std::string_view path) {
  std::vector<std::string_view> parts;
  const bool absolute = path.starts_with('/');
  while (!path.empty()) {
    const auto slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
    if (part == ".." && !parts.empty()) {
      parts.pop_back();
    } else if (!part.empty() && part != "." && part != "..") {
      parts.push_back(part);
    }
  }
  std::string out = absolute ? "/" : "";
  for (const std::string_view part : parts) out = joined_path(out, part);
  return out;
}

// REQUIRES: normal(path).
std::string parent_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return "";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_in_parent(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

// Whether `path` lies below `folder`, at any depth.
bool is_below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) &&
         (folder.empty() ? !path.starts_with('/') : folder == "/" || path[folder.size()] == '/');
}

Error absent(std::string_view doing, const std::string& path) {
  return error(Code::not_found, "cannot {} '{}': no such file or folder", doing, printable(path));
}

}  // namespace

class SimReadFile final : public ReadFile {
 public:
  SimReadFile(SimFiles& files, std::shared_ptr<SimFiles::Inode> inode, std::string path,
              std::uint64_t generation)
      : files_(files), inode_(std::move(inode)), path_(std::move(path)), generation_(generation) {}

  Result<std::size_t> read(std::span<std::byte> into) override {
    TRY_AS(const std::size_t got, read_at(at_, into));
    at_ += got;
    return got;
  }
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) override {
    return files_.read(*inode_, path_, generation_, offset, into);
  }

 private:
  SimFiles& files_;
  const std::shared_ptr<SimFiles::Inode> inode_;
  const std::string path_;
  const std::uint64_t generation_;
  std::uint64_t at_ = 0;
};

class SimWriteFile final : public WriteFile {
 public:
  SimWriteFile(SimFiles& files, std::shared_ptr<SimFiles::Inode> inode, std::string path,
               std::uint64_t generation)
      : files_(files), inode_(std::move(inode)), path_(std::move(path)), generation_(generation) {}

  Status append(std::span<const std::byte> bytes) override {
    return files_.append(*inode_, path_, generation_, bytes);
  }
  Status sync() override { return files_.sync(*inode_, path_, generation_); }

 private:
  SimFiles& files_;
  const std::shared_ptr<SimFiles::Inode> inode_;
  const std::string path_;
  const std::uint64_t generation_;
};

// ---- Faults

void SimFiles::set_faults(const FileFaults& faults) {
  const MutexLock lock(mutex_);
  faults_ = faults;
}

std::uint64_t SimFiles::operations() const {
  const MutexLock lock(mutex_);
  return operations_;
}

void SimFiles::cut_power_after(std::uint64_t operations) {
  const MutexLock lock(mutex_);
  power_until_ = operations_ + operations;
}

void SimFiles::fail_after(std::uint64_t operations) {
  const MutexLock lock(mutex_);
  fail_at_ = operations_ + operations;
}

Status SimFiles::begin_change(std::string_view doing, const std::string& path, bool* partly) {
  const std::uint64_t number = operations_++;
  const bool had_power = has_power_;
  if (power_until_ && number >= *power_until_) has_power_ = false;
  if (!has_power_) {
    if (partly != nullptr) *partly = had_power;
    return error(Code::io, "cannot {} '{}': no power", doing, printable(path));
  }
  const bool chosen = fail_at_ && number == *fail_at_;
  if (chosen || (faults_.error > 0 && rng_.uniform() < faults_.error)) {
    if (partly != nullptr) *partly = true;
    return error(Code::io, "cannot {} '{}': input/output error", doing, printable(path));
  }
  return {};
}

Status SimFiles::begin_read(std::string_view doing, const std::string& path) {
  if (!has_power_) return error(Code::io, "cannot {} '{}': no power", doing, printable(path));
  if (faults_.read_error > 0 && rng_.uniform() < faults_.read_error) {
    return error(Code::io, "cannot {} '{}': input/output error", doing, printable(path));
  }
  return {};
}

void SimFiles::crash_inode(Inode& inode) {
  if (inode.old && rng_.below(2) == 0) {
    inode.bytes = std::move(*inode.old);
  } else {
    const std::size_t kept = inode.synced + rng_.below(inode.bytes.size() - inode.synced + 1);
    inode.bytes.resize(rng_.below(2) == 0 ? inode.synced : kept);
    if (inode.bytes.size() > inode.synced && rng_.below(2) == 0) {
      // The length got to the disk, the last bytes did not.
      const std::size_t torn = rng_.below(inode.bytes.size() - inode.synced + 1);
      std::fill_n(inode.bytes.rbegin(), torn, std::byte{0});
    }
  }
  inode.old.reset();
  inode.synced = inode.bytes.size();
}

void SimFiles::crash_folder(Folder& folder) {
  const std::uint64_t survive = rng_.below(folder.changes.size() + 1);
  for (std::size_t i = 0; i < survive; ++i) {
    for (const auto& [name, inode] : folder.changes[i]) folder.synced[name] = inode;
  }
  std::erase_if(folder.synced, [](const auto& entry) { return entry.second == nullptr; });
  folder.now = folder.synced;
  folder.changes.clear();
}

void SimFiles::crash() {
  const MutexLock lock(mutex_);
  std::set<const Inode*> done;
  for (auto& [path, folder] : folders_) crash_folder(folder);
  for (auto& [path, folder] : folders_) {
    for (auto& [name, inode] : folder.now) {
      if (done.insert(inode.get()).second) crash_inode(*inode);
    }
  }
  // A removed folder is gone for good only when all that was in it is; a parent lives by its
  // children.
  for (auto at = folders_.rbegin(); at != folders_.rend(); ++at) {
    auto& [path, folder] = *at;
    const bool holds_folder = std::ranges::any_of(folders_, [&](const auto& other) {
      return is_below(other.first, path) && !other.second.removed;
    });
    if (!folder.now.empty() || holds_folder || rng_.below(2) == 0) folder.removed = false;
  }
  std::erase_if(folders_, [](const auto& entry) { return entry.second.removed; });
  ++generation_;
  has_power_ = true;
  power_until_.reset();
  fail_at_.reset();
}

std::uint64_t SimFiles::digest() const {
  const MutexLock lock(mutex_);
  std::uint64_t digest = 0;
  const auto add = [&](std::span<const std::byte> bytes) {
    digest = mix64(digest ^ (std::uint64_t{bytes.size()} << 32 | crc32c(bytes)));
  };
  for (const auto& [path, folder] : folders_) {
    if (folder.removed) continue;
    add(as_bytes(path));
    for (const auto& [name, inode] : folder.now) {
      add(as_bytes(name));
      add(inode->bytes);
    }
  }
  return digest;
}

// ---- Names

SimFiles::Folder* SimFiles::find_folder(const std::string& path) {
  const auto found = folders_.find(path);
  return found == folders_.end() || found->second.removed ? nullptr : &found->second;
}

std::shared_ptr<SimFiles::Inode> SimFiles::find_file(const std::string& path) {
  Folder* folder = find_folder(parent_of(path));
  if (folder == nullptr) return nullptr;
  const auto found = folder->now.find(name_in_parent(path));
  return found == folder->now.end() ? nullptr : found->second;
}

void SimFiles::change_names(Folder& folder, Change change) {
  for (const auto& [name, inode] : change) {
    if (inode == nullptr) {
      folder.now.erase(name);
    } else {
      folder.now[name] = inode;
    }
  }
  folder.changes.push_back(std::move(change));
}

void SimFiles::sync_names(Folder& folder) {
  folder.synced = folder.now;
  folder.changes.clear();
}

Result<std::unique_ptr<ReadFile>> SimFiles::open_read(const std::string& path) {
  const std::string place = normal(path);
  const MutexLock lock(mutex_);
  TRY(begin_read("open", path));
  if (find_folder(place) != nullptr) {
    return error(Code::invalid, "'{}' is a folder, not a file", printable(path));
  }
  auto inode = find_file(place);
  if (inode == nullptr) return absent("open", path);
  return std::unique_ptr<ReadFile>(
      std::make_unique<SimReadFile>(*this, std::move(inode), place, generation_));
}

Result<std::unique_ptr<ReadFile>> SimFiles::open_standard_input() {
  const MutexLock lock(mutex_);
  return std::unique_ptr<ReadFile>(std::make_unique<SimReadFile>(*this, std::make_shared<Inode>(),
                                                                 "standard input", generation_));
}

Result<std::unique_ptr<WriteFile>> SimFiles::open_write(const std::string& path) {
  const std::string place = normal(path);
  const MutexLock lock(mutex_);
  TRY(begin_change("write", path));
  if (find_folder(place) != nullptr) {
    return error(Code::io, "cannot write '{}': it is a folder", printable(path));
  }
  Folder* folder = find_folder(parent_of(place));
  if (folder == nullptr) return absent("write", path);
  std::shared_ptr<Inode> inode = find_file(place);
  if (inode == nullptr) {
    inode = std::make_shared<Inode>();
    change_names(*folder, {{name_in_parent(place), inode}});
  } else {
    inode->bytes.resize(inode->old ? 0 : inode->synced);
    if (!inode->old) inode->old = std::move(inode->bytes);
    inode->bytes.clear();
    inode->synced = 0;
  }
  return std::unique_ptr<WriteFile>(
      std::make_unique<SimWriteFile>(*this, std::move(inode), place, generation_));
}

Result<FileInfo> SimFiles::info(const std::string& path) {
  const std::string place = normal(path);
  const MutexLock lock(mutex_);
  TRY(begin_read("look at", path));
  if (find_folder(place) != nullptr) return FileInfo{.kind = FileKind::directory};
  const auto inode = find_file(place);
  if (inode == nullptr || path.ends_with('/')) return absent("look at", path);
  return FileInfo{.kind = FileKind::regular, .size = inode->bytes.size()};
}

Result<std::vector<std::string>> SimFiles::list(const std::string& folder) {
  const std::string place = normal(folder);
  const MutexLock lock(mutex_);
  TRY(begin_read("list", folder));
  const Folder* found = find_folder(place);
  if (found == nullptr) return absent("list", folder);
  std::vector<std::string> names;
  for (const auto& [name, inode] : found->now) names.push_back(name);
  for (const auto& [path, other] : folders_) {
    if (path != place && !other.removed && path != "/" && path != "" && parent_of(path) == place) {
      names.push_back(name_in_parent(path));
    }
  }
  std::ranges::sort(names);
  return names;
}

Status SimFiles::make_folders(const std::string& path) {
  if (path.empty()) return error(Code::invalid, "the name of a folder is empty");
  const std::string place = normal(path);
  const MutexLock lock(mutex_);
  TRY(begin_change("create folder", path));
  for (std::size_t at = 1; at != std::string::npos && !place.empty();) {
    at = place.find('/', at);
    const std::string part = place.substr(0, at);
    if (find_file(part) != nullptr) {
      return error(Code::exists, "'{}' is a file, not a folder", printable(part));
    }
    folders_[part].removed = false;
    if (at != std::string::npos) ++at;
  }
  return {};
}

Status SimFiles::rename(const std::string& from, const std::string& to) {
  const std::string source = normal(from), target = normal(to);
  const MutexLock lock(mutex_);
  TRY(begin_change("rename", from));
  const auto inode = find_file(source);
  Folder* target_folder = find_folder(parent_of(target));
  if (inode == nullptr || target_folder == nullptr) {
    return absent(text("rename '{}' to", printable(from)), to);
  }
  if (find_folder(target) != nullptr) {
    return error(Code::io, "cannot rename '{}' to '{}': it is a folder", printable(from),
                 printable(to));
  }
  if (source != target) {
    Folder* source_folder = find_folder(parent_of(source));
    const std::string old_name = name_in_parent(source), new_name = name_in_parent(target);
    if (source_folder == target_folder) {
      change_names(*target_folder, {{new_name, inode}, {old_name, nullptr}});
    } else {
      change_names(*target_folder, {{new_name, inode}});
      change_names(*source_folder, {{old_name, nullptr}});
    }
  }
  TRY(begin_change("sync the folder of", to));
  sync_names(*target_folder);
  return {};
}

Status SimFiles::remove_name(const std::string& place) {
  TRY(begin_change("remove", place));
  Folder* folder = find_folder(parent_of(place));
  if (folder == nullptr || !folder->now.contains(name_in_parent(place))) return {};
  change_names(*folder, {{name_in_parent(place), nullptr}});
  return {};
}

Status SimFiles::remove(const std::string& path) {
  const std::string place = normal(path);
  const MutexLock lock(mutex_);
  if (find_folder(place) != nullptr) {
    return error(Code::io, "cannot remove '{}': it is a folder", printable(path));
  }
  return remove_name(place);
}

Status SimFiles::remove_tree(const std::string& path) {
  const std::string place = normal(path);
  const MutexLock lock(mutex_);
  if (find_folder(place) == nullptr) return remove_name(place);
  for (auto& [where, folder] : folders_) {
    if (folder.removed || (where != place && !is_below(where, place))) continue;
    while (!folder.now.empty()) {
      TRY(remove_name(joined_path(where, folder.now.begin()->first)));
    }
  }
  TRY(begin_change("remove folder", path));
  for (auto& [where, folder] : folders_) {
    if (where == place || is_below(where, place)) folder.removed = true;
  }
  return {};
}

Result<std::uint64_t> SimFiles::free_bytes(const std::string& folder) {
  const std::string place = normal(folder);
  const MutexLock lock(mutex_);
  TRY(begin_read("look at", folder));
  if (find_folder(place) == nullptr) return absent("look at", folder);
  const std::uint64_t used = used_bytes();
  if (!faults_.capacity_bytes) return std::numeric_limits<std::uint64_t>::max() - used;
  return *faults_.capacity_bytes - std::min(used, *faults_.capacity_bytes);
}

std::uint64_t SimFiles::used_bytes() const {
  std::uint64_t used = 0;
  for (const auto& [path, folder] : folders_) {
    for (const auto& [name, inode] : folder.now) used += inode->bytes.size();
  }
  return used;
}

// ---- Contents

Result<std::size_t> SimFiles::read(Inode& inode, const std::string& path, std::uint64_t generation,
                                   std::uint64_t offset, std::span<std::byte> into) {
  const MutexLock lock(mutex_);
  if (generation != generation_) return error(Code::io, "'{}' was open at a crash", path);
  TRY(begin_read("read", path));
  if (offset >= inode.bytes.size()) return std::size_t{0};
  const std::size_t size = std::min(into.size(), inode.bytes.size() - offset);
  if (size > 0) std::memcpy(into.data(), inode.bytes.data() + offset, size);
  return size;
}

Status SimFiles::append(Inode& inode, const std::string& path, std::uint64_t generation,
                        std::span<const std::byte> bytes) {
  const MutexLock lock(mutex_);
  if (generation != generation_) return error(Code::io, "'{}' was open at a crash", path);
  bool partly = false;
  Status status = begin_change("write", path, &partly);
  std::size_t size = bytes.size();
  if (!status) {
    size = partly ? rng_.below(bytes.size() + 1) : 0;
  } else if (faults_.capacity_bytes) {
    const std::uint64_t used = used_bytes();
    const std::uint64_t left = *faults_.capacity_bytes - std::min(used, *faults_.capacity_bytes);
    if (left < size) {
      size = left;
      status = error(Code::exhausted, "cannot write '{}': no space left", printable(path));
    }
  }
  inode.bytes.insert(inode.bytes.end(), bytes.begin(),
                     bytes.begin() + static_cast<std::ptrdiff_t>(size));
  return status;
}

Status SimFiles::sync(Inode& inode, const std::string& path, std::uint64_t generation) {
  const MutexLock lock(mutex_);
  if (generation != generation_) return error(Code::io, "'{}' was open at a crash", path);
  TRY(begin_change("sync", path));
  inode.synced = inode.bytes.size();
  inode.old.reset();
  if (Folder* folder = find_folder(parent_of(path))) sync_names(*folder);
  return {};
}

}  // namespace castor::world::sim

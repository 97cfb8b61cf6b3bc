// Files on a POSIX system. Only place that opens, renames or removes anything.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/limits.h"
#include "world/files.h"

namespace castor::world {
namespace {

Error system_error(std::string_view doing, std::string_view path, int number) {
  Code code = Code::io;
  if (number == ENOENT || number == ENOTDIR) code = Code::not_found;
  if (number == ENOSPC || number == EDQUOT) code = Code::exhausted;
  return error(code, "cannot {} '{}': {}", doing, printable(path, limits::path_bytes_max),
               ::strerror(number));
}

class Descriptor {
 public:
  explicit Descriptor(int fd, bool owned = true) : fd_(fd), owned_(owned) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (owned_ && fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
  bool owned_;
};

// open(2), again when a signal came first (pipes and network folders may wait).
int open_again(const std::string& path, int flags) {
  for (;;) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EINTR) return fd;
  }
}

int sync_again(int fd) {
  for (;;) {
    const int result = ::fsync(fd);
    if (result == 0 || errno != EINTR) return result;
  }
}

std::string parent_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status sync_folder(const std::string& folder) {
  const Descriptor fd(open_again(folder, O_RDONLY | O_DIRECTORY));
  if (fd.get() < 0 && errno == EACCES) return {};  // what may not be read cannot be synced
  if (fd.get() < 0) return system_error("open folder", folder, errno);
  if (sync_again(fd.get()) != 0 && errno != EINVAL) {
    return system_error("sync folder", folder, errno);
  }
  return {};
}

class PosixReadFile final : public ReadFile {
 public:
  PosixReadFile(int fd, std::string path, bool owned = true)
      : fd_(fd, owned), path_(std::move(path)) {}

  Result<std::size_t> read(std::span<std::byte> into) override {
    for (;;) {
      const ssize_t got = ::read(fd_.get(), into.data(), into.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return system_error("read", path_, errno);
    }
  }

  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) override {
    std::size_t total = 0;
    while (total < into.size()) {
      const ssize_t got = ::pread(fd_.get(), into.data() + total, into.size() - total,
                                  static_cast<off_t>(offset + total));
      if (got == 0) break;
      if (got > 0) {
        total += static_cast<std::size_t>(got);
      } else if (errno == ESPIPE) {
        return error(Code::unsupported, "'{}' cannot be read at a place of choice", path_);
      } else if (errno != EINTR) {
        return system_error("read", path_, errno);
      }
    }
    return total;
  }

 private:
  Descriptor fd_;
  std::string path_;
};

class PosixWriteFile final : public WriteFile {
 public:
  PosixWriteFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  Status append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t put = ::write(fd_.get(), bytes.data(), bytes.size());
      if (put >= 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(put));
      } else if (errno != EINTR) {
        return system_error("write", path_, errno);
      }
    }
    return {};
  }

  Status sync() override {
    // Pipes and devices cannot be synced and need not be.
    if (sync_again(fd_.get()) != 0) {
      if (errno == EINVAL || errno == EROFS) return {};
      return system_error("sync", path_, errno);
    }
    // The bytes of a new file survive only if its name does.
    if (!name_synced_) TRY(sync_folder(parent_of(path_)));
    name_synced_ = true;
    return {};
  }

 private:
  Descriptor fd_;
  std::string path_;
  bool name_synced_ = false;
};

class PosixFiles final : public Files {
 public:
  Result<std::unique_ptr<ReadFile>> open_read(const std::string& path) override {
    const int fd = open_again(path, O_RDONLY);
    if (fd < 0) return system_error("open", path, errno);
    auto file = std::make_unique<PosixReadFile>(fd, path);
    struct stat status{};
    if (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
      return error(Code::invalid, "'{}' is a folder, not a file", path);
    }
    return std::unique_ptr<ReadFile>(std::move(file));
  }

  Result<std::unique_ptr<ReadFile>> open_standard_input() override {
    return std::unique_ptr<ReadFile>(std::make_unique<PosixReadFile>(0, "standard input", false));
  }

  Result<std::unique_ptr<WriteFile>> open_write(const std::string& path) override {
    const int fd = open_again(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (fd < 0) return system_error("write", path, errno);
    return std::unique_ptr<WriteFile>(std::make_unique<PosixWriteFile>(fd, path));
  }

  Result<FileInfo> info(const std::string& path) override {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return system_error("look at", path, errno);
    FileInfo result;
    if (S_ISREG(status.st_mode)) {
      result.size = static_cast<std::uint64_t>(status.st_size);
    } else {
      result.kind = S_ISDIR(status.st_mode) ? FileKind::directory : FileKind::other;
    }
    return result;
  }

  Result<std::vector<std::string>> list(const std::string& folder) override {
    DIR* directory = ::opendir(folder.c_str());
    if (directory == nullptr) return system_error("list", folder, errno);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(directory)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    const int problem = errno;
    ::closedir(directory);
    if (problem != 0) return system_error("list", folder, problem);
    std::ranges::sort(names);
    return names;
  }

  Status make_folders(const std::string& path) override {
    if (path.empty()) return error(Code::invalid, "the name of a folder is empty");
    for (std::size_t at = 1; at != std::string::npos;) {
      at = path.find('/', at);
      TRY(make_folder(path.substr(0, at)));
      if (at != std::string::npos) ++at;
    }
    return {};
  }

  Status rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) {
      const int problem = errno;
      return system_error(text("rename '{}' to", printable(from, limits::path_bytes_max)), to,
                          problem);
    }
    return sync_folder(parent_of(to));
  }

  Status remove(const std::string& path) override {
    if (::unlink(path.c_str()) == 0 || is_absence(errno)) return {};
    return system_error("remove", path, errno);
  }

  Status remove_tree(const std::string& path) override {
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0) {
      if (is_absence(errno)) return {};
      return system_error("look at", path, errno);
    }
    if (!S_ISDIR(status.st_mode)) return remove(path);
    TRY_AS(const auto names, list(path));
    for (const std::string& name : names) TRY(remove_tree(joined_path(path, name)));
    if (::rmdir(path.c_str()) == 0 || is_absence(errno)) return {};
    return system_error("remove folder", path, errno);
  }

  Result<std::uint64_t> free_bytes(const std::string& folder) override {
    struct statvfs status{};
    if (::statvfs(folder.c_str(), &status) != 0) return system_error("look at", folder, errno);
    return std::uint64_t{status.f_bavail} * status.f_frsize;
  }

 private:
  static bool is_absence(int number) { return number == ENOENT || number == ENOTDIR; }

  // Made, or there already. A new one is synced into its parent, so that what is written inside it
  // and synced cannot be lost with it.
  static Status make_folder(const std::string& path) {
    if (::mkdir(path.c_str(), 0777) == 0) return sync_folder(parent_of(path));
    const int problem = errno;  // the parent may refuse what exists anyway: EROFS, EACCES
    if (is_folder(path)) return {};
    if (problem == EEXIST) return error(Code::exists, "'{}' is a file, not a folder", path);
    return system_error("create folder", path, problem);
  }
  static bool is_folder(const std::string& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  }
};

}  // namespace

std::unique_ptr<Files> real_files() { return std::make_unique<PosixFiles>(); }

}  // namespace castor::world

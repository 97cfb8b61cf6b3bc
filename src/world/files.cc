#include "world/files.h"

namespace castor::world {

std::string joined_path(std::string_view folder, std::string_view name) {
  std::string path(folder);
  if (!path.empty() && path.back() != '/') path += '/';
  return path.append(name);
}

Result<std::vector<std::byte>> read_whole(Files& files, const std::string& path,
                                          std::uint64_t size_max) {
  TRY_AS(auto file, files.open_read(path));
  std::vector<std::byte> bytes;
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  for (;;) {
    TRY_AS(const std::size_t got, file->read(buffer));
    if (got == 0) return bytes;
    if (bytes.size() + got > size_max) {
      return error(Code::exhausted, "{} is larger than {} bytes", path, size_max);
    }
    bytes.insert(bytes.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(got));
  }
}

Status write_atomically(Files& files, const std::string& path, std::span<const std::byte> bytes) {
  const std::string temporary = path + ".tmp";
  auto write = [&]() -> Status {
    TRY_AS(auto file, files.open_write(temporary));
    TRY(file->append(bytes));
    return file->sync();
  };
  if (Status written = write(); !written) {
    static_cast<void>(files.remove(temporary).has_value());  // the first error is the one to report
    return written;
  }
  Status renamed = files.rename(temporary, path);
  if (!renamed) static_cast<void>(files.remove(temporary).has_value());
  return renamed;
}

}  // namespace castor::world

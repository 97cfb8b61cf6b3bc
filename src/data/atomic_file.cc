#include "data/atomic_file.h"

#include "core/bytes.h"

namespace castor::data {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

}  // namespace

AtomicFile::AtomicFile(world::Files& files, std::string path,
                       std::unique_ptr<world::WriteFile> file)
    : files_(&files), path_(std::move(path)), file_(std::move(file)) {}

Result<AtomicFile> AtomicFile::open(world::Files& files, const std::string& path) {
  if (const auto info = files.info(path);
      info.has_value() && info->kind == world::FileKind::directory) {
    return error(Code::exists, "cannot write '{}': it is a folder", printable(path, 4096));
  }
  TRY_AS(auto file, files.open_write(path + ".tmp"));
  return AtomicFile(files, path, std::move(file));
}

AtomicFile::~AtomicFile() {
  if (file_ == nullptr) return;
  file_.reset();
  static_cast<void>(files_->remove(temporary()).has_value());  // nothing is left to do about it
}

std::string AtomicFile::temporary() const { return path_ + ".tmp"; }

Status AtomicFile::flush() {
  const Status written = file_->append(as_bytes(std::string_view(buffer_)));
  buffer_.clear();
  return written;
}

Status AtomicFile::append(std::span<const std::byte> bytes) {
  if (bytes.size() > buffer_bytes - buffer_.size()) {
    TRY(flush());
    if (bytes.size() >= buffer_bytes) return file_->append(bytes);
  }
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {};
}

Status AtomicFile::append(std::string_view text) { return append(as_bytes(text)); }

Status AtomicFile::commit(bool sync) {
  CHECK(file_ != nullptr, "committed twice");
  TRY(flush());
  if (sync) TRY(file_->sync());
  file_.reset();
  if (Status renamed = files_->rename(temporary(), path_); !renamed) {
    static_cast<void>(files_->remove(temporary()).has_value());
    return renamed;
  }
  return {};
}

}  // namespace castor::data

#include "job/checkpoint.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/bytes.h"

namespace castor::job {
namespace {

constexpr std::string_view magic = "CASTORCK";
constexpr std::uint32_t version = 1;
constexpr std::string_view prefix = "clock-", suffix = ".checkpoint", temporary = ".tmp";
constexpr std::string_view end_name = "end";
constexpr std::uint32_t header_bytes_max = 64u << 20;
constexpr std::uint32_t name_bytes_max = 4096;
constexpr std::size_t kept = 2;

std::string name_of_clock(Clock clock) { return text("{}{:012}{}", prefix, clock, suffix); }

bool parse_name(std::string_view name, Clock& clock) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return false;
  const std::string_view digits =
      name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), clock);
  return problem == std::errc{} && end == digits.data() + digits.size() && clock >= 0;
}

// What is left of a checkpoint that was never finished. The next one removes it.
bool is_leftover(std::string_view name) {
  Clock clock = 0;
  return name.ends_with(temporary) &&
         parse_name(name.substr(0, name.size() - temporary.size()), clock);
}

void put_section(ByteWriter& out, std::string_view name, std::span<const std::byte> bytes) {
  out.put(name);
  out.put<std::uint64_t>(bytes.size());
  out.put<std::uint32_t>(crc32c(bytes, crc32c(as_bytes(name))));
}

}  // namespace

CheckpointWriter::CheckpointWriter(world::Files& files, std::string folder, Clock clock)
    : files_(&files), clock_(clock), folder_(std::move(folder)), name_(name_of_clock(clock)) {}

CheckpointWriter::~CheckpointWriter() {
  if (file_ == nullptr) return;
  file_.reset();
  // Nothing more can be done about a file that cannot be removed; it is never mistaken for a
  // checkpoint.
  static_cast<void>(
      files_->remove(world::joined_path(folder_, name_ + std::string(temporary))).has_value());
}

Result<CheckpointWriter> CheckpointWriter::open(world::Files& files, const std::string& folder,
                                                Clock clock, const Json& header,
                                                std::uint64_t bytes_expected) {
  TRY(files.make_folders(folder));
  TRY_AS(const auto names, files.list(folder));
  for (const std::string& name : names) {
    if (is_leftover(name)) TRY(files.remove(world::joined_path(folder, name)));
  }
  TRY_AS(const std::uint64_t free, files.free_bytes(folder));
  if (free < bytes_expected) {
    return error(Code::exhausted, "a checkpoint needs about {} bytes, the disk of '{}' has {} left",
                 bytes_expected, folder, free);
  }
  CheckpointWriter writer(files, folder, clock);
  const std::string path = world::joined_path(folder, writer.name_ + std::string(temporary));
  TRY_AS(writer.file_, files.open_write(path));
  ByteWriter out;
  out.raw(magic.data(), magic.size());
  out.put(version);
  const std::string document = header.dump();
  out.put(std::string_view(document));
  out.put(crc32c(as_bytes(document)));
  TRY(writer.file_->append(out.bytes()));
  return writer;
}

Status CheckpointWriter::add(std::string_view name, std::span<const std::byte> bytes) {
  ByteWriter out;
  put_section(out, name, bytes);
  TRY(file_->append(out.bytes()));
  return file_->append(bytes);
}

Result<std::string> CheckpointWriter::publish() {
  TRY(add(end_name, {}));
  TRY(file_->sync());
  const std::string path = world::joined_path(folder_, name_);
  TRY(files_->rename(path + std::string(temporary), path));
  file_.reset();
  // It is published: what fails from here on is tried again by the next one.
  const auto all = list_checkpoints(*files_, folder_);
  if (!all) return path;
  std::size_t found = 0;
  for (const CheckpointName& checkpoint : *all) {
    // A later clock than this one's is left from another run, or damaged.
    if (checkpoint.clock <= clock_ && ++found <= kept) continue;
    static_cast<void>(files_->remove(checkpoint.path).has_value());
  }
  return path;
}

Status CheckpointReader::read_exactly(std::span<std::byte> into) {
  if (into.size() > left_) return error(Code::corrupt, "checkpoint '{}' is cut short", path_);
  std::size_t total = 0;
  while (total < into.size()) {
    TRY_AS(const std::size_t got, file_->read(into.subspan(total)));
    if (got == 0) return error(Code::corrupt, "checkpoint '{}' is cut short", path_);
    total += got;
  }
  left_ -= into.size();
  return {};
}

Result<CheckpointReader> CheckpointReader::open(world::Files& files, const std::string& path) {
  CheckpointReader reader;
  reader.path_ = path;
  TRY_AS(const world::FileInfo info, files.info(path));
  reader.left_ = info.size;
  TRY_AS(reader.file_, files.open_read(path));
  std::array<std::byte, 16> start{};
  TRY(reader.read_exactly(start));
  if (as_text({start.data(), 8}) != magic) {
    return error(Code::corrupt, "'{}' is not a checkpoint", path);
  }
  ByteReader in({start.data() + 8, 8});
  const auto found_version = in.get<std::uint32_t>();
  if (found_version != version) {
    return error(Code::unsupported, "checkpoint '{}' has format {}, this build reads {}", path,
                 found_version, version);
  }
  const auto size = in.get<std::uint32_t>();
  if (size > header_bytes_max || size > reader.left_) {
    return error(Code::corrupt, "checkpoint '{}' has a damaged header", path);
  }
  std::vector<std::byte> document(size);
  TRY(reader.read_exactly(document));
  std::array<std::byte, 4> sum{};
  TRY(reader.read_exactly(sum));
  if (ByteReader(sum).get<std::uint32_t>() != crc32c(document)) {
    return error(Code::corrupt, "checkpoint '{}' has a damaged header", path);
  }
  TRY_AS(reader.header_, Json::parse(as_text(document), path));
  return reader;
}

Result<Section> CheckpointReader::next() {
  std::array<std::byte, 4> name_size{};
  TRY(read_exactly(name_size));
  const auto size = ByteReader(name_size).get<std::uint32_t>();
  if (size > name_bytes_max) return error(Code::corrupt, "checkpoint '{}' is damaged", path_);
  std::vector<std::byte> rest(size + 12);
  TRY(read_exactly(rest));
  ByteReader in(rest);
  Section section;
  section.name = std::string(as_text(in.view(size)));
  const auto bytes = in.get<std::uint64_t>();
  const auto sum = in.get<std::uint32_t>();
  if (bytes > left_) return error(Code::corrupt, "checkpoint '{}' is cut short", path_);
  section.bytes.resize(bytes);
  TRY(read_exactly(section.bytes));
  if (crc32c(section.bytes, crc32c(as_bytes(section.name))) != sum) {
    return error(Code::corrupt, "checkpoint '{}': section '{}' does not match its checksum", path_,
                 printable(section.name));
  }
  if (section.name == end_name) section.name.clear();
  return section;
}

Result<std::vector<CheckpointName>> list_checkpoints(world::Files& files,
                                                     const std::string& folder) {
  std::vector<CheckpointName> found;
  if (!files.exists(folder)) return found;
  TRY_AS(const auto names, files.list(folder));
  for (const std::string& name : names) {
    Clock clock = 0;
    if (parse_name(name, clock)) found.push_back({clock, world::joined_path(folder, name)});
  }
  std::ranges::sort(found, std::greater{}, &CheckpointName::clock);
  return found;
}

}  // namespace castor::job

#include "data/inflate.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "core/bytes.h"

namespace castor::data {
namespace {

constexpr std::size_t input_bytes = std::size_t{256} << 10;
constexpr std::size_t start_bytes = 64;  // read first, to see whether it is compressed
constexpr std::uint32_t zstd_magic = 0xFD2FB528;
constexpr std::uint32_t zstd_skippable_magic = 0x184D2A50;  // the low four bits are free

Compression recognised(std::span<const std::byte> start) {
  if (start.size() >= 2 && start[0] == std::byte{0x1f} && start[1] == std::byte{0x8b}) {
    return Compression::gzip;
  }
  if (start.size() < 4) return Compression::none;
  std::uint32_t magic = 0;
  std::memcpy(&magic, start.data(), sizeof magic);
  const bool zstd = magic == zstd_magic || (magic & 0xfffffff0) == zstd_skippable_magic;
  return zstd ? Compression::zstd : Compression::none;
}

// How far one step of a decoder got.
struct Step {
  std::size_t taken = 0;
  std::size_t given = 0;
  bool ended = false;  // at the end of a member or frame
  const char* damage = nullptr;
};

class GzipStream {
 public:
  GzipStream() { CHECK(::inflateInit2(&stream_, 15 + 16) == Z_OK); }  // 16: a gzip header, no other
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() { ::inflateEnd(&stream_); }

  void start_member() { CHECK(::inflateReset(&stream_) == Z_OK); }

  Step step(std::span<const std::byte> in, std::span<std::byte> out) {
    constexpr std::size_t piece_max = std::numeric_limits<uInt>::max();
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream_.avail_in = static_cast<uInt>(std::min(in.size(), piece_max));
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(std::min(out.size(), piece_max));
    const uInt in_before = stream_.avail_in, out_before = stream_.avail_out;
    const int code = ::inflate(&stream_, Z_NO_FLUSH);
    Step result{.taken = in_before - stream_.avail_in, .given = out_before - stream_.avail_out};
    result.ended = code == Z_STREAM_END;
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
      result.damage = stream_.msg != nullptr ? stream_.msg : "bad data";
    }
    return result;
  }

 private:
  z_stream stream_{};
};

class ZstdStream {
 public:
  ZstdStream() : stream_(::ZSTD_createDStream()) {
    CHECK(stream_ != nullptr, "out of memory");
    ::ZSTD_initDStream(stream_);
  }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;
  ~ZstdStream() { ::ZSTD_freeDStream(stream_); }

  Step step(std::span<const std::byte> in, std::span<std::byte> out) {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const std::size_t code = ::ZSTD_decompressStream(stream_, &output, &input);
    Step result{.taken = input.pos, .given = output.pos};
    result.ended = code == 0;
    if (::ZSTD_isError(code) != 0) result.damage = ::ZSTD_getErrorName(code);
    return result;
  }

 private:
  ZSTD_DStream* stream_;
};

}  // namespace

std::string_view name_of(Compression compression) {
  switch (compression) {
    case Compression::none: return "none";
    case Compression::gzip: return "gzip";
    case Compression::zstd: return "zstd";
  }
  return "";
}

struct InflatedFile::State {
  std::unique_ptr<world::ReadFile> file;
  std::string name;
  Compression compression = Compression::none;
  std::uint64_t stored_bytes = 0;
  std::vector<std::byte> input = {};
  std::span<const std::byte> rest = {};  // of input, not yet decoded
  std::unique_ptr<GzipStream> gzip = {};
  std::unique_ptr<ZstdStream> zstd = {};
  bool inside = false;  // a member or frame has begun and not ended
  bool at_end = false;

  // Reads more input behind what is left of it; false at the end of the file.
  Result<bool> refill() {
    std::ranges::copy(rest, input.begin());  // rest lies in input, not before its beginning
    TRY_AS(const std::size_t got, file->read(std::span(input).subspan(rest.size())));
    stored_bytes += got;
    rest = std::span(input).first(rest.size() + got);
    return got > 0;
  }

  Error damaged(std::string_view what) const {
    return error(Code::corrupt, "{} is damaged: not valid {} after {} bytes ({})", name,
                 name_of(compression), stored_bytes - rest.size(), what);
  }

  // Between two members: true when there is another one. gzip files may be padded with zeros.
  Result<bool> next_member() {
    while (rest.size() < 2) {
      TRY_AS(const bool more, refill());
      if (!more) break;
    }
    if (rest.empty()) return false;
    if (compression == Compression::zstd || recognised(rest) == Compression::gzip) return true;
    for (;;) {
      const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
      if (!std::ranges::all_of(rest, is_zero)) return damaged("other bytes follow its end");
      rest = {};
      TRY_AS(const bool more, refill());
      if (!more) return false;
    }
  }

  Result<std::size_t> decode(std::span<std::byte> into) {
    while (!at_end && !into.empty()) {
      if (!inside) {
        TRY_AS(const bool another, next_member());
        at_end = !another;
        if (at_end) break;
        inside = true;
        if (gzip) gzip->start_member();
      }
      const Step step = gzip ? gzip->step(rest, into) : zstd->step(rest, into);
      rest = rest.subspan(step.taken);
      if (step.damage != nullptr) return damaged(step.damage);
      inside = !step.ended;
      if (step.given > 0) return step.given;
      if (!inside || step.taken > 0) continue;
      TRY_AS(const bool more, refill());
      if (!more) {
        return error(Code::corrupt, "{} is cut off: its {} data ends too early, after {} bytes",
                     name, name_of(compression), stored_bytes);
      }
    }
    return std::size_t{0};
  }

  Result<std::size_t> pass_through(std::span<std::byte> into) {
    if (rest.empty()) {
      TRY_AS(const std::size_t got, file->read(into));
      stored_bytes += got;
      return got;
    }
    const std::size_t count = std::min(rest.size(), into.size());
    std::memcpy(into.data(), rest.data(), count);
    rest = rest.subspan(count);
    return count;
  }
};

InflatedFile::InflatedFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
InflatedFile::~InflatedFile() = default;

Result<std::unique_ptr<InflatedFile>> InflatedFile::open(std::unique_ptr<world::ReadFile> file,
                                                         std::string name) {
  auto state = std::make_unique<State>(State{.file = std::move(file), .name = std::move(name)});
  state->input.resize(start_bytes);
  state->rest = std::span<const std::byte>(state->input).first(0);
  while (state->rest.size() < sizeof zstd_magic) {  // a pipe may give less at a time
    TRY_AS(const bool more, state->refill());
    if (!more) break;
  }
  state->compression = recognised(state->rest);
  if (state->compression != Compression::none) {
    const std::size_t size = state->rest.size();
    state->input.resize(input_bytes);
    state->rest = std::span<const std::byte>(state->input).first(size);
  }
  if (state->compression == Compression::gzip) state->gzip = std::make_unique<GzipStream>();
  if (state->compression == Compression::zstd) state->zstd = std::make_unique<ZstdStream>();
  return std::make_unique<InflatedFile>(std::move(state));
}

Result<std::unique_ptr<InflatedFile>> InflatedFile::open(world::Files& files,
                                                         const std::string& path) {
  if (path == "-") {
    TRY_AS(auto input, files.open_standard_input());
    return open(std::move(input), "standard input");
  }
  TRY_AS(auto file, files.open_read(path));
  return open(std::move(file), path);
}

Result<std::size_t> InflatedFile::read(std::span<std::byte> into) {
  if (into.empty()) return std::size_t{0};
  return state_->compression == Compression::none ? state_->pass_through(into)
                                                  : state_->decode(into);
}

Result<std::size_t> InflatedFile::read_at(std::uint64_t, std::span<std::byte>) {
  return error(Code::unsupported, "{} cannot be read at a place of choice", state_->name);
}

Compression InflatedFile::compression() const { return state_->compression; }
std::uint64_t InflatedFile::stored_bytes() const {
  return state_->stored_bytes - state_->rest.size();
}

}  // namespace castor::data

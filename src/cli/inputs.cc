#include "cli/inputs.h"

#include <algorithm>

#include "core/bytes.h"
#include "core/limits.h"
#include "core/text.h"
#include "data/inflate.h"
#include "world/pool.h"

namespace castor::cli {
namespace {

constexpr double threads_max = 1024;
constexpr std::size_t list_bytes_max = 1024 * limits::mib;  // 50 million ids of 20 bytes
constexpr Duration status_every = Duration::from_ms(100), line_every = Duration::from_ms(5000);

}  // namespace

Field model_argument(std::string* target) {
  return {.name = "MODEL", .target = target, .help = "folder of a trained model", .required = true};
}

Field threads_option(std::int64_t* target) {
  return {.name = "threads",
          .target = target,
          .help = "0 = as many as there are processors",
          .minimum = 0,
          .maximum = threads_max};
}

unsigned thread_count(std::int64_t threads) {
  return threads > 0 ? static_cast<unsigned>(threads) : world::available_threads();
}

Group reading_group(data::ReadOptions& options, std::vector<std::string> without) {
  Group group{"Reading ratings", data::fields(options)};
  std::erase_if(group.fields, [&](const Field& field) {
    return std::ranges::find(without, field.name) != without.end();
  });
  return group;
}

void ReadProgress::operator()(std::uint64_t read, std::uint64_t total) {
  const Instant now = world_.now();
  if (read < read_before_ || began_.ns == 0) {  // another file
    began_ = now;
    shown_ = output_.has_status() ? Instant{} : now;
  }
  read_before_ = read;
  if (now - shown_ < (output_.has_status() ? status_every : line_every)) return;
  shown_ = now;
  const double seconds = (now - began_).seconds();
  std::string line = "reading";
  if (total > 0) {
    line += text(" {:.0f} %", 100 * static_cast<double>(read) / static_cast<double>(total));
  }
  if (seconds > 0.05) line += text(", {:.0f} MB/s", static_cast<double>(read) * 1e-6 / seconds);
  if (output_.has_status()) {
    output_.status(line);
  } else {
    output_.note(line);
  }
}

void note_warnings(const data::ReadStats& stats, Output& output) {
  output.status("");
  for (const std::string& warning : stats.warnings) output.note("warning: " + warning);
}

Result<std::vector<NumberedLine>> read_lines(world::Files& files, const std::string& path) {
  TRY_AS(const auto file, data::InflatedFile::open(files, path));
  std::string all;
  std::vector<std::byte> piece(limits::mib);
  for (;;) {
    TRY_AS(const std::size_t got, file->read(piece));
    if (got == 0) break;
    all += as_text(std::span(piece).first(got));
    if (all.size() > list_bytes_max) {
      return error(Code::exhausted, "{}: more than {} bytes of lines", path, list_bytes_max);
    }
  }
  std::vector<NumberedLine> lines;
  std::uint64_t number = 0;
  for (std::string_view rest = all; !rest.empty();) {
    const auto end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    number += 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) lines.push_back({number, std::string(line)});
  }
  return lines;
}

}  // namespace castor::cli

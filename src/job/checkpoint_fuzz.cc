// Reading a checkpoint of arbitrary bytes: an error or sections, never a crash, and never more
// memory than the file's size allows. Two ways: the file as it is, and its sections taken for a
// job's.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "job/checkpoint.h"
#include "job/fixture.h"

namespace castor::job {
namespace {

void put_file(world::Files& files, const std::string& path, std::span<const std::byte> bytes) {
  auto file = files.open_write(path);
  CHECK(file.has_value() && (*file)->append(bytes).has_value() && (*file)->sync().has_value());
}

void read_all(world::Files& files, std::uint64_t size) {
  auto reader = CheckpointReader::open(files, "file");
  if (!reader) return;
  std::uint64_t total = 0;
  for (;;) {
    const auto section = reader->next();
    if (!section || section->name.empty()) return;
    total += section->name.size() + section->bytes.size();
    CHECK(total <= size, "sections hold more than the file");
  }
}

struct Valid {
  Json header;
  std::vector<Section> sections;
};

// A checkpoint that a run has written.
Valid valid_checkpoint() {
  TickingWorld world;
  const Log log;
  auto job = Job::open(world, log, {.shards = 2});
  Everything program(*job, Order::phases);
  std::atomic<bool> stop = false;
  const auto report = job->run(program, {.clocks = 3,
                                         .metric_every = 1,
                                         .checkpoint_folder = "folder",
                                         .stop_requested = &stop,
                                         .on_metric = [&](const MetricPoint&) { stop = true; }});
  CHECK(report.has_value());
  auto reader = CheckpointReader::open(world.files(), report->checkpoint);
  CHECK(reader.has_value());
  Valid result{reader->header(), {}};
  for (;;) {
    auto section = reader->next();
    CHECK(section.has_value());
    if (section->name.empty()) return result;
    result.sections.push_back(std::move(section).value());
  }
}

// A good checkpoint of which the input replaces parts, with checksums that match: so decoders see
// what nothing has checked. Index 255 is the header.
void resume_from(ByteReader in) {
  static const Valid valid = valid_checkpoint();
  Valid changed = valid;
  while (in.remaining() > 0) {
    const std::size_t index = in.get<std::uint8_t>(), size = in.get<std::uint16_t>();
    const auto bytes = in.view(std::min(size, in.remaining()));
    if (index == 255) {
      const auto header = Json::parse(as_text(bytes), "header");
      if (header && header->is_object()) {
        for (const auto& [name, value] : *header->as_object()) changed.header.set(name, value);
      }
    } else {
      changed.sections[index % changed.sections.size()].bytes.assign(bytes.begin(), bytes.end());
    }
  }
  TickingWorld world;
  const Log log;
  auto job = Job::open(world, log, {.shards = 2});
  Everything program(*job, Order::phases);
  {
    auto writer = CheckpointWriter::open(world.files(), "folder", 2, changed.header, 0);
    CHECK(writer.has_value());
    for (const Section& section : changed.sections) {
      CHECK(writer->add(section.name, section.bytes).has_value());
    }
    CHECK(writer->publish().has_value());
  }
  const RunOptions options = {.clocks = 3, .checkpoint_folder = "folder", .resume = true};
  static_cast<void>(job->run(program, options).has_value());
}

}  // namespace
}  // namespace castor::job

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  castor::job::TickingWorld world;
  castor::job::put_file(world.files(), "file", bytes);
  castor::job::read_all(world.files(), size);
  castor::job::resume_from(castor::ByteReader(bytes));
  return 0;
}

// The part of a run that has to do with checkpoints: what goes into one, and how a run is taken up
// again.
#include <cmath>
#include <limits>
#include <set>

#include "job/run.h"
#include "job/task_boundary.h"

namespace castor::job {
namespace {

constexpr std::string_view best_prefix = "best/";
constexpr std::size_t curve_points_max = 4096;  // about 140 bytes each

std::string state_section(const StateKind& kind, ShardId shard) {
  return text("state/{}/{}", kind.name, shard);
}
// Of a metric: a number, or "nan", "inf", "-inf".
Result<double> number_of(const Json& value) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (const double* real = value.as_real()) return *real;
  if (const std::int64_t* integer = value.as_int()) return static_cast<double>(*integer);
  const std::string* word = value.as_string();
  if (word != nullptr && *word == "nan") return std::nan("");
  if (word != nullptr && (*word == "inf" || *word == "-inf")) {
    return *word == "inf" ? infinity : -infinity;
  }
  return error(Code::corrupt, "a metric that is not a number");
}

std::string table_section(const ps::TableStore& table, BlockId block) {
  return text("table/{}/{}", table.spec().name, block);
}

}  // namespace

std::vector<Section> Run::model_sections() const {
  std::vector<Section> sections;
  for (const StateKind& kind : parts_.store->states) {
    for (ShardId shard = 0; shard < parts_.store->shards && !kind.derived; ++shard) {
      ByteWriter out;
      kind.encode(out, kind.values[shard].get());
      sections.push_back({state_section(kind, shard), out.take()});
    }
  }
  for (const TableEntry& entry : parts_.store->tables) {
    for (BlockId block = 0; block < entry.table->blocks() && !entry.table->spec().derived;
         ++block) {
      ByteWriter out;
      entry.table->values(block).encode(out);
      sections.push_back({table_section(*entry.table, block), out.take()});
    }
  }
  return sections;
}

Status Run::checkpoint_if_due() {
  if (stop_ || !wants_cut() || is_stop_requested()) return {};
  Status written = write_checkpoint();
  if (!written) {  // training goes on; the next one may succeed
    log_.warn("job.checkpoint_failed", {{"reason", written.error().message()}, {"clock", clock_}});
    last_checkpoint_ = parts_.world->now();
  }
  return {};
}

// What the points of the curve and "best" are values of.
std::string Run::metric_names() const {
  std::string names;
  for (const MetricSpec& spec : report_.metrics) names += spec.name + " ";
  if (!report_.metrics.empty()) names += text("by {}", report_.metrics[driving_].name);
  return names;
}

Json Run::header() const {
  Json curve{Json::Array{}};
  // The header has a bounded size: of a long curve every so many points, and always the last.
  const std::size_t points = report_.curve.size();
  const std::size_t every = points / curve_points_max + 1;
  for (std::size_t i = 0; i < points; ++i) {
    if (i % every != 0 && i + 1 != points) continue;
    const MetricPoint& point = report_.curve[i];
    Json values{Json::Array{}};
    // JSON has no way to write what is not finite.
    for (const double value : point.values) {
      values.push(std::isfinite(value) ? Json(value) : Json(shortest(value)));
    }
    curve.push(Json(Json::Object{})
                   .set("clock", point.clock)
                   .set("pass", point.pass)
                   .set("values", std::move(values))
                   .set("seconds", point.seconds)
                   .set("cpu_seconds", point.cpu_seconds));
  }
  Json result;
  result.set("metrics", metric_names());
  result.set("identity", options_.identity).set("seed", std::to_string(parts_.seed));
  result.set("shards", parts_.store->shards).set("clock", clock_).set("tasks", report_.tasks);
  result.set("seconds", report_.seconds).set("cpu_seconds", report_.cpu_seconds);
  result.set("stalled_seconds", report_.stalled_seconds).set("best_clock", report_.best_clock);
  result.set("has_best", best_.has_value()).set("best", best_.value_or(0));
  result.set("without_improvement", without_improvement_).set("curve", std::move(curve));
  return result;
}

std::uint64_t Run::bytes_expected() const {
  std::uint64_t bytes = 1u << 16;
  for (const TableEntry& entry : parts_.store->tables) {
    for (BlockId block = 0; block < entry.table->blocks() && !entry.table->spec().derived;
         ++block) {
      bytes += entry.table->values(block).encoded_bytes();
    }
  }
  for (const StateKind& kind : parts_.store->states) {
    for (ShardId shard = 0; shard < parts_.store->shards && !kind.derived; ++shard) {
      ByteWriter out;
      kind.encode(out, kind.values[shard].get());
      bytes += out.bytes().size();
    }
  }
  for (const Section& section : best_sections_) bytes += section.bytes.size();
  return bytes;
}

Status Run::write_checkpoint() {
  const std::string doing = text("writing a checkpoint to '{}'", options_.checkpoint_folder);
  std::string path;
  auto write = [&]() -> Status {
    TRY_AS(auto writer, CheckpointWriter::open(parts_.world->files(), options_.checkpoint_folder,
                                               clock_, header(), bytes_expected()));
    for (const StateKind& kind : parts_.store->states) {
      for (ShardId shard = 0; shard < parts_.store->shards && !kind.derived; ++shard) {
        ByteWriter out;
        kind.encode(out, kind.values[shard].get());
        TRY(writer.add(state_section(kind, shard), out.bytes()));
      }
    }
    for (const TableEntry& entry : parts_.store->tables) {
      for (BlockId block = 0; block < entry.table->blocks() && !entry.table->spec().derived;
           ++block) {
        ByteWriter out;
        entry.table->values(block).encode(out);
        TRY(writer.add(table_section(*entry.table, block), out.bytes()));
      }
    }
    for (const Section& section : best_sections_) {
      TRY(writer.add(std::string(best_prefix) + section.name, section.bytes));
    }
    TRY_AS(path, writer.publish());
    return {};
  };
  TRY(guarded(doing, write));
  report_.checkpoint = path;
  last_checkpoint_ = parts_.world->now();
  log_.info("job.checkpoint", {{"clock", clock_}, {"path", report_.checkpoint}});
  return {};
}

Status Run::resume(bool& resumed) {
  TRY_AS(const auto found, list_checkpoints(parts_.world->files(), options_.checkpoint_folder));
  std::optional<Error> damaged;
  for (const CheckpointName& candidate : found) {
    TRY(initialise());
    Status restored = restore(candidate.path);
    if (restored) {
      resumed = true;
      report_.resumed_clock = clock_;
      return {};
    }
    if (restored.error().code() != Code::corrupt) return restored;
    log_.warn("job.checkpoint_damaged", {{"path", candidate.path},
                                         {"reason", restored.error().message()},
                                         {"action", "using the one before"}});
    damaged = std::move(restored).error();
  }
  if (damaged) return std::move(*damaged).with("no checkpoint is intact");
  return {};
}

Status Run::read_header(const Json& header) {
  const Json* identity = header.find("identity");
  if (identity == nullptr || identity->dump() != options_.identity.dump()) {
    return error(Code::invalid, "it was taken with other options or data: then {}, now {}",
                 identity == nullptr ? "nothing" : identity->dump(), options_.identity.dump());
  }
  TRY_AS(const std::string seed, header.string("seed"));
  TRY_AS(const std::int64_t shards, header.integer("shards"));
  if (seed != std::to_string(parts_.seed) || shards != parts_.store->shards) {
    return error(Code::invalid,
                 "it was taken with seed {} and {} shards, now there are seed {} and {}",
                 printable(seed), shards, parts_.seed, parts_.store->shards);
  }
  TRY_AS(const std::string names, header.string("metrics"));
  if (names != metric_names()) {
    return error(Code::invalid,
                 "it was measured with other files: the metrics were '{}', now '{}'; give the same "
                 "test and validation data",
                 printable(names), metric_names());
  }
  TRY_AS(clock_, header.integer("clock"));
  if (clock_ < 0) return error(Code::corrupt, "clock {}", clock_);
  TRY_AS(const std::int64_t tasks, header.integer("tasks"));
  report_.tasks = static_cast<std::uint64_t>(tasks);
  TRY_AS(report_.seconds, header.number("seconds"));
  TRY_AS(report_.cpu_seconds, header.number("cpu_seconds"));
  TRY_AS(report_.stalled_seconds, header.number("stalled_seconds"));
  TRY_AS(report_.best_clock, header.integer("best_clock"));
  TRY_AS(const std::int64_t without, header.integer("without_improvement"));
  without_improvement_ = static_cast<int>(without);
  best_.reset();
  if (const Json* has = header.find("has_best");
      has != nullptr && has->as_bool() && *has->as_bool()) {
    TRY_AS(best_, header.number("best"));
  }
  report_.curve.clear();
  const Json* curve = header.find("curve");
  if (curve == nullptr || curve->as_array() == nullptr) return error(Code::corrupt, "no curve");
  for (const Json& entry : *curve->as_array()) {
    MetricPoint point;
    TRY_AS(point.clock, entry.integer("clock"));
    TRY_AS(point.pass, entry.number("pass"));
    TRY_AS(point.seconds, entry.number("seconds"));
    TRY_AS(point.cpu_seconds, entry.number("cpu_seconds"));
    const Json* values = entry.find("values");
    if (values == nullptr || values->as_array() == nullptr)
      return error(Code::corrupt, "no values");
    for (const Json& value : *values->as_array()) {
      TRY_AS(point.values.emplace_back(), number_of(value));
    }
    if (point.values.size() != report_.metrics.size()) {
      return error(Code::corrupt, "a point of {} metrics, not {}", point.values.size(),
                   report_.metrics.size());
    }
    report_.curve.push_back(std::move(point));
  }
  return {};
}

void Run::list_section_targets() {
  for (StateKind& kind : parts_.store->states) {
    for (ShardId shard = 0; shard < parts_.store->shards && !kind.derived; ++shard) {
      targets_[state_section(kind, shard)] = [&kind, shard](ByteReader& in) -> Status {
        kind.decode(in, kind.values[shard].get());
        return {};
      };
    }
  }
  for (TableEntry& entry : parts_.store->tables) {
    for (BlockId block = 0; block < entry.table->blocks() && !entry.table->spec().derived;
         ++block) {
      targets_[table_section(*entry.table, block)] = [&entry, block](ByteReader& in) {
        return entry.table->values(block).decode(in);
      };
    }
  }
}

Status Run::apply_section(const Section& section) {
  const auto target = targets_.find(section.name);
  if (target == targets_.end()) {
    return error(Code::corrupt, "unknown section '{}'", printable(section.name));
  }
  ByteReader in(section.bytes);
  Status decoded = guarded("decode()", [&] { return target->second(in); });
  if (decoded) decoded = in.finish(section.name);
  if (!decoded)
    return error(Code::corrupt, "section '{}': {}", section.name, decoded.error().message());
  return {};
}

Status Run::restore(const std::string& path) {
  TRY_AS(auto reader, CheckpointReader::open(parts_.world->files(), path));
  if (Status status = read_header(reader.header()); !status) {
    return std::move(status).error().with(text("checkpoint '{}'", path));
  }
  best_sections_.clear();
  std::set<std::string, std::less<>> applied;
  for (;;) {
    TRY_AS(Section section, reader.next());
    if (section.name.empty()) break;
    if (section.name.starts_with(best_prefix)) {
      section.name.erase(0, best_prefix.size());
      best_sections_.push_back(std::move(section));
      continue;
    }
    TRY(apply_section(section));
    applied.insert(section.name);
  }
  if (applied.size() != targets_.size()) {
    return error(Code::corrupt, "checkpoint '{}' has {} sections, not {}", path, applied.size(),
                 targets_.size());
  }
  for (const Section& section : best_sections_) applied.erase(section.name);
  if (!best_sections_.empty() && (!applied.empty() || best_sections_.size() != targets_.size())) {
    return error(Code::corrupt, "checkpoint '{}' holds only a part of its best model", path);
  }
  for (const TableEntry& entry : parts_.store->tables) entry.table->set_clock(clock_);
  return derive();
}

}  // namespace castor::job

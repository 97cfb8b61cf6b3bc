// The part of a run that has to do with checkpoints: what goes into one, and how a run is taken up again.
#include <cmath>

#include "job/run.h"

namespace castor::job {
namespace {

constexpr std::string_view best_prefix = "best/";

std::string state_section(const StateKind& kind, ShardId shard) {
  return text("state/{}/{}", kind.name, shard);
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
    for (BlockId block = 0; block < entry.table->blocks() && !entry.table->spec().derived; ++block) {
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

Json Run::header() const {
  Json curve{Json::Array{}};
  for (const MetricPoint& point : report_.curve) {
    Json values{Json::Array{}};
    for (const double value : point.values) values.push(value);
    curve.push(Json(Json::Object{}).set("clock", point.clock).set("pass", point.pass)
                   .set("values", std::move(values)).set("seconds", point.seconds)
                   .set("cpu_seconds", point.cpu_seconds));
  }
  Json result;
  result.set("identity", options_.identity).set("seed", parts_.seed);
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
    const TableSpec& spec = entry.table->spec();
    bytes += spec.rows * spec.width * 4;
  }
  for (const Section& section : best_sections_) bytes += section.bytes.size();
  return bytes;
}

Status Run::write_checkpoint() {
  const std::string doing = text("writing a checkpoint to '{}'", options_.checkpoint_folder);
  auto write = [&]() -> Result<std::string> {
    TRY_AS(auto writer, CheckpointWriter::open(parts_.world->files(), options_.checkpoint_folder, clock_,
                                               header(), bytes_expected()));
    for (const StateKind& kind : parts_.store->states) {
      for (ShardId shard = 0; shard < parts_.store->shards && !kind.derived; ++shard) {
        ByteWriter out;
        kind.encode(out, kind.values[shard].get());
        TRY(writer.add(state_section(kind, shard), out.bytes()));
      }
    }
    for (const TableEntry& entry : parts_.store->tables) {
      for (BlockId block = 0; block < entry.table->blocks() && !entry.table->spec().derived; ++block) {
        ByteWriter out;
        entry.table->values(block).encode(out);
        TRY(writer.add(table_section(*entry.table, block), out.bytes()));
      }
    }
    for (const Section& section : best_sections_) {
      TRY(writer.add(std::string(best_prefix) + section.name, section.bytes));
    }
    return writer.publish();
  };
  auto path = write();
  if (!path) return std::move(path).error().with(doing);
  report_.checkpoint = std::move(path).value();
  last_checkpoint_ = parts_.world->now();
  log_.info("job.checkpoint", {{"clock", clock_}, {"path", report_.checkpoint}});
  return {};
}

Status Run::resume(bool& resumed) {
  TRY_AS(const auto found,
         list_checkpoints(parts_.world->files(), options_.checkpoint_folder));
  std::optional<Error> damaged;
  for (const CheckpointName& candidate : found) {
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
    return error(Code::invalid,
                 "the checkpoint was taken with other options or data; was {}, now {}",
                 identity == nullptr ? "nothing" : identity->dump(), options_.identity.dump());
  }
  TRY_AS(const std::int64_t seed, header.integer("seed"));
  TRY_AS(const std::int64_t shards, header.integer("shards"));
  if (static_cast<std::uint64_t>(seed) != parts_.seed || shards != parts_.store->shards) {
    return error(Code::invalid, "the checkpoint was taken with seed {} and {} shards", seed, shards);
  }
  TRY_AS(clock_, header.integer("clock"));
  TRY_AS(const std::int64_t tasks, header.integer("tasks"));
  report_.tasks = static_cast<std::uint64_t>(tasks);
  TRY_AS(report_.seconds, header.number("seconds"));
  TRY_AS(report_.cpu_seconds, header.number("cpu_seconds"));
  TRY_AS(report_.stalled_seconds, header.number("stalled_seconds"));
  TRY_AS(report_.best_clock, header.integer("best_clock"));
  TRY_AS(const std::int64_t without, header.integer("without_improvement"));
  without_improvement_ = static_cast<int>(without);
  best_.reset();
  if (const Json* has = header.find("has_best"); has != nullptr && has->as_bool() && *has->as_bool()) {
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
    if (values == nullptr || values->as_array() == nullptr) return error(Code::corrupt, "no values");
    for (const Json& value : *values->as_array()) {
      point.values.push_back(value.as_real() != nullptr  ? *value.as_real()
                             : value.as_int() != nullptr ? static_cast<double>(*value.as_int())
                                                         : std::nan(""));
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
    for (BlockId block = 0; block < entry.table->blocks() && !entry.table->spec().derived; ++block) {
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
  TRY(target->second(in));
  return in.finish(section.name);
}

Status Run::restore(const std::string& path) {
  TRY_AS(auto reader, CheckpointReader::open(parts_.world->files(), path));
  if (Status status = read_header(reader.header()); !status) {
    return std::move(status).error().with(text("checkpoint '{}'", path));
  }
  best_sections_.clear();
  std::size_t applied = 0;
  for (;;) {
    TRY_AS(Section section, reader.next());
    if (section.name.empty()) break;
    if (section.name.starts_with(best_prefix)) {
      section.name.erase(0, best_prefix.size());
      best_sections_.push_back(std::move(section));
      continue;
    }
    TRY(apply_section(section));
    ++applied;
  }
  for (const TableEntry& entry : parts_.store->tables) {
    entry.table->set_clock(clock_);
    for (BlockId block = 0; block < entry.table->blocks() && entry.table->spec().derived; ++block) {
      entry.table->values(block).set_zero();
    }
  }
  if (applied != targets_.size()) {
    return error(Code::corrupt, "checkpoint '{}' has {} sections, not {}", path, applied, targets_.size());
  }
  for (auto& open : parts_.store->open) open.clear();
  TRY(each_shard("derive", parts_.hooks->derive, TaskContext::Mode::derive));
  return each_shard("rebuild", parts_.hooks->rebuild, TaskContext::Mode::cut);
}

}  // namespace castor::job

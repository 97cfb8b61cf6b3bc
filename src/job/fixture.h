#pragma once
// For tests of the runtime: a world whose time only passes when it is asked for, a log that is
// kept, and a program that uses every kind of table, state and hook. For tests only.
//
// Thread: TickingWorld and KeptLog any, the rest as the job.
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "job/job.h"
#include "world/sim/sim_files.h"

namespace castor::job {

// Time passes by one tick whenever somebody looks.
class TickingWorld final : public world::World, private world::Timers {
 public:
  explicit TickingWorld(Duration tick = Duration::from_ms(1)) : tick_(tick) {}

  Instant now() override { return {now_ns_.fetch_add(tick_.ns)}; }
  Duration cpu_time() override { return {now_ns_.load()}; }
  world::sim::SimFiles& files() override { return files_; }
  world::Timers& timers() override { return *this; }
  void wake() override {}
  void run_until(Instant) override {}

 private:
  Id at(Instant, std::function<void()>) override { return 0; }
  void cancel(Id) override {}

  const Duration tick_;
  std::atomic<std::int64_t> now_ns_ = 0;
  Rng rng_{StreamKey{}};
  world::sim::SimFiles files_{rng_};
};

class KeptLog {
 public:
  std::vector<std::string> lines() const {
    const MutexLock lock(mutex_);
    return lines_;
  }
  std::size_t count(std::string_view event) const {
    std::size_t found = 0;
    for (const std::string& line : lines()) found += line.find(event) != std::string::npos ? 1 : 0;
    return found;
  }
  const Log& log() const { return log_; }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> lines_ GUARDED_BY(mutex_);
  Log log_{Level::debug, [this](Level level, std::string_view event, const Json& fields) {
             const MutexLock lock(mutex_);
             lines_.push_back(log_line(level, event, fields));
           }};
};

// A job with what it needs around it.
struct JobBench {
  explicit JobBench(ShardId shards = 3, unsigned threads = 1)
      : job(std::move(Job::open(world, log.log(), {.shards = shards, .threads = threads}))
                .value()) {}
  TickingWorld world;
  KeptLog log;
  Job job;
};

// A program without anything to do.
struct Idle {
  Schedule schedule() { return sweep(); }
  void push(TaskContext&, const Task&) {}
};

// Counts its tasks in a bounded table; the metric is what a metric sees of it.
struct Census {
  explicit Census(Job& job)
      : sum(job.table<Scalar<std::int64_t>>({.name = "sum", .rows = 1, .staleness = 3})) {}
  Schedule schedule() { return sweep(); }
  void push(TaskContext& context, const Task&) { ++context.increment(sum, 0); }
  std::vector<MetricSpec> metrics() { return {{.name = "sum", .combine = Combine::mean}}; }
  void metric(TaskContext& context, std::span<MetricPart> parts) {
    parts[0].add(static_cast<double>(context.read(sum)[0]));
  }
  Table<Scalar<std::int64_t>> sum;
};

// A shard's part of Everything: floats that any change of order would change, and a count.
struct Part {
  std::vector<float> values;
  std::int64_t count = 0;

  void encode(ByteWriter& out) const {
    out.put_array(std::span<const float>(values));
    out.put(count);
  }
  void decode(ByteReader& in) {
    const auto read = in.get_array<float>();
    if (read.size() != values.size()) return in.fail();  // init() has given it its size
    values = read;
    count = in.get<std::int64_t>();
  }
};

enum class Order : std::uint8_t { rotate, sweep, phases };

// Nothing it computes means anything, but every bit depends on what was read, drawn and done
// before.
class Everything {
 public:
  Everything(Job& job, Order order) : order_(order) {
    const auto leased = [](std::string name, std::uint32_t width) {
      return TableSpec{.name = std::move(name),
                       .rows = 7,
                       .width = width,
                       .sharing = Sharing::leased,
                       .blocks = 4};
    };
    items_ = job.table<Dense<float>>(leased("items", 3), [](RowId row, auto values, Rng& rng) {
      for (float& value : values) value = static_cast<float>(row) + rng.uniform_float();
    });
    topics_ = job.table<Sparse<std::int32_t>>(leased("topics", 60));
    totals_ = job.table<Dense<double>>({.name = "totals", .rows = 5, .width = 2, .blocks = 2});
    seen_ = job.table<Sparse<float>>({.name = "seen", .rows = 2, .width = 90});
    visits_ = job.table<Scalar<std::int64_t>>({.name = "visits", .rows = 3, .derived = true});
    parts_ = job.state<Part>("parts");
    doubles_ = job.state<std::int64_t>("doubles", true);
    offsets_ = job.data<float>(
        "offsets", [](ShardId shard) -> Result<float> { return static_cast<float>(shard) / 3; });
  }

  Schedule schedule() {
    if (order_ == Order::sweep) return sweep({.batches = 2});
    if (order_ == Order::rotate) return rotate(items_);
    return phases({{rotate(items_), 2}, {sweep(), 1}});
  }

  void touches(TouchSet& touch, const Task& task) {
    if (is_rotation(task)) {
      touch.lease(items_, task.block);
      touch.lease(topics_, task.block);
    } else {
      touch.read(items_);
    }
    touch.read(totals_);
    touch.read(seen_, 0);
    touch.read(visits_);
  }

  void init(TaskContext& context) {
    Part& part = context.state(parts_);
    part.values.assign(4, 0);
    for (float& value : part.values) value = context.rng().uniform_float();
  }
  void derive(TaskContext& context) {
    context.increment(visits_, context.shard() % 3) += context.state(parts_).count;
  }
  void rebuild(TaskContext& context) { context.state(doubles_) = 2 * context.state(parts_).count; }

  void push(TaskContext& context, const Task& task) {
    Part& part = context.state(parts_);
    std::int64_t& twice = context.state(doubles_);
    CHECK(twice == 2 * part.count);
    const auto totals = context.read(totals_);
    const auto seen = context.read(seen_, 0);
    double sum = context.data(offsets_);
    for (RowId row = 0; row < 5; ++row) sum += totals[row][0] - 0.5 * totals[row][1];
    float weight = 0;  // in the order of visits
    seen[0].for_each([&](std::uint32_t column, float value) {
      weight = weight * 0.9F + value * static_cast<float>(column % 7);
    });
    for (float& value : part.values) {
      value = 0.7F * value + static_cast<float>(std::fmod(sum, 1.0)) + 0.01F * weight;
    }
    if (is_rotation(task)) change_leased(context, task.block, part);
    const std::uint64_t draw = context.rng().below(1000);
    context.increment(totals_, draw % 5)[draw % 2] += part.values[draw % 4];
    context.increment(seen_, 0).add(static_cast<std::uint32_t>(draw % 90), 0.125F);
    context.increment(seen_, 1).add(static_cast<std::uint32_t>(draw % 3), part.values[0]);
    ++context.increment(visits_, context.shard() % 3);
    ++part.count, twice += 2;
  }

  std::vector<MetricSpec> metrics() {
    return {{.name = "size", .combine = Combine::root_mean}, {.name = "count"}};
  }
  void metric(TaskContext& context, std::span<MetricPart> parts) {
    for (const float value : context.state(parts_).values) {
      parts[0].sum += double{value} * double{value}, parts[0].weight += 1;
    }
    parts[1].sum = static_cast<double>(context.state(parts_).count);
  }

  // Every bit of the model.
  std::vector<std::byte> bytes(Job& job) const {
    ByteWriter out;
    job.inspect([&](TaskContext& context) {
      context.state(parts_).encode(out);
      out.put(context.state(doubles_));
      if (context.shard() != 0) return;
      for (RowId row = 0; row < 7; ++row) {
        out.put_array(std::span<const float>(context.read(items_)[row]));
        put_sparse(out, context.read(topics_)[row]);
      }
      for (RowId row = 0; row < 5; ++row) {
        out.put_array(std::span<const double>(context.read(totals_)[row]));
      }
      for (RowId row = 0; row < 2; ++row) put_sparse(out, context.read(seen_)[row]);
      for (RowId row = 0; row < 3; ++row) out.put(std::int64_t{context.read(visits_)[row]});
    });
    return out.take();
  }

 private:
  bool is_rotation(const Task& task) const {
    return order_ == Order::rotate || (order_ == Order::phases && task.phase == 0);
  }

  void change_leased(TaskContext& context, BlockId block, Part& part) {
    const auto items = context.lease(items_, block);
    const auto topics = context.lease(topics_, block);
    for (RowId row = items.first(); row < items.first() + items.rows(); ++row) {
      std::uint32_t last = 0;
      topics[row].for_each([&last](std::uint32_t column, std::int32_t) { last = column; });
      const auto column = static_cast<std::uint32_t>(context.rng().below(60));
      topics[row].add(column, 1);
      if (context.rng().below(2) == 0) topics[row].set(last, 0);
      for (std::size_t i = 0; i < 3; ++i) {
        items[row][i] =
            0.9F * items[row][i] + part.values[i] * static_cast<float>(last + 1) * 0.01F;
        part.values[i + 1] = 0.6F * part.values[i + 1] + 0.3F * items[row][i];
      }
    }
  }

  template <class T>
  static void put_sparse(ByteWriter& out, const SparseRow<T>& row) {
    out.put(row.count());
    row.for_each([&out](std::uint32_t column, T value) { out.put(column), out.put(value); });
  }

  const Order order_;
  Table<Dense<float>> items_;
  Table<Sparse<std::int32_t>> topics_;
  Table<Dense<double>> totals_;
  Table<Sparse<float>> seen_;
  Table<Scalar<std::int64_t>> visits_;
  State<Part> parts_;
  State<std::int64_t> doubles_;
  Data<float> offsets_;
};

}  // namespace castor::job

// A run that is interrupted, anywhere, and resumed ends with the same model as one that was not.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "core/property.h"
#include "job/checkpoint.h"
#include "job/fixture.h"

namespace castor::job {
namespace {

constexpr Clock clocks = 8;
constexpr Order orders[] = {Order::rotate, Order::sweep, Order::phases};

struct Outcome {
  Result<Report> report;
  std::vector<std::byte> model;
};

// A process: opens a job, runs, and dies.
Outcome process(TickingWorld& world, const Log& log, Order order, RunOptions options,
                unsigned threads = 1, JobOptions how = {.shards = 4}) {
  how.threads = threads;
  auto job = Job::open(world, log, how);
  CHECK(job.has_value());
  Everything program(*job, order);
  options.clocks = clocks;
  auto report = job->run(program, options);
  return {std::move(report), program.bytes(*job)};
}

Outcome process(TickingWorld& world, Order order, const RunOptions& options, unsigned threads = 1) {
  return process(world, Log(), order, options, threads);
}

// Metrics by clock, without times.
std::vector<std::pair<Clock, std::vector<double>>> curve_of(const Report& report) {
  std::vector<std::pair<Clock, std::vector<double>>> result;
  for (const MetricPoint& point : report.curve) result.emplace_back(point.clock, point.values);
  return result;
}

// Stops the run when so many clocks have been measured.
struct StopAt {
  explicit StopAt(Clock when) : clock(when), stop(when == 0) {}
  RunOptions options() {
    RunOptions result;
    result.metric_every = 1;
    result.checkpoint_folder = "checkpoints";
    result.stop_requested = &stop;
    result.on_metric = [this](const MetricPoint& point) { stop = stop || point.clock >= clock; };
    return result;
  }
  Clock clock;
  std::atomic<bool> stop;
};

const RunOptions every_edge = {
    .metric_every = 1, .checkpoint_folder = "checkpoints", .checkpoint_every = {1}};
RunOptions resumed(RunOptions options) {
  options.resume = true;
  return options;
}

TEST(ResumeThreads, StoppingAtAnyEdgeAndResumingEqualsNotStopping) {
  for (const Order order : orders) {
    TickingWorld alone;
    const Outcome whole = process(alone, order, {.metric_every = 1});
    ASSERT_TRUE(whole.report);
    for (Clock edge = 0; edge <= clocks; ++edge) {
      TickingWorld world;
      StopAt stopper(edge);
      const Outcome first = process(world, order, stopper.options(), 2);
      ASSERT_TRUE(first.report) << first.report.error().message();
      EXPECT_EQ(first.report->clock, edge);
      EXPECT_EQ(first.report->reason, StopReason::requested);
      EXPECT_FALSE(first.report->checkpoint.empty());
      RunOptions again = {.metric_every = 1, .checkpoint_folder = "checkpoints", .resume = true};
      const Outcome second = process(world, order, again, 3);
      ASSERT_TRUE(second.report) << second.report.error().message();
      EXPECT_EQ(second.report->resumed_clock, edge);
      EXPECT_EQ(second.model, whole.model) << "stopped at clock " << edge;
      EXPECT_EQ(curve_of(*second.report), curve_of(*whole.report));
      EXPECT_EQ(second.report->tasks, whole.report->tasks);
      EXPECT_EQ(second.report->best_clock, whole.report->best_clock);
    }
  }
}

TEST(ResumeThreads, TakingCheckpointsDoesNotChangeTheModel) {
  for (const Order order : orders) {
    TickingWorld alone, world;
    KeptLog log;
    const Outcome whole = process(alone, order, {.metric_every = 1}, 2);
    const Outcome often = process(world, log.log(), order, every_edge, 3);
    ASSERT_TRUE(often.report);
    EXPECT_EQ(often.model, whole.model);
    EXPECT_GE(log.count("job.checkpoint "), 5U);
    EXPECT_EQ(world.files().list("checkpoints")->size(), 2U);
  }
}

TEST(Resume, WithoutACheckpointStartsAtTheBeginning) {
  TickingWorld alone, world;
  const Outcome whole = process(alone, Order::rotate, {});
  const Outcome found = process(world, Order::rotate, resumed(every_edge));
  ASSERT_TRUE(found.report);
  EXPECT_EQ(found.report->resumed_clock, -1);
  EXPECT_EQ(found.model, whole.model);
}

// A process that dies at every operation on the disk in turn, and leaves it as a power cut may.
void die_at_every_operation(Order order, std::uint64_t seed) {
  TickingWorld alone;
  const Outcome whole = process(alone, order, every_edge);
  const std::uint64_t operations = alone.files().operations();
  ASSERT_GT(operations, 20U);
  for (std::uint64_t at = 0; at <= operations; at += 1 + seed % 3) {
    TickingWorld world;
    world.files().cut_power_after(at);
    const Outcome first = process(world, order, every_edge);
    // Whether or not the run noticed: training goes on when a checkpoint fails.
    ASSERT_TRUE(first.report) << first.report.error().message();
    EXPECT_EQ(first.model, whole.model);
    world.files().crash();
    const Outcome second = process(world, order, resumed(every_edge));
    ASSERT_TRUE(second.report) << "after " << at << ": " << second.report.error().message();
    ASSERT_EQ(second.model, whole.model) << "after " << at;
    ASSERT_EQ(curve_of(*second.report), curve_of(*whole.report)) << "after " << at;
  }
}

TEST(Resume, AfterAPowerCutAtAnyOperationTheResultIsTheSame) {
  die_at_every_operation(Order::rotate, 0);
  die_at_every_operation(Order::sweep, 1);
  die_at_every_operation(Order::phases, 2);
}

TEST(Resume, APublishedCheckpointSurvivesAPowerCutAtAnyLaterOperation) {
  TickingWorld alone;
  ASSERT_TRUE(process(alone, Order::rotate, every_edge).report);
  const std::uint64_t operations = alone.files().operations();
  for (std::uint64_t at = 0; at <= operations; ++at) {
    TickingWorld world;
    KeptLog log;
    world.files().cut_power_after(at);
    ASSERT_TRUE(process(world, log.log(), Order::rotate, every_edge).report);
    world.files().crash();
    const std::size_t published = log.count("job.checkpoint ");
    const Outcome second = process(world, Order::rotate, resumed(every_edge));
    ASSERT_TRUE(second.report);
    EXPECT_GE(second.report->resumed_clock, published == 0 ? -1 : Clock(published))
        << "after " << at;
  }
}

TEST(Resume, ASingleFailedOperationIsAWarningAndTrainingGoesOn) {
  TickingWorld alone;
  const Outcome whole = process(alone, Order::rotate, every_edge);
  const std::uint64_t operations = alone.files().operations();
  for (std::uint64_t at = 0; at < operations; ++at) {
    TickingWorld world;
    KeptLog log;
    world.files().fail_after(at);
    const Outcome found = process(world, log.log(), Order::rotate, every_edge);
    ASSERT_TRUE(found.report) << found.report.error().message();
    EXPECT_EQ(found.model, whole.model);
    EXPECT_LE(log.count("warn job.checkpoint_failed"), 1U);
    EXPECT_EQ(log.count("error "), 0U);
    const auto names = world.files().list("checkpoints");
    ASSERT_TRUE(names);
    for (const std::string& name : *names) {
      EXPECT_TRUE(name.ends_with(".checkpoint")) << name;
    }
    const Outcome second = process(world, Order::rotate, resumed(every_edge));
    ASSERT_TRUE(second.report);
    ASSERT_EQ(second.model, whole.model);
  }
}

TEST(Resume, AFullDiskIsAWarningAndTheOlderCheckpointStays) {
  TickingWorld alone;
  const Outcome whole = process(alone, Order::rotate, every_edge);
  // Room for all, for a half, for none: with a file's size in between.
  for (const std::uint64_t capacity : {std::uint64_t{0}, std::uint64_t{300}, std::uint64_t{2000},
                                       std::uint64_t{70000}, std::uint64_t{90000}}) {
    TickingWorld world;
    KeptLog log;
    world.files().set_faults({.capacity_bytes = capacity});
    const Outcome found = process(world, log.log(), Order::rotate, every_edge);
    ASSERT_TRUE(found.report) << found.report.error().message();
    EXPECT_EQ(found.model, whole.model);
    if (capacity < 1000) {
      EXPECT_GE(log.count("warn job.checkpoint_failed"), 1U);
    }
    const Outcome second = process(world, Order::rotate, resumed(every_edge));
    ASSERT_TRUE(second.report);
    ASSERT_EQ(second.model, whole.model);
  }
}

// State whose size nobody knows before it is written.
struct Heavy {
  explicit Heavy(Job& job) : values(job.state<std::vector<double>>("values")) {}
  Schedule schedule() { return sweep(); }
  void push(TaskContext& context, const Task&) { context.state(values).resize(20000, 1.5); }
  State<std::vector<double>> values;
};

TEST(Resume, ADiskThatFillsUpWhileACheckpointIsWrittenIsAWarningToo) {
  TickingWorld world;
  KeptLog log;
  world.files().set_faults({.capacity_bytes = 400000});  // one of 320,000 bytes, never two
  for (const bool resumes : {false, true}) {
    auto job = Job::open(world, log.log(), {.shards = 2});
    ASSERT_TRUE(job);
    Heavy program(*job);
    RunOptions options = every_edge;
    options.clocks = 5, options.resume = resumes;
    const auto report = job->run(program, options);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->resumed_clock, resumes ? 1 : -1);
  }
  EXPECT_GE(log.count("warn job.checkpoint_failed"), 3U);
  const auto names = world.files().list("checkpoints");
  ASSERT_TRUE(names);
  EXPECT_EQ(*names, std::vector<std::string>{"clock-000000000001.checkpoint"});
}

TEST(Resume, AStopThatCannotBeCheckpointedIsAnError) {
  TickingWorld world;
  world.files().set_faults({.capacity_bytes = 10});
  StopAt stopper(3);
  const Outcome found = process(world, Order::rotate, stopper.options());
  ASSERT_FALSE(found.report);
  EXPECT_EQ(found.report.error().code(), Code::exhausted);
  EXPECT_NE(found.report.error().message().find("'checkpoints'"), std::string::npos);
}

// ---- Damage

void put_file(world::Files& files, const std::string& path, std::span<const std::byte> bytes) {
  auto file = files.open_write(path);
  CHECK(file.has_value() && (*file)->append(bytes).has_value() && (*file)->sync().has_value());
}

// Two checkpoints, of clocks 3 and 5.
void prepare_two(TickingWorld& world, std::vector<std::byte>& newest, std::string& path) {
  for (const Clock edge : {3, 5}) {
    StopAt stopper(edge);
    auto options = stopper.options();
    options.resume = edge == 5;
    ASSERT_TRUE(process(world, Order::phases, options).report);
  }
  path = "checkpoints/clock-000000000005.checkpoint";
  auto bytes = world::read_whole(world.files(), path, 1 << 20);
  ASSERT_TRUE(bytes);
  newest = std::move(bytes).value();
}

const RunOptions resume_only = {
    .metric_every = 1, .checkpoint_folder = "checkpoints", .resume = true};

// The older checkpoint is used, or a clear error comes back; never a crash or another result.
void expect_older_or_error(TickingWorld& world, const Outcome& whole, std::string_view what) {
  const Outcome found = process(world, Order::phases, resume_only);
  if (!found.report) {
    ASSERT_EQ(found.report.error().code(), Code::unsupported) << what;
    return;
  }
  ASSERT_EQ(found.report->resumed_clock, 3) << what;
  ASSERT_EQ(found.model, whole.model) << what;
  ASSERT_EQ(curve_of(*found.report), curve_of(*whole.report)) << what;
}

TEST(Resume, FromADamagedNewestFallsBackToTheOneBefore) {
  TickingWorld alone, world;
  const Outcome whole = process(alone, Order::phases, {.metric_every = 1});
  std::vector<std::byte> good;
  std::string path;
  prepare_two(world, good, path);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::vector<std::byte> bad = good;
    bad[at] ^= static_cast<std::byte>(1 << (at % 8));
    put_file(world.files(), path, bad);
    expect_older_or_error(world, whole, text("byte {} changed", at));
    if (HasFatalFailure()) return;
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    put_file(world.files(), path, {good.data(), size});
    expect_older_or_error(world, whole, text("cut to {}", size));
    if (HasFatalFailure()) return;
  }
}

TEST(Resume, WhenNoneIsIntactIsAnErrorThatSaysSo) {
  TickingWorld world;
  std::vector<std::byte> good;
  std::string path;
  prepare_two(world, good, path);
  put_file(world.files(), path, {good.data(), 100});
  put_file(world.files(), "checkpoints/clock-000000000003.checkpoint", {});
  KeptLog log;
  const Outcome found = process(world, log.log(), Order::phases, resume_only);
  ASSERT_FALSE(found.report);
  EXPECT_EQ(found.report.error().code(), Code::corrupt);
  EXPECT_NE(found.report.error().message().find("no checkpoint is intact"), std::string::npos);
  EXPECT_EQ(log.count("warn job.checkpoint_damaged"), 2U);
}

// Files that are whole and lie: written by a test, not by a run.
TEST(Resume, FromSectionsThatDoNotFitTheJobIsAnError) {
  TickingWorld world;
  StopAt stopper(2);
  ASSERT_TRUE(process(world, Order::rotate, stopper.options()).report);
  const std::string path = "checkpoints/clock-000000000002.checkpoint";
  auto reader = CheckpointReader::open(world.files(), path);
  ASSERT_TRUE(reader);
  const Json header = reader->header();
  std::vector<Section> sections;
  for (;;) {
    auto section = reader->next();
    ASSERT_TRUE(section);
    if (section->name.empty()) break;
    sections.push_back(*section);
  }
  const auto expect_corrupt = [&](const Json& head, const std::vector<Section>& with) {
    auto writer = CheckpointWriter::open(world.files(), "checkpoints", 2, head, 0);
    ASSERT_TRUE(writer);
    for (const Section& section : with) ASSERT_TRUE(writer->add(section.name, section.bytes));
    ASSERT_TRUE(writer->publish());
    const Outcome found = process(world, Order::rotate, resume_only);
    ASSERT_FALSE(found.report);
    EXPECT_EQ(found.report.error().code(), Code::corrupt) << found.report.error().message();
  };
  for (std::size_t i = 0; i < sections.size(); ++i) {
    std::vector<Section> changed = sections;
    changed[i].bytes.push_back(std::byte{0});
    expect_corrupt(header, changed);  // too long
    changed[i].bytes.resize(changed[i].bytes.size() / 2);
    expect_corrupt(header, changed);  // too short
    changed[i] = changed[(i + 1) % changed.size()];
    expect_corrupt(header, changed);  // one missing, another twice
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    expect_corrupt(header, changed);
    changed = sections;
    changed[i].name += "x";
    expect_corrupt(header, changed);
  }
  Json negative = header;
  negative.set("clock", -5);
  expect_corrupt(negative, sections);
  Json no_curve = header;
  no_curve.set("curve", "flat");
  expect_corrupt(no_curve, sections);
}

// ---- Another job's checkpoint

std::string refusal(const RunOptions& options, const JobOptions& how) {
  TickingWorld world;
  Json identity;
  identity.set("program", "everything").set("rank", 3);
  StopAt stopper(2);
  auto first = stopper.options();
  first.identity = identity;
  CHECK(
      process(world, Log(), Order::rotate, first, 1, {.shards = 4, .seed = 7}).report.has_value());
  RunOptions again = options;
  again.checkpoint_folder = "checkpoints", again.resume = true;
  if (again.identity.is_null()) again.identity = identity;
  const Outcome found = process(world, Log(), Order::rotate, again, 1, how);
  if (found.report) return "fine";
  EXPECT_EQ(found.report.error().code(), Code::invalid);
  return found.report.error().message();
}

TEST(Resume, OfAnotherJobIsRefusedWithWhatDiffers) {
  EXPECT_EQ(refusal({}, {.shards = 4, .seed = 7}), "fine");
  const std::string path = "checkpoint 'checkpoints/clock-000000000002.checkpoint': ";
  EXPECT_EQ(refusal({}, {.shards = 4, .seed = 8}),
            path + "it was taken with seed 7 and 4 shards, now there are seed 8 and 4");
  EXPECT_EQ(refusal({}, {.shards = 5, .seed = 7}),
            path + "it was taken with seed 7 and 4 shards, now there are seed 7 and 5");
  Json identity;
  identity.set("program", "everything").set("rank", 4);
  EXPECT_EQ(refusal({.identity = identity}, {.shards = 4, .seed = 7}),
            path +
                "it was taken with other options or data: then "
                "{\"program\":\"everything\",\"rank\":3}, now "
                "{\"program\":\"everything\",\"rank\":4}");
}

TEST(Resume, WorksWithTheLargestSeed) {
  TickingWorld world;
  const JobOptions how = {.shards = 2, .seed = ~std::uint64_t{0}};
  StopAt stopper(2);
  ASSERT_TRUE(process(world, Log(), Order::rotate, stopper.options(), 1, how).report);
  const Outcome found = process(world, Log(), Order::rotate, resume_only, 1, how);
  ASSERT_TRUE(found.report) << found.report.error().message();
  EXPECT_EQ(found.report->resumed_clock, 2);
}

// ---- What a run keeps besides the model

// The metric of clock c is values[c - 1]; the model is the clock.
struct Course {
  Course(Job& job, std::vector<double> course_values)
      : values(std::move(course_values)), clock(job.state<std::int64_t>("clock")) {}
  Schedule schedule() { return sweep(); }
  void push(TaskContext& context, const Task&) { ++context.state(clock); }
  std::vector<MetricSpec> metrics() { return {{.name = "m"}}; }
  void metric(TaskContext& context, std::span<MetricPart> parts) {
    parts[0].sum = values[static_cast<std::size_t>(context.clock()) - 1];
  }
  std::vector<double> values;
  State<std::int64_t> clock;
};

// The reason, the clock and the model at the end of a run that is stopped at `edge` and resumed.
std::tuple<StopReason, Clock, Clock, std::int64_t> course(const std::vector<double>& values,
                                                          RunOptions options, Clock edge) {
  TickingWorld world;
  const Log log;
  options.clocks = static_cast<Clock>(values.size());
  options.checkpoint_folder = "checkpoints";
  for (int part = edge == 0 ? 1 : 0; part < 2; ++part) {
    auto job = Job::open(world, log, {.shards = 1});
    CHECK(job.has_value());
    Course program(*job, values);
    std::atomic<bool> stop = false;
    options.stop_requested = &stop;
    options.resume = part == 1;
    options.on_metric = [&](const MetricPoint& point) { stop = part == 0 && point.clock == edge; };
    const auto report = job->run(program, options);
    CHECK(report.has_value(), "{}", report.error().message());
    if (part == 0 && report->reason == StopReason::requested) continue;
    std::int64_t clock = 0;
    job->inspect([&](TaskContext& context) { clock = context.state(program.clock); });
    return {report->reason, report->clock, report->best_clock, clock};
  }
  CHECK(false);
  return {};
}

TEST(Resume, StoppingRulesAndTheBestModelSurvive) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::vector<double>> courses = {{5, 4, 3, 3.5, 3.4, 3.6, 3.7, 3.8},
                                                    {9, 8, 7, 6, 5, 4, 3, 2},
                                                    {1, 2, 3, 4, 5, 6, 7, 8},
                                                    {5, 4, nan, 3, nan, nan, 2, 9},
                                                    {infinity, 5, 4.99, 4.98, 3, 2, 1, 1}};
  for (const std::vector<double>& values : courses) {
    for (const int patience : {0, 2, 4}) {
      for (const double tolerance : {0.0, 0.01}) {
        const RunOptions options = {
            .tolerance = tolerance, .patience = patience, .keep_best = true};
        const auto whole = course(values, options, 0);
        for (Clock edge = 1; edge < 8; ++edge) EXPECT_EQ(course(values, options, edge), whole);
      }
    }
  }
}

}  // namespace
}  // namespace castor::job

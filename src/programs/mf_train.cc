#include "programs/mf_train.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "job/checkpoint.h"
#include "programs/mf_errors.h"
#include "programs/mf_model.h"

namespace castor::programs {
namespace {

struct Loaded {
  data::Ratings train;
  data::KnownRatings test, validation;
  double seconds = 0;
};

// The metrics of a solver, in its order (mf_solver.h).
std::vector<std::string> metric_names(const MfInput& input, const MfOptions& options) {
  std::vector<std::string> names = {"objective"};
  if (options.implicit) {
    if (input.test.size() > 0) names.emplace_back("test_recall_at_10");
    return names;
  }
  names.emplace_back("train_rmse");
  if (input.test.size() > 0) names.emplace_back("test_rmse");
  if (input.validation.size() > 0) names.emplace_back("validation_rmse");
  return names;
}

// How much worse than predicting 0 always the final training error may be.
constexpr double diverged_factor = 2;

// The members of the "done" event that say something about the model.
Json metrics_of(const Json& done) {
  Json metrics{Json::Object{}};
  for (const auto& [key, value] : *done.as_object()) {
    if (key != "event" && key != "model") metrics.set(key, value);
  }
  return metrics;
}

// One training from beginning to end.
class Training {
 public:
  Training(world::World& world, const Log& log, const MfTrainOptions& options,
           const MfTrainCalls& calls)
      : world_(world), log_(log), options_(options), calls_(calls) {
    threads_ =
        options.threads > 0 ? static_cast<unsigned>(options.threads) : world::available_threads();
  }

  Result<Json> run();

 private:
  Status check_options() const;
  Status prepare_folder() const;
  Result<Loaded> read();
  Result<data::KnownRatings> read_known(world::Pool& pool, const std::vector<std::string>& paths,
                                        const data::Ratings& train);
  void tell_read(const Loaded& loaded) const;
  void tell_start() const;
  void tell_clock(const MetricPoint& point);
  RunOptions run_options();
  Result<Json> finish(MfFit fit);
  Status check_converged(const Json& done) const;
  Json done_event(const MfModel& model, const Report& report) const;
  std::optional<double> kept_metric(std::string_view name, const Report& report) const;
  std::string checkpoints() const { return world::joined_path(options_.out, "checkpoints"); }
  bool is_stop_requested() const {
    return calls_.stop_requested != nullptr && calls_.stop_requested->load();
  }
  void tell(const Json& event) const {
    if (calls_.on_event) calls_.on_event(event);
  }

  world::World& world_;
  const Log& log_;
  const MfTrainOptions& options_;
  const MfTrainCalls& calls_;
  unsigned threads_ = 1;
  MfInput input_;
  data::IdMap users_, items_;
  std::vector<std::string> metric_names_;
  double read_seconds_ = 0, prepare_seconds_ = 0;
  RunOptions run_options_;
};

Status Training::check_options() const {
  TRY(check(options_.model));
  if (options_.data.empty())
    return error(Code::invalid, "data is missing: which ratings to train on");
  if (options_.out.empty()) return error(Code::invalid, "out is missing: the folder for the model");
  if (options_.model.implicit && !options_.validation.empty()) {
    return error(Code::unsupported,
                 "validation needs ratings: it does not stop a training with implicit");
  }
  if (options_.resume && options_.overwrite) {
    return error(Code::invalid,
                 "resume keeps an unfinished run and overwrite discards it: give one");
  }
  return {};
}

// Finds out before any work is done that the model can be kept, and that nothing is lost by it.
Status Training::prepare_folder() const {
  TRY(world_.files().make_folders(options_.out));
  const std::string probe = world::joined_path(options_.out, ".writable");
  TRY_AS(auto file, world_.files().open_write(probe));
  file.reset();
  TRY(world_.files().remove(probe));
  TRY_AS(const auto found, job::list_checkpoints(world_.files(), checkpoints()));
  if (!found.empty() && !options_.resume && !options_.overwrite) {
    return error(
        Code::exists,
        "'{}' holds an unfinished run, checkpointed at clock {}: add --resume to continue it, or "
        "--overwrite to begin anew",
        options_.out, found.front().clock);
  }
  return {};
}

Result<data::KnownRatings> Training::read_known(world::Pool& pool,
                                                const std::vector<std::string>& paths,
                                                const data::Ratings& train) {
  if (paths.empty()) return data::KnownRatings{};
  data::ReadOptions read = options_.read;
  read.paths = paths;
  read.progress = calls_.on_read;
  return data::read_ratings_known(world_.files(), pool, read, train.users, train.items);
}

Result<Loaded> Training::read() {
  const Instant began = world_.now();
  world::Pool pool(threads_);
  Loaded loaded;
  data::ReadOptions read = options_.read;
  read.paths = options_.data;
  read.progress = calls_.on_read;
  TRY_AS(loaded.train, data::read_ratings(world_.files(), pool, read));
  TRY_AS(loaded.test, read_known(pool, options_.test, loaded.train));
  TRY_AS(loaded.validation, read_known(pool, options_.validation, loaded.train));
  loaded.seconds = (world_.now() - began).seconds();
  return loaded;
}

void Training::tell_read(const Loaded& loaded) const {
  Json warnings{Json::Array{}};
  for (const data::ReadStats* stats :
       {&loaded.train.stats, &loaded.test.stats, &loaded.validation.stats}) {
    for (const std::string& warning : stats->warnings) warnings.push(warning);
  }
  Json event;
  event.set("event", "read").set("ratings", std::uint64_t{loaded.train.ratings.size()});
  event.set("users", loaded.train.users.size()).set("items", loaded.train.items.size());
  event.set("seconds", loaded.seconds).set("duplicates", loaded.train.stats.duplicates);
  event.set("duplicates_removed", loaded.train.stats.duplicates_removed);
  if (!options_.test.empty()) {
    event.set("test_ratings", std::uint64_t{loaded.test.ratings.size()});
    event.set("test_unknown", std::uint64_t{loaded.test.ratings.size() - loaded.test.known});
  }
  if (!options_.validation.empty()) {
    event.set("validation_ratings", std::uint64_t{loaded.validation.ratings.size()});
  }
  tell(event.set("warnings", std::move(warnings)));
}

void Training::tell_start() const {
  Json warnings{Json::Array{}};
  std::uint32_t parts = input_.shards;
  Json event;
  event.set("event", "start").set("solver", options_.model.solver);
  event.set("rank", options_.model.rank).set("shards", input_.shards);
  if (options_.model.solver == "sgd") {
    const BlockId blocks = blocks_for(options_.model, items_.size());
    parts = std::min(parts, blocks);
    event.set("blocks", blocks);
  }
  if (threads_ > parts) {
    warnings.push(
        text("only {} of {} threads can work at once: raise --shards{} (it changes the "
             "model within its noise)",
             parts, threads_, options_.model.solver == "sgd" ? " and --blocks" : ""));
  }
  event.set("threads", std::uint32_t{threads_}).set("prepare_seconds", prepare_seconds_);
  tell(event.set("warnings", std::move(warnings)));
}

RunOptions Training::run_options() {
  RunOptions run;
  run.metric_every = 0;
  run.tolerance = options_.tolerance;
  if (!options_.validation.empty() && !options_.model.implicit) {
    run.driving_metric = "validation_rmse";
    run.patience = static_cast<int>(options_.patience);
    run.keep_best = true;
  }
  run.checkpoint_folder = checkpoints();
  run.checkpoint_every = Duration::from_seconds(options_.checkpoint_every);
  run.resume = options_.resume;
  run.stop_requested = calls_.stop_requested;
  run.on_metric = [this](const MetricPoint& point) { tell_clock(point); };
  return run;
}

void Training::tell_clock(const MetricPoint& point) {
  const double done = std::round(point.pass), all = static_cast<double>(options_.model.clocks);
  Json event;
  event.set("event", "clock").set("clock", static_cast<std::int64_t>(done));
  event.set("clocks", options_.model.clocks);
  for (std::size_t i = 0; i < point.values.size(); ++i)
    event.set(metric_names_[i], point.values[i]);
  event.set("seconds", point.seconds).set("cpu_seconds", point.cpu_seconds);
  if (done > 0 && point.seconds > 0) {
    event.set("ratings_per_second",
              done * static_cast<double>(input_.train.size()) / point.seconds);
    event.set("seconds_left", point.seconds / done * (all - done));
  }
  tell(event);
}

// A metric at the clock of the model that is kept; none when it was not measured there.
std::optional<double> Training::kept_metric(std::string_view name, const Report& report) const {
  const Clock kept = run_options_.keep_best ? report.best_clock : report.clock;
  for (const MetricPoint& point : report.curve) {
    for (std::size_t i = 0; i < metric_names_.size(); ++i) {
      if (point.clock == kept && metric_names_[i] == name && std::isfinite(point.values[i])) {
        return point.values[i];
      }
    }
  }
  return std::nullopt;
}

Result<Json> Training::run() {
  TRY(check_options());
  TRY(prepare_folder());
  std::optional<MfModel> start;
  if (!options_.warm_start.empty()) {
    TRY_AS(start, load_model(world_.files(), options_.warm_start));
  }
  TRY_AS(Loaded loaded, read());
  read_seconds_ = loaded.seconds;
  tell_read(loaded);
  if (is_stop_requested()) return error(Code::cancelled, "stopped before the first clock");

  const Instant began = world_.now();
  users_ = std::move(loaded.train.users);
  items_ = std::move(loaded.train.items);
  // A shard without users would only be handed around.
  const ShardId shards =
      std::min(shards_for(options_.model, loaded.train.ratings.size()), users_.size());
  input_ = prepare_input(std::move(loaded.train.ratings), std::move(loaded.test.ratings),
                         std::move(loaded.validation.ratings), {users_.size(), items_.size()},
                         shards, static_cast<std::uint64_t>(options_.model.seed));
  std::optional<MfFactors> start_factors;
  if (start) {
    TRY_AS(start_factors, factors_for(*start, users_, items_, options_.model));
    start.reset();
  }
  // Only now: everything that could be wrong with the new run has been looked at.
  if (options_.overwrite) TRY(world_.files().remove_tree(checkpoints()));
  metric_names_ = metric_names(input_, options_.model);
  prepare_seconds_ = (world_.now() - began).seconds();
  tell_start();
  run_options_ = run_options();
  const MfSetting setting{world_, log_, threads_, run_options_,
                          start_factors ? &*start_factors : nullptr};
  TRY_AS(MfFit fitted, fit(input_, options_.model, setting));
  return finish(std::move(fitted));
}

Result<Json> Training::finish(MfFit fitted) {
  const Report& report = fitted.report;
  if (report.reason == StopReason::requested) {
    return Json(Json::Object{})
        .set("event", "stopped")
        .set("clock", report.clock)
        .set("checkpoint", report.checkpoint);
  }
  MfModel model;
  model.factors = std::move(fitted.factors);
  model.users = std::move(users_);
  model.items = std::move(items_);
  if (!options_.no_seen) model.seen = seen_pairs(input_);
  model.value_least = input_.value_least;
  model.value_most = input_.value_most;
  model.ratings = input_.train.size();
  MfOptions copy = options_.model;
  model.options = to_json(fields(copy));
  Json done = done_event(model, report);
  TRY(check_converged(done));
  model.metrics = metrics_of(done);
  TRY(save_model(world_.files(), options_.out, model, calls_.castor_version));
  TRY(world_.files().remove_tree(checkpoints()));
  tell(done);
  return done;
}

// A training that ran away is an error, not a result: worse than predicting 0 always.
Status Training::check_converged(const Json& done) const {
  const Json* error_now = done.find("train_rmse");
  const Json* clocks = done.find("clock");
  if (error_now == nullptr || clocks == nullptr || *clocks->as_int() == 0) return {};
  const double rmse = error_now->as_real() != nullptr ? *error_now->as_real() : std::nan("");
  const double size = std::hypot(input_.mean, input_.deviation);
  if (rmse <= diverged_factor * size) return {};
  TRY(world_.files().remove_tree(checkpoints()));
  return error(Code::invalid,
               "the training diverged: its error is {}, that of predicting 0 always is {}; nothing "
               "was saved; {}",
               shortest(rmse), shortest(size),
               options_.model.solver == "sgd" ? "try a lower --rate" : "try a larger --lambda");
}

Json Training::done_event(const MfModel& model, const Report& report) const {
  Json done;
  const double passes = report.curve.empty() ? 0 : std::round(report.curve.back().pass);
  done.set("event", "done").set("clock", static_cast<std::int64_t>(passes));
  done.set("reason", name_of(report.reason));
  // Of the model that is kept: exact, and for the best clock when that is not the last.
  world::Pool pool(threads_);
  auto rmse_of = [&](const ShardedRatings& ratings) {
    return errors_of(model.factors, ratings, input_, pool).rmse();
  };
  if (!model.factors.implicit) {
    done.set("train_rmse", rmse_of(input_.train));
    if (input_.test.size() > 0) done.set("test_rmse", rmse_of(input_.test));
    if (input_.validation.size() > 0) {
      done.set("validation_rmse", rmse_of(input_.validation)).set("best_clock", report.best_clock);
    }
  }
  for (const char* name : {"objective", "test_recall_at_10"}) {
    if (const auto value = kept_metric(name, report)) done.set(name, *value);
  }
  done.set("seconds", report.seconds);
  const double visited = passes * static_cast<double>(input_.train.size());
  done.set("ratings_per_second", report.seconds > 0 ? visited / report.seconds : 0.0);
  done.set("cpu_seconds", report.cpu_seconds).set("read_seconds", read_seconds_);
  done.set("ratings_per_cpu_second", report.cpu_seconds > 0 ? visited / report.cpu_seconds : 0.0);
  done.set("prepare_seconds", prepare_seconds_).set("stalled_seconds", report.stalled_seconds);
  if (report.resumed_clock >= 0) done.set("resumed_clock", report.resumed_clock);
  return done.set("model", options_.out);
}

}  // namespace

std::vector<Field> fields(MfTrainOptions& o) {
  constexpr double threads_max = 1024, seconds_max = 1e9, counts_max = 1e9;
  std::vector<Field> all = {
      {.name = "data",
       .target = &o.data,
       .help = "ratings to train on: text, Matrix Market, gzip or zstd; '-' is standard input",
       .unit = "file",
       .required = true},
      {.name = "test",
       .target = &o.test,
       .help = "ratings to report the error on, never trained on",
       .unit = "file"},
      {.name = "validation",
       .target = &o.validation,
       .help =
           "ratings that end the training when their error stops falling; the best model is kept",
       .unit = "file"},
      {.name = "out",
       .target = &o.out,
       .help = "folder for the model and checkpoints; a finished model in it is replaced",
       .unit = "folder",
       .required = true},
      {.name = "warm_start",
       .target = &o.warm_start,
       .help = "model folder to begin from",
       .unit = "folder"},
      {.name = "threads",
       .target = &o.threads,
       .help = "0 = as many as there are processors",
       .minimum = 0,
       .maximum = threads_max},
      {.name = "checkpoint_every",
       .target = &o.checkpoint_every,
       .help = "time between checkpoints; 0 = only when stopped",
       .minimum = 0,
       .maximum = seconds_max,
       .unit = "seconds"},
      {.name = "resume",
       .target = &o.resume,
       .help = "continue from the newest checkpoint in the folder, if there is one"},
      {.name = "overwrite",
       .target = &o.overwrite,
       .help = "discard an unfinished run in the folder"},
      {.name = "patience",
       .target = &o.patience,
       .help = "validation: clocks without improvement before stopping; 0 = never stop early",
       .minimum = 0,
       .maximum = counts_max},
      {.name = "tolerance",
       .target = &o.tolerance,
       .help = "stop when the objective (or the validation error) improves relatively by less; 0 = "
               "never",
       .minimum = 0,
       .maximum = 1},
      {.name = "no_seen",
       .target = &o.no_seen,
       .help =
           "do not keep the training pairs in the model: recommend can then not leave them out"},
  };
  for (Field& field : fields(o.model)) all.push_back(std::move(field));
  for (Field& field : data::fields(o.read)) all.push_back(std::move(field));
  return all;
}

Result<Json> train_mf(world::World& world, const Log& log, const MfTrainOptions& options,
                      const MfTrainCalls& calls) {
  Training training(world, log, options, calls);
  return training.run();
}

}  // namespace castor::programs

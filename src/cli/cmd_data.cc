// castor data describe, split, generate ratings.
#include "cli/catalog.h"
#include "cli/inputs.h"
#include "cli/rows.h"
#include "cli/train_report.h"
#include "core/text.h"
#include "data/describe.h"
#include "data/generate.h"
#include "data/ratings_writer.h"
#include "data/split.h"

namespace castor::cli {
namespace {

Field files_argument(std::vector<std::string>* target) {
  return {.name = "FILE",
          .target = target,
          .help = "ratings: text, Matrix Market, gzip or zstd; '-' is standard input",
          .required = true};
}

Result<data::Ratings> read(const Context& context, world::Pool& pool, data::ReadOptions& options) {
  ReadProgress progress(context.world, context.output);
  options.progress = [&](std::uint64_t read, std::uint64_t total) { progress(read, total); };
  auto ratings = data::read_ratings(context.world.files(), pool, options);
  context.output.status("");
  return ratings;
}

class DescribeCommand final : public Command {
 public:
  Spec spec() override {
    return {.description =
                "Reads ratings and says how many there are, of what values, how they spread over "
                "users and items, how many pairs repeat, and how the file was understood: look at "
                "this first.",
            .examples = {"castor data describe ratings.csv",
                         "zstdcat day-*.zst | castor data describe -"},
            .positionals = {files_argument(&read_.paths)},
            .groups = {{"Options", {threads_option(&threads_)}}, reading_group(read_)}};
  }

  Status run(const Context& context) override {
    world::Pool pool(thread_count(threads_));
    TRY_AS(const data::Ratings ratings, read(context, pool, read_));
    const data::Summary summary = data::describe(ratings);
    context.output.result(context.shared.json ? to_json(summary).dump() + "\n"
                                              : data::to_text(summary));
    return {};
  }

 private:
  data::ReadOptions read_;
  std::int64_t threads_ = 0;
};

class SplitCommand final : public Command {
 public:
  Spec spec() override {
    return {
        .description =
            "Reads ratings and writes some of them, chosen by the seed, to one file and the others "
            "to another. The same ratings, options and seed give the same files.",
        .examples = {"castor data split ratings.tsv --train-out train.tsv --test-out test.tsv",
                     "castor data split all.csv --per-user 10 --by last --train-out a.csv "
                     "--test-out b.csv"},
        .positionals = {files_argument(&read_.paths)},
        .groups = {{"Where to",
                    {{.name = "train_out",
                      .target = &train_out_,
                      .help = "file for the ratings that stay; .csv for commas, else tabs",
                      .unit = "file",
                      .required = true},
                     {.name = "test_out",
                      .target = &test_out_,
                      .help = "file for those held out",
                      .unit = "file",
                      .required = true}}},
                   {"How", data::fields(split_)},
                   reading_group(read_)}};
  }

  Status check() const override {
    TRY(check_plain_name("--train-out", train_out_));
    TRY(check_plain_name("--test-out", test_out_));
    if (train_out_ == test_out_) {
      return error(Code::invalid, "--train-out and --test-out are the same file");
    }
    for (const std::string& path : read_.paths) {
      if (path != train_out_ && path != test_out_) continue;
      return error(Code::invalid, "'{}' is read and would be written too", path);
    }
    return {};
  }

  Status run(const Context& context) override {
    world::Files& files = context.world.files();
    world::Pool pool(world::available_threads());
    TRY_AS(const data::Ratings ratings, read(context, pool, read_));
    note_warnings(ratings.stats, context.output);
    TRY_AS(const auto held, data::held_out(ratings, split_));
    TRY_AS(const auto tested,
           data::write_ratings(files, test_out_, ratings, {.format = data::format_for(test_out_)},
                               {held, 1}));
    auto trained = data::write_ratings(files, train_out_, ratings,
                                       {.format = data::format_for(train_out_)}, {held, 0});
    if (!trained) {
      TRY(files.remove(test_out_));  // half a split is none
      return std::move(trained).error();
    }
    Json summary;
    summary.set("train_ratings", *trained).set("test_ratings", tested);
    summary.set("train", train_out_).set("test", test_out_);
    context.output.result(context.shared.json
                              ? summary.dump() + "\n"
                              : text("{} to {}\n{} to {}\n", counted(*trained, "rating"),
                                     train_out_, counted(tested, "rating"), test_out_));
    return {};
  }

 private:
  data::ReadOptions read_;
  data::SplitOptions split_;
  std::string train_out_, test_out_;
};

class GenerateCommand final : public Command {
 public:
  Spec spec() override {
    return {
        .description =
            "Writes ratings that follow a hidden model of low rank, with noise, active and quiet "
            "users, popular and rare items; and says the error of that hidden model, which no "
            "trained one can beat by much.",
        .examples =
            {"castor data generate ratings --out ratings.tsv",
             "castor data generate ratings --ratings 1e6 --users 20000 --items 5000 --out big.tsv",
             "castor data generate ratings --test 0.1 --out train.tsv --test-out test.tsv"},
        .groups = {{"Where to",
                    {{.name = "out",
                      .target = &out_,
                      .help = "file for the ratings; .csv for commas, else tabs",
                      .unit = "file",
                      .required = true},
                     {.name = "test_out",
                      .target = &test_out_,
                      .help = "file for the share that --test holds out",
                      .unit = "file"}}},
                   {"What", data::fields(options_)}}};
  }

  Status check() const override {
    TRY(check_plain_name("--out", out_));
    TRY(check_plain_name("--test-out", test_out_));
    if ((options_.test > 0) != !test_out_.empty()) {
      return error(Code::invalid, "--test and --test-out need each other");
    }
    if (out_ == test_out_) return error(Code::invalid, "--out and --test-out are the same file");
    return {};
  }

  Status run(const Context& context) override {
    world::Pool pool(world::available_threads());
    TRY_AS(const data::GenerateReport report,
           data::generate_ratings(context.world.files(), pool, options_, out_, test_out_));
    const std::uint64_t trained = report.ratings - report.test_ratings;
    if (context.shared.json) {
      Json summary;
      summary.set("ratings", trained).set("out", out_).set("rmse_floor", report.rmse_floor);
      if (!test_out_.empty()) {
        summary.set("test_ratings", report.test_ratings).set("test_out", test_out_);
        summary.set("test_rmse_floor", report.test_rmse_floor);
      }
      context.output.result(summary.dump() + "\n");
      return {};
    }
    std::string out = text("{} ratings to {}\n", grouped(trained), out_);
    if (!test_out_.empty()) {
      out += text("{} ratings to {}\n", grouped(report.test_ratings), test_out_);
    }
    const double floor = test_out_.empty() ? report.rmse_floor : report.test_rmse_floor;
    context.output.result(out + text("RMSE of the hidden model{}: {:.4f}\n",
                                     test_out_.empty() ? "" : " on the latter", floor));
    return {};
  }

 private:
  data::GenerateOptions options_;
  std::string out_, test_out_;
};

}  // namespace

std::unique_ptr<Command> make_data_describe(std::string_view) {
  return std::make_unique<DescribeCommand>();
}
std::unique_ptr<Command> make_data_split(std::string_view) {
  return std::make_unique<SplitCommand>();
}
std::unique_ptr<Command> make_data_generate(std::string_view) {
  return std::make_unique<GenerateCommand>();
}

}  // namespace castor::cli

// castor predict: what a model expects of pairs.
#include <algorithm>

#include "cli/catalog.h"
#include "cli/inputs.h"
#include "cli/rows.h"
#include "core/text.h"
#include "programs/mf_model.h"

namespace castor::cli {
namespace {

// By index in `from`: the index of the same id in `to`, or npos.
std::vector<std::uint32_t> translated(const data::IdMap& from, const data::IdMap& to) {
  std::vector<std::uint32_t> indices(from.size());
  for (std::uint32_t i = 0; i < from.size(); ++i) indices[i] = to.find(from.text(i));
  return indices;
}

class PredictCommand final : public Command {
 public:
  Spec spec() override {
    return {
        .description =
            "Reads lines of user and item, and writes each with the rating the model expects, in "
            "the "
            "same order. Further columns are ignored. A user or item that the model does not know "
            "is "
            "predicted by what is left: the mean, and the bias of the one it knows.",
        .examples = {"castor predict model --data pairs.tsv --out predictions.tsv",
                     "printf 'ann\\tTitanic\\n' | castor predict model --data -"},
        .positionals = {model_argument(&model_)},
        .groups = {{"Options",
                    {{.name = "data",
                      .target = &read_.paths,
                      .help = "pairs to predict; '-' is standard input",
                      .unit = "file",
                      .required = true},
                     out_option(&out_),
                     {.name = "clip",
                      .target = &clip_,
                      .help = "keep predictions between the least and the greatest rating that was "
                              "trained on"},
                     threads_option(&threads_)}},
                   reading_group(read_, {"no_value", "value_column", "duplicates"})}};
  }

  Status check() const override { return check_plain_name("--out", out_); }

  Status run(const Context& context) override {
    world::Files& files = context.world.files();
    TRY_AS(const programs::MfModel model, programs::load_model(files, model_));
    world::Pool pool(thread_count(threads_));
    ReadProgress progress(context.world, context.output);
    read_.progress = [&](std::uint64_t read, std::uint64_t total) { progress(read, total); };
    read_.no_value = true;
    TRY_AS(const data::Ratings pairs, data::read_ratings(files, pool, read_));
    note_warnings(pairs.stats, context.output);
    return write(context, model, pairs);
  }

 private:
  Status write(const Context& context, const programs::MfModel& model, const data::Ratings& pairs) {
    const auto users = translated(pairs.users, model.users);
    const auto items = translated(pairs.items, model.items);
    TRY_AS(Rows rows, Rows::open(context, out_));
    if (!context.shared.json) TRY(rows.row({"user", "item", "prediction"}));
    for (const data::Rating& pair : pairs.ratings) {
      float value = model.predict(users[pair.user], items[pair.item]);
      if (clip_) value = std::clamp(value, model.value_least, model.value_most);
      const std::string user = pairs.users.text(pair.user), item = pairs.items.text(pair.item);
      if (context.shared.json) {
        Json line;
        line.set("user", user).set("item", item).set("prediction", as_written(value));
        TRY(rows.line(line.dump()));
      } else {
        TRY(rows.row({user, item, shortest(value)}));
      }
    }
    return rows.finish();
  }

  std::string model_, out_;
  data::ReadOptions read_;
  bool clip_ = false;
  std::int64_t threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_predict(std::string_view) {
  return std::make_unique<PredictCommand>();
}

}  // namespace castor::cli

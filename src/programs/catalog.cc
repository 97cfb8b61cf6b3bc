#include "programs/catalog.h"

#include <algorithm>

#include "programs/mf_train.h"

namespace castor::programs {
namespace {

class MfTrainer final : public Trainer {
 public:
  std::vector<OptionGroup> options() override {
    std::vector<OptionGroup> groups = {{"What goes in and out", {}},
                                       {"How to run", {}},
                                       {"Model and solver", fields(options_.model)},
                                       {"Reading ratings", data::fields(options_.read)}};
    for (Field& field : fields(options_)) {
      if (is_in(groups[2].fields, field) || is_in(groups[3].fields, field)) continue;
      static constexpr std::string_view data_names[] = {"data", "test", "validation", "out",
                                                        "warm_start"};
      const bool is_data = std::ranges::find(data_names, field.name) != std::end(data_names);
      groups[is_data ? 0 : 1].fields.push_back(std::move(field));
    }
    return groups;
  }

  Status check() const override { return programs::check(options_.model); }

  Result<Json> train(world::World& world, const Log& log, const TrainerCalls& calls) override {
    return train_mf(world, log, options_,
                    {calls.on_event, calls.on_read, calls.stop_requested, calls.castor_version});
  }

 private:
  static bool is_in(std::span<const Field> fields, const Field& field) {
    return std::ranges::find(fields, field.name, &Field::name) != fields.end();
  }

  MfTrainOptions options_;
};

constexpr std::string_view mf_examples[] = {
    "castor train mf --data ratings.tsv --out model",
    "castor train mf --data train.csv.gz --test test.csv.gz --out model --rank 64 --clocks 40",
    "castor train mf --data plays.tsv --out model --solver als --implicit --l2 plain",
    "castor train mf --data big.tsv --out model --checkpoint-every 60 --resume",
};

constexpr ProgramEntry entries[] = {
    {"mf", "matrix factorization of ratings: what would a user think of an item?",
     "Learns a vector of --rank numbers for every user and every item, so that the product of two "
     "of "
     "them predicts the rating. Ratings are lines of user, item and value; ids are any text. The "
     "model goes to a folder of NumPy arrays and id lists that 'castor evaluate', 'castor "
     "recommend' "
     "and 'castor predict' read.\n\n"
     "The same ratings, options and seed give the same model, bit for bit, with any number of "
     "threads "
     "(not with --schedule grid).\n\n"
     "Ctrl-C stops at the next clock with a checkpoint, and says how to go on.",
     mf_examples, []() -> std::unique_ptr<Trainer> { return std::make_unique<MfTrainer>(); }},
};

}  // namespace

std::span<const ProgramEntry> programs() { return entries; }

}  // namespace castor::programs

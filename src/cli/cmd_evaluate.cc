// castor evaluate: the error of a model on ratings.
#include <algorithm>

#include "cli/catalog.h"
#include "cli/inputs.h"
#include "core/text.h"
#include "programs/mf_errors.h"
#include "programs/mf_model.h"
#include "programs/ranking.h"

namespace castor::cli {
namespace {

struct Quality {
  programs::Errors all, known;
};

Json to_json(const Quality& quality, const data::KnownRatings& ratings) {
  Json object;
  object.set("ratings", quality.all.count).set("rmse", quality.all.rmse());
  object.set("mae", quality.all.mae()).set("known", quality.known.count);
  if (quality.known.count > 0) {
    object.set("known_rmse", quality.known.rmse()).set("known_mae", quality.known.mae());
  }
  object.set("unknown_users", ratings.unknown_users).set("unknown_items", ratings.unknown_items);
  return object;
}

std::string to_text(const Quality& quality, const data::KnownRatings& ratings) {
  std::string out = text("ratings   {}\n", grouped(quality.all.count));
  out += text("RMSE      {:.4f}\nMAE       {:.4f}\n", quality.all.rmse(), quality.all.mae());
  if (quality.known.count == quality.all.count) return out;
  out += text("unknown   {} ratings by users and {} of items that are not in the model\n",
              grouped(ratings.unknown_users), grouped(ratings.unknown_items));
  if (quality.known.count == 0) return out;
  return out + text("without   RMSE {:.4f}, MAE {:.4f} on the other {}\n", quality.known.rmse(),
                    quality.known.mae(), grouped(quality.known.count));
}

struct Ranking {
  std::int64_t top = 10;
  programs::RankingTotals model, popularity;
};

Json to_json(const Ranking& ranking) {
  Json object;
  object.set("top", ranking.top).set("users", ranking.model.users);
  object.set("recall", ranking.model.recall()).set("ndcg", ranking.model.ndcg());
  object.set("popularity_recall", ranking.popularity.recall());
  return object.set("popularity_ndcg", ranking.popularity.ndcg());
}

std::string to_text(const Ranking& ranking) {
  return text("ranking   of {} users by their best {}\n", grouped(ranking.model.users),
              ranking.top) +
         text("          {:<12}  {:>9}  {:>9}\n", "", text("recall@{}", ranking.top),
              text("NDCG@{}", ranking.top)) +
         text("          {:<12}  {:>9.4f}  {:>9.4f}\n", "the model", ranking.model.recall(),
              ranking.model.ndcg()) +
         text("          {:<12}  {:>9.4f}  {:>9.4f}\n", "popularity", ranking.popularity.recall(),
              ranking.popularity.ndcg());
}

class EvaluateCommand final : public Command {
 public:
  Spec spec() override {
    return {
        .description =
            "Reads ratings, predicts each, and says how far off the model is. A user or "
            "item that the model does not know is predicted by what is left: the mean, "
            "and the bias of the one it knows.",
        .examples = {"castor evaluate model --data test.tsv",
                     "castor evaluate model --data test.csv.gz --ranking --top 20 --json"},
        .positionals = {model_argument(&model_)},
        .groups = {
            {"Options",
             {{.name = "data",
               .target = &read_.paths,
               .help = "ratings to compare with; '-' is standard input",
               .unit = "file",
               .required = true},
              {.name = "ranking",
               .target = &ranking_,
               .help = "also how well its best items are those that users turned to, beside the "
                       "most popular ones"},
              {.name = "top",
               .target = &top_,
               .help = "ranking: items for each user",
               .minimum = 1,
               .maximum = 1e6},
              {.name = "relevant_above",
               .target = &relevant_above_,
               .help = "ranking: users turned to what they rated above this"},
              threads_option(&threads_)}},
            reading_group(read_)}};
  }

  Status run(const Context& context) override {
    world::Files& files = context.world.files();
    TRY_AS(const programs::MfModel model, programs::load_model(files, model_));
    TRY(check_against(model));
    world::Pool pool(thread_count(threads_));
    ReadProgress progress(context.world, context.output);
    read_.progress = [&](std::uint64_t read, std::uint64_t total) { progress(read, total); };
    TRY_AS(data::KnownRatings ratings,
           data::read_ratings_known(files, pool, read_, model.users, model.items));
    note_warnings(ratings.stats, context.output);
    Json object;
    std::string words;
    if (!model.factors.implicit) {
      const Quality quality = quality_of(model, ratings, pool);
      object = to_json(quality, ratings);
      words = to_text(quality, ratings);
    }
    if (ranking_) {
      const Ranking ranking = ranking_of(model, ratings, pool);
      object.set("ranking", to_json(ranking));
      words += to_text(ranking);
    }
    context.output.result(context.shared.json ? object.dump() + "\n" : words);
    return {};
  }

 private:
  Status check_against(const programs::MfModel& model) const {
    if (model.factors.implicit && !ranking_) {
      return error(Code::unsupported,
                   "'{}' was trained with --implicit and predicts preferences, not ratings: give "
                   "--ranking",
                   model_);
    }
    if (ranking_ && model.seen.offsets.empty()) {
      return error(Code::unsupported,
                   "'{}' was trained with --no-seen: --ranking needs to know what users had rated",
                   model_);
    }
    return {};
  }

  static Quality quality_of(const programs::MfModel& model, const data::KnownRatings& ratings,
                            world::Pool& pool) {
    Quality quality;
    quality.all = programs::errors_of(model.factors, ratings.ratings, pool);
    if (ratings.known == ratings.ratings.size()) {
      quality.known = quality.all;
      return quality;
    }
    std::vector<data::Rating> known;
    for (const data::Rating& rating : ratings.ratings) {
      const bool is_known = rating.user != data::IdMap::npos && rating.item != data::IdMap::npos;
      if (is_known) known.push_back(rating);
    }
    quality.known = programs::errors_of(model.factors, known, pool);
    return quality;
  }

  Ranking ranking_of(const programs::MfModel& model, const data::KnownRatings& ratings,
                     world::Pool& pool) const {
    const std::uint32_t items = model.items.size();
    const programs::TestLists lists(ratings.ratings, model.seen, model.users.size(),
                                    static_cast<float>(relevant_above_));
    const std::vector<float> popular = programs::popularity_scores(model.seen, items);
    const auto by_model = [&](std::span<const programs::RankedUser> users,
                              std::span<float> scores) {
      programs::score_factors(model.factors, users, scores);
    };
    const auto by_popularity = [&](std::span<const programs::RankedUser> users,
                                   std::span<float> scores) {
      for (std::size_t i = 0; i < users.size(); ++i) {
        std::ranges::copy(popular, scores.begin() + static_cast<std::ptrdiff_t>(i * items));
      }
    };
    const auto count = static_cast<std::size_t>(top_);
    return {top_, programs::rank_in_parallel(lists, items, count, by_model, pool),
            programs::rank_in_parallel(lists, items, count, by_popularity, pool)};
  }

  std::string model_;
  data::ReadOptions read_;
  bool ranking_ = false;
  std::int64_t top_ = 10;
  double relevant_above_ = 0;
  std::int64_t threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_evaluate(std::string_view) {
  return std::make_unique<EvaluateCommand>();
}

}  // namespace castor::cli

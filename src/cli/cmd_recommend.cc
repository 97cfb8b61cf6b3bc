// castor recommend: the best items for users, without those they have rated.
#include <algorithm>

#include "cli/catalog.h"
#include "cli/inputs.h"
#include "cli/rows.h"
#include "core/text.h"
#include "programs/mf_model.h"
#include "programs/ranking.h"

namespace castor::cli {
namespace {

constexpr std::size_t batch_users = 4096;  // whose recommendations are held at once
constexpr std::size_t scores_at_once = std::size_t{1} << 20;  // of a thread: 4 MB

struct Options {
  std::string model;
  std::vector<std::string> user;
  std::string users;
  bool all_users = false;
  std::int64_t top = 10;
  bool include_seen = false;
  std::vector<std::string> exclude;
  std::string out;
  std::int64_t threads = 0;
  data::ReadOptions read;  // of exclude
};

// Pairs by user: each user's items in ascending order.
class ExcludedPairs {
 public:
  ExcludedPairs() = default;
  explicit ExcludedPairs(std::vector<data::Rating> pairs) : pairs_(std::move(pairs)) {
    std::ranges::sort(pairs_, [](const data::Rating& a, const data::Rating& b) {
      return a.user != b.user ? a.user < b.user : a.item < b.item;
    });
  }

  void append_of(std::uint32_t user, std::vector<std::uint32_t>& items) const {
    auto at = std::ranges::lower_bound(pairs_, user, {}, &data::Rating::user);
    for (; at != pairs_.end() && at->user == user; ++at) {
      if (at->item != data::IdMap::npos) items.push_back(at->item);
    }
  }

 private:
  std::vector<data::Rating> pairs_;
};

class RecommendCommand final : public Command {
 public:
  Spec spec() override;
  Status check() const override;
  Status run(const Context& context) override;

 private:
  Result<std::vector<std::uint32_t>> chosen_users(world::Files& files,
                                                  const programs::MfModel& model) const;
  Result<ExcludedPairs> read_excluded(const Context& context, world::Pool& pool,
                                      const programs::MfModel& model);
  void fill_best(const programs::MfModel& model, const ExcludedPairs& excluded,
                 std::span<const std::uint32_t> users,
                 std::span<std::vector<programs::Recommendation>> best) const;
  Status write(Rows& rows, const programs::MfModel& model, std::uint32_t user,
               std::span<const programs::Recommendation> items, bool json) const;

  Options options_;
};

Spec RecommendCommand::spec() {
  Options& o = options_;
  return {
      .description =
          "Lists, for each user, the items with the highest predictions, best first, without those "
          "the "
          "model was trained on. Rows are user, item and score; with --json there is one object a "
          "user.",
      .examples = {"castor recommend model --user 42",
                   "castor recommend model --user ann bob --top 5 --json",
                   "castor recommend model --all-users --exclude bought.tsv --out best.tsv"},
      .positionals = {model_argument(&o.model)},
      .groups = {
          {"For whom",
           {{.name = "user", .target = &o.user, .help = "ids of users", .unit = "id"},
            {.name = "users",
             .target = &o.users,
             .help = "file with one user id a line; '-' is standard input",
             .unit = "file"},
            {.name = "all_users", .target = &o.all_users, .help = "every user of the model"}}},
          {"What",
           {{.name = "top",
             .target = &o.top,
             .help = "items for each user",
             .minimum = 1,
             .maximum = 1e9},
            {.name = "include_seen",
             .target = &o.include_seen,
             .help = "also items that the user had rated in the training"},
            {.name = "exclude",
             .target = &o.exclude,
             .help = "files with lines of user and item that must not be recommended",
             .unit = "file"},
            out_option(&o.out),
            threads_option(&o.threads)}},
          {.title = "Reading --exclude",
           .fields = reading_group(o.read, {"no_value", "value_column", "duplicates"}).fields}}};
}

Status RecommendCommand::check() const {
  const int ways = (options_.user.empty() ? 0 : 1) + (options_.users.empty() ? 0 : 1) +
                   (options_.all_users ? 1 : 0);
  if (ways == 0) {
    return error(Code::invalid, "for whom? Give --user ID, --users FILE or --all-users");
  }
  if (ways > 1) return error(Code::invalid, "give one of --user, --users and --all-users");
  return check_plain_name("--out", options_.out);
}

Result<std::vector<std::uint32_t>> RecommendCommand::chosen_users(
    world::Files& files, const programs::MfModel& model) const {
  std::vector<std::uint32_t> users;
  if (options_.all_users) {
    for (std::uint32_t user = 0; user < model.users.size(); ++user) users.push_back(user);
    return users;
  }
  for (const std::string& id : options_.user) {
    users.push_back(model.users.find(id));
    if (users.back() == data::IdMap::npos) {
      return error(Code::not_found, "user '{}' is not in the model", printable(id));
    }
  }
  if (options_.users.empty()) return users;
  TRY_AS(const auto lines, read_lines(files, options_.users));
  for (const NumberedLine& line : lines) {
    users.push_back(model.users.find(line.text));
    if (users.back() == data::IdMap::npos) {
      return error(Code::not_found, "{}:{}: user '{}' is not in the model", options_.users,
                   line.number, printable(line.text));
    }
  }
  if (users.empty()) return error(Code::invalid, "{}: no user ids in it", options_.users);
  return users;
}

Result<ExcludedPairs> RecommendCommand::read_excluded(const Context& context, world::Pool& pool,
                                                      const programs::MfModel& model) {
  if (options_.exclude.empty()) return ExcludedPairs();
  ReadProgress progress(context.world, context.output);
  options_.read.progress = [&](std::uint64_t read, std::uint64_t total) { progress(read, total); };
  options_.read.paths = options_.exclude;
  options_.read.no_value = true;
  TRY_AS(data::KnownRatings pairs,
         data::read_ratings_known(context.world.files(), pool, options_.read, model.users,
                                  model.items));
  note_warnings(pairs.stats, context.output);
  return ExcludedPairs(std::move(pairs.ratings));
}

// Users together, because the items then stay in the cache for all of them.
void RecommendCommand::fill_best(const programs::MfModel& model, const ExcludedPairs& excluded,
                                 std::span<const std::uint32_t> users,
                                 std::span<std::vector<programs::Recommendation>> best) const {
  const std::size_t items = model.items.size();
  std::vector<std::vector<std::uint32_t>> left_out(users.size());
  std::vector<programs::RankedUser> ranked(users.size());
  for (std::size_t i = 0; i < users.size(); ++i) {
    if (!options_.include_seen) {
      const auto seen = model.seen.of(users[i]);
      left_out[i].assign(seen.begin(), seen.end());
    }
    excluded.append_of(users[i], left_out[i]);
    std::ranges::sort(left_out[i]);
    ranked[i] = {.user = users[i], .seen = left_out[i], .relevant = {}};
  }
  std::vector<float> scores(users.size() * items);
  programs::score_factors(model.factors, ranked, scores);
  for (std::size_t i = 0; i < users.size(); ++i) {
    const std::span<const float> own = std::span(scores).subspan(i * items, items);
    const auto top = static_cast<std::size_t>(options_.top);
    for (const std::uint32_t item : programs::best_items(own, top, left_out[i])) {
      best[i].push_back({item, own[item]});
    }
  }
}

Status RecommendCommand::write(Rows& rows, const programs::MfModel& model, std::uint32_t user,
                               std::span<const programs::Recommendation> items, bool json) const {
  const std::string id = model.users.text(user);
  if (!json) {
    for (const auto& [item, score] : items) {
      TRY(rows.row({id, model.items.text(item), shortest(score)}));
    }
    return {};
  }
  Json list{Json::Array{}};
  for (const auto& [item, score] : items) {
    list.push(Json().set("item", model.items.text(item)).set("score", as_written(score)));
  }
  return rows.line(Json().set("user", id).set("items", std::move(list)).dump());
}

Status RecommendCommand::run(const Context& context) {
  world::Files& files = context.world.files();
  TRY_AS(const programs::MfModel model, programs::load_model(files, options_.model));
  if (model.seen.offsets.empty() && !options_.include_seen && options_.exclude.empty()) {
    return error(
        Code::invalid,
        "the model was trained with --no-seen, so it cannot leave out what users have rated: "
        "give --exclude FILE or --include-seen");
  }
  TRY_AS(const auto users, chosen_users(files, model));
  world::Pool pool(thread_count(options_.threads));
  TRY_AS(const ExcludedPairs excluded, read_excluded(context, pool, model));
  TRY_AS(Rows rows, Rows::open(context, options_.out));
  const bool json = context.shared.json;
  if (!json) TRY(rows.row({"user", "item", "score"}));
  const std::size_t together = std::clamp<std::size_t>(scores_at_once / model.items.size(), 1, 32);
  for (std::size_t first = 0; first < users.size(); first += batch_users) {
    const std::size_t count = std::min(batch_users, users.size() - first);
    std::vector<std::vector<programs::Recommendation>> found(count);
    pool.run(count, together, [&](std::size_t begin, std::size_t end) {
      fill_best(model, excluded, std::span(users).subspan(first + begin, end - begin),
                std::span(found).subspan(begin, end - begin));
    });
    for (std::size_t i = 0; i < count; ++i) {
      TRY(write(rows, model, users[first + i], found[i], json));
    }
    const double done = static_cast<double>(first + count) / static_cast<double>(users.size());
    context.output.status(text("recommending {:.0f} %", 100 * done));
  }
  return rows.finish();
}

}  // namespace

std::unique_ptr<Command> make_recommend(std::string_view) {
  return std::make_unique<RecommendCommand>();
}

}  // namespace castor::cli

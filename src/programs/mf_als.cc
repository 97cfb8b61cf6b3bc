// Matrix factorisation by alternating least squares: in one clock every shard solves for its band
// of users while all items stand still, in the next for its band of items while all users do. A
// pass is two clocks. Row solvers: kernels/als.h.
//
// Implicit feedback weighs all pairs, the unobserved ones through the Gram matrix of a side: each
// task leaves that of the band it has just solved in a block of its own, and who needs the whole
// adds the blocks up in order.
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/als.h"
#include "kernels/mf_sgd.h"
#include "programs/mf_sides.h"
#include "programs/ranking.h"

namespace castor::programs {
namespace {

constexpr Clock clocks_per_pass = 2;
// Test users whose ranking is looked at after a pass; `castor evaluate` looks at all of them.
// Positions are random, so the first of each shard are a random sample: recall@10 of 2,000 users
// has a standard error of about 0.005.
constexpr std::uint32_t ranked_users_max = 2000;

struct Problem {
  const MfInput& input;
  const MfOptions& options;
  const MfFactors* start;
  std::uint32_t rank;
  std::size_t stride;
  float scale;   // of ratings; factors carry its square root
  float lambda;  // in scaled units
  bool by_degree() const { return options.pays_by_degree(); }
};

// Test users of a shard with their seen and test items, by item index, ascending.
struct RankedBand {
  std::vector<std::uint32_t> users;  // by place in the band
  std::vector<std::vector<std::uint32_t>> seen, relevant;
};

class MfAls {
 public:
  MfAls(const Problem& problem, Job& job, SidePieces pieces)
      : problem_(problem), pieces_(std::move(pieces)) {
    const auto wide = static_cast<std::uint32_t>(problem.stride);
    const auto add_side = [&](SideRole role, std::string name) {
      TableSpec spec{.name = std::move(name),
                     .rows = side_of(problem.input, role).count(),
                     .width = wide,
                     .sharing = Sharing::leased,
                     .blocks = problem.input.shards};
      return job.table<Dense<float>>(std::move(spec),
                                     [this, role](RowId row, std::span<float> out, Rng& rng) {
                                       start(role, static_cast<std::uint32_t>(row), out, rng);
                                     });
    };
    users_.rows = add_side(SideRole::users, "users");
    items_.rows = add_side(SideRole::items, "items");
    if (problem.options.implicit) {
      const auto add_gram = [&](std::string name) {
        return job.table<Dense<float>>({.name = std::move(name),
                                        .rows = problem.stride * problem.input.shards,
                                        .width = wide,
                                        .sharing = Sharing::leased,
                                        .blocks = problem.input.shards});
      };
      users_.gram = add_gram("users_gram");
      items_.gram = add_gram("items_gram");
    }
    const MfInput& input = problem.input;
    test_ = job.data<Probe>("test",
                            [&input](ShardId shard) { return probe_of(input, input.test, shard); });
    validation_ = job.data<Probe>(
        "validation", [&input](ShardId shard) { return probe_of(input, input.validation, shard); });
    ranked_ = job.data<RankedBand>("ranked", [this](ShardId shard) { return ranked_of(shard); });
  }

  Schedule schedule() { return sweep({.batches = clocks_per_pass}); }

  void touches(TouchSet& touch, const Task& task) {
    const SideTables &mine = solved_at(task.clock), &others = held_at(task.clock);
    if (task.shard < mine.rows.blocks()) touch.lease(mine.rows, task.shard);
    touch.read(others.rows);
    if (!problem_.options.implicit) return;
    touch.lease(mine.gram, task.shard);
    touch.read(others.gram);
  }

  // The Gram matrices of the start.
  void init(TaskContext& context) {
    if (!problem_.options.implicit) return;
    for (const SideTables* side : {&users_, &items_}) write_gram(context, *side);
  }

  void push(TaskContext& context, const Task& task) {
    const SideTables &mine = solved_at(task.clock), &others = held_at(task.clock);
    if (task.shard >= mine.rows.blocks()) return;
    const OtherList list = all_rows(context, others);
    const auto view = context.lease(mine.rows, task.shard);
    const std::span<float> rows(view.data(), view.rows() * problem_.stride);
    const kernels::RatedRows ratings = ratings_of(mine, task.shard);
    kernels::AlsScratch scratch(problem_.rank);
    kernels::AlsParameters parameters;
    parameters.rank = problem_.rank;
    parameters.lambda = problem_.lambda;
    parameters.by_degree = problem_.by_degree();
    if (!problem_.options.implicit) {
      kernels::als_solve(ratings, list.rows(), rows, parameters, scratch);
      return;
    }
    parameters.cg_steps = static_cast<std::uint32_t>(problem_.options.cg_steps);
    const AlignedVector<float> gram = whole_gram(context, others);
    kernels::als_cg(ratings, list.rows(), gram.span(), rows, parameters, scratch);
    write_gram(context, mine);
  }

  std::vector<MetricSpec> metrics() {
    std::vector<MetricSpec> specs = {{.name = "objective", .combine = Combine::sum}};
    const bool has_test = problem_.input.test.size() > 0;
    if (problem_.options.implicit) {
      if (has_test) {
        specs.push_back({.name = "test_recall_at_10",
                         .combine = Combine::mean,
                         .direction = Direction::higher_is_better});
      }
      return specs;
    }
    specs.push_back({.name = "train_rmse", .combine = Combine::root_mean});
    if (has_test) specs.push_back({.name = "test_rmse", .combine = Combine::root_mean});
    if (problem_.input.validation.size() > 0) {
      specs.push_back({.name = "validation_rmse", .combine = Combine::root_mean});
    }
    return specs;
  }

  void metric(TaskContext& context, std::span<MetricPart> parts) {
    const OtherList list = all_rows(context, items_);
    const std::span<const float> mine = band_rows(context, users_, context.shard());
    const kernels::RatedRows ratings = ratings_of(users_, context.shard());
    if (problem_.options.implicit) {
      const double observed =
          kernels::als_implicit_error(ratings, list.rows(), mine, problem_.rank);
      parts[0] = {observed + all_pairs(context) + penalty(context), 1};
      if (problem_.input.test.size() > 0) parts[1] = recall(context);
      return;
    }
    const double units = double{problem_.scale} * problem_.scale;
    const double squared = kernels::als_squared_error(ratings, list.rows(), mine, problem_.rank);
    parts[0] = {units * (squared + penalty(context)), 1};
    parts[1] = {units * squared, static_cast<double>(ratings.columns.size())};
    auto items = [&](std::uint32_t band) { return band_rows(context, items_, band); };
    auto measured = [&](const Data<Probe>& probe) {
      return probe_error(context.data(probe), problem_.input, problem_.rank, problem_.scale, mine,
                         items);
    };
    std::size_t next = 2;
    if (problem_.input.test.size() > 0) parts[next++] = measured(test_);
    if (problem_.input.validation.size() > 0) parts[next++] = measured(validation_);
  }

  // The model by index, in units of the ratings as given.
  MfFactors factors(Job& job) {
    const MfInput& input = problem_.input;
    MfFactors result;
    result.rank = problem_.rank;
    result.mean = static_cast<float>(input.mean);
    result.implicit = problem_.options.implicit;
    result.user_rows = AlignedVector<float>(input.users.count() * problem_.stride);
    result.item_rows = AlignedVector<float>(input.items.count() * problem_.stride);
    job.inspect([&](TaskContext& context) {
      const ShardId shard = context.shard();
      copy_by_index(input.users, band_of(input.users.count(), input.shards, shard).first,
                    band_rows(context, users_, shard), problem_.stride, problem_.scale,
                    result.user_rows.span());
      copy_by_index(input.items, band_of(input.items.count(), input.shards, shard).first,
                    band_rows(context, items_, shard), problem_.stride, problem_.scale,
                    result.item_rows.span());
    });
    return result;
  }

 private:
  struct SideTables {
    Table<Dense<float>> rows;
    Table<Dense<float>> gram;  // implicit: block d is the Gram matrix of band d
  };
  // Where the rows of a side are.
  struct OtherList {
    std::vector<const float*> blocks;
    std::uint32_t block_rows, count;
    kernels::OtherRows rows() const { return {blocks, block_rows, count}; }
  };

  const SideTables& solved_at(Clock clock) const { return clock % 2 == 0 ? users_ : items_; }
  const SideTables& held_at(Clock clock) const { return clock % 2 == 0 ? items_ : users_; }

  kernels::RatedRows ratings_of(const SideTables& side, ShardId shard) const {
    const SidePiece& piece = &side == &users_ ? pieces_.users[shard] : pieces_.items[shard];
    return {piece.begin, piece.columns.span(), piece.values.span()};
  }

  // A row before the first clock. Users are solved for first, so only their warm start matters.
  void start(SideRole role, std::uint32_t position, std::span<float> row, Rng& rng) const {
    const Side& side = side_of(problem_.input, role);
    std::vector<float> uniforms(problem_.rank);
    for (float& value : uniforms) value = rng.uniform_float();
    if (side.degree[position] == 0) return;
    const std::span<const float> given = given_row(problem_.input, problem_.start, role, position);
    for (std::size_t k = 0; k < given.size(); ++k) row[k] = given[k] / std::sqrt(problem_.scale);
    if (!given.empty()) return;
    if (role == SideRole::users) return;
    kernels::MfStart how;
    how.rank = problem_.rank;
    how.product =
        problem_.options.implicit ? 0 : static_cast<float>(problem_.input.mean) / problem_.scale;
    kernels::start_row(row, kernels::MfRole::item, how, uniforms);
  }

  OtherList all_rows(TaskContext& context, const SideTables& side) const {
    OtherList list;
    for (BlockId block = 0; block < side.rows.blocks(); ++block) {
      list.blocks.push_back(context.read(side.rows, block).data());
    }
    const auto [first, last] = side.rows.range(0);
    list.block_rows = static_cast<std::uint32_t>(last - first);
    list.count = static_cast<std::uint32_t>(side.rows.rows());
    return list;
  }
  std::span<const float> band_rows(TaskContext& context, const SideTables& side,
                                   std::uint32_t band) const {
    if (band >= side.rows.blocks()) return {};
    const auto view = context.read(side.rows, band);
    return {view.data(), view.rows() * problem_.stride};
  }

  // ---- Implicit feedback

  void write_gram(TaskContext& context, const SideTables& side) const {
    const auto out = context.lease(side.gram, context.shard());
    kernels::als_gram(band_rows(context, side, context.shard()), problem_.rank,
                      {out.data(), problem_.stride * problem_.stride});
  }
  AlignedVector<float> whole_gram(TaskContext& context, const SideTables& side) const {
    const std::size_t size = problem_.stride * problem_.stride;
    std::vector<double> sum(size, 0);
    for (BlockId block = 0; block < side.gram.blocks(); ++block) {
      const float* part = context.read(side.gram, block).data();
      for (std::size_t i = 0; i < size; ++i) sum[i] += part[i];
    }
    AlignedVector<float> gram(size);
    for (std::size_t i = 0; i < size; ++i) gram[i] = static_cast<float>(sum[i]);
    return gram;
  }
  // This shard's part of the sum over all pairs of (x.y)^2: all users with its band of items.
  double all_pairs(TaskContext& context) const {
    const AlignedVector<float> users = whole_gram(context, users_);
    const float* items = context.read(items_.gram, context.shard()).data();
    double sum = 0;
    for (std::size_t i = 0; i < users.size(); ++i) sum += double{users[i]} * items[i];
    return sum;
  }

  RankedBand ranked_of(ShardId shard) const {
    const MfInput& input = problem_.input;
    RankedBand ranked;
    if (!problem_.options.implicit || input.test.size() == 0) return ranked;
    const Band band = band_of(input.users.count(), input.shards, shard);
    std::vector<std::vector<std::uint32_t>> relevant(band.count);
    const SidePiece& piece = pieces_.users[shard];
    for (const kernels::MfRating& rating : input.test.of(shard)) {
      if (rating.user == data::IdMap::npos || rating.item == data::IdMap::npos ||
          rating.rating <= 0)
        continue;
      relevant[rating.user - band.first].push_back(rating.item);
    }
    const std::uint32_t most = (ranked_users_max + input.shards - 1) / input.shards;
    for (std::uint32_t user = 0; user < band.count && ranked.users.size() < most; ++user) {
      std::vector<std::uint32_t> seen;
      for (std::uint64_t i = piece.begin[user]; i < piece.begin[user + 1]; ++i) {
        seen.push_back(static_cast<std::uint32_t>(piece.columns[i]));
      }
      std::erase_if(relevant[user],
                    [&](std::uint32_t item) { return std::ranges::binary_search(seen, item); });
      if (relevant[user].empty()) continue;
      for (auto* items : {&seen, &relevant[user]}) {
        for (std::uint32_t& item : *items) item = input.items.index_at[item];
        std::ranges::sort(*items);
        items->erase(std::ranges::unique(*items).begin(), items->end());
      }
      ranked.users.push_back(user);
      ranked.seen.push_back(std::move(seen));
      ranked.relevant.push_back(std::move(relevant[user]));
    }
    return ranked;
  }

  MetricPart recall(TaskContext& context) const {
    const RankedBand& ranked = context.data(ranked_);
    std::vector<RankedUser> users;
    for (std::size_t i = 0; i < ranked.users.size(); ++i) {
      users.push_back({ranked.users[i], ranked.seen[i], ranked.relevant[i]});
    }
    const RankingTotals totals =
        rank_users(users, problem_.input.items.count(), 10,
                   [&](std::span<const RankedUser> some, std::span<float> scores) {
                     score(context, some, scores);
                   });
    return {totals.recall_sum, static_cast<double>(totals.users)};
  }

  // Scores by item index; items that were never trained are never recommended.
  void score(TaskContext& context, std::span<const RankedUser> users,
             std::span<float> scores) const {
    const MfInput& input = problem_.input;
    const std::span<const float> band = band_rows(context, users_, context.shard());
    AlignedVector<float> rows(users.size() * problem_.stride);
    for (std::size_t i = 0; i < users.size(); ++i) {
      std::ranges::copy(band.subspan(users[i].user * problem_.stride, problem_.stride),
                        rows.begin() + i * problem_.stride);
    }
    kernels::MfModel model;
    model.rank = problem_.rank;
    model.user_rows = rows.span();
    std::uint32_t position = 0;
    for (BlockId block = 0; block < items_.rows.blocks(); ++block) {
      model.item_rows = band_rows(context, items_, block);
      const std::size_t count = model.item_rows.size() / problem_.stride;
      std::vector<float> part(users.size() * count);
      kernels::mf_scores(model, part);
      for (std::size_t item = 0; item < count; ++item, ++position) {
        const bool is_trained = input.items.degree[position] > 0;
        for (std::size_t i = 0; i < users.size(); ++i) {
          scores[i * input.items.count() + input.items.index_at[position]] =
              is_trained ? part[i * count + item] : -std::numeric_limits<float>::infinity();
        }
      }
    }
  }

  // The L2 of this shard's users and items, in scaled units.
  double penalty(TaskContext& context) const {
    double sum = 0;
    for (const SideRole role : {SideRole::users, SideRole::items}) {
      const Side& side = side_of(problem_.input, role);
      const Band band = band_of(side.count(), problem_.input.shards, context.shard());
      sum +=
          penalty_of(band_rows(context, role == SideRole::users ? users_ : items_, context.shard()),
                     problem_.stride, std::span(side.degree).subspan(band.first, band.count),
                     problem_.by_degree());
    }
    return problem_.lambda * sum;
  }

  const Problem problem_;
  const SidePieces pieces_;
  SideTables users_, items_;
  Data<Probe> test_, validation_;
  Data<RankedBand> ranked_;
};

}  // namespace

Result<MfFit> fit_als(const MfInput& input, const MfOptions& options, const MfSetting& setting) {
  const auto rank = static_cast<std::uint32_t>(options.rank);
  CHECK(setting.start == nullptr || setting.start->rank == rank, "a start of rank {}",
        setting.start->rank);
  const float scale = options.implicit ? 1 : static_cast<float>(input.deviation);
  const Problem problem{input,
                        options,
                        setting.start,
                        rank,
                        kernels::mf_stride(rank),
                        scale,
                        static_cast<float>(options.lambda) / scale};
  TRY_AS(Job job, Job::open(setting.world, setting.log,
                            {.shards = input.shards,
                             .threads = setting.threads,
                             .seed = static_cast<std::uint64_t>(options.seed)}));
  SideRule rule{.scale = scale};
  if (options.implicit) rule = {.scale = static_cast<float>(1 / options.confidence), .merge = true};
  MfAls program(problem, job, side_pieces(input, rule, job.pool()));
  RunOptions run = setting.run;
  run.clocks = options.clocks;
  run = in_clocks(std::move(run), clocks_per_pass);
  run.identity = identity_of(input, options);
  MfFit fit;
  TRY_AS(fit.report, job.run(program, run));
  fit.report = in_passes(std::move(fit.report), clocks_per_pass);
  fit.factors = program.factors(job);
  return fit;
}

}  // namespace castor::programs

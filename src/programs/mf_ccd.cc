// Matrix factorisation by CCD++: one coordinate of all rows of one side in a clock, then of the
// other side (kernels/ccd.h). A coordinate takes `inner` rounds of two clocks, a pass all
// coordinates.
//
// The coordinates of a band of rows are consecutive rows of a table, so that a sweep streams
// through memory. The side with fewer rows goes first: the other one then has to look up three
// values a rating in the shorter vectors, and two in the longer ones.
#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/ccd.h"
#include "kernels/mf_sgd.h"
#include "programs/mf_sides.h"

namespace castor::programs {
namespace {

struct Problem {
  const MfInput& input;
  const MfOptions& options;
  const MfFactors* start;
  std::uint32_t rank, inner;
  float scale;   // of ratings; factors carry its square root
  float lambda;  // in scaled units
  SideRole first, second;

  bool by_degree() const { return options.pays_by_degree(); }
  // With one coordinate there is no previous one: residuals stay the ratings.
  bool renews() const { return rank > 1; }
  Clock clocks_per_pass() const { return Clock{2} * rank * inner; }
  Band band(SideRole role, ShardId shard) const {
    return band_of(side_of(input, role).count(), input.shards, shard);
  }
};

// What a clock is about.
struct Step {
  std::uint32_t coordinate, before;
  std::uint32_t round;
  SideRole side;
};

Step step_of(const Problem& problem, Clock clock) {
  const auto place = static_cast<std::uint32_t>(clock % problem.clocks_per_pass());
  Step step{};
  step.coordinate = place / (2 * problem.inner);
  step.before = (step.coordinate + problem.rank - 1) % problem.rank;
  step.round = place / 2 % problem.inner;
  step.side = place % 2 == 0 ? problem.first : problem.second;
  return step;
}

// The ratings of a shard less the products of all coordinates but one: the present one of the side
// that was updated last. In the order of either side.
struct Residuals {
  AlignedVector<float> users, items;

  void encode(ByteWriter& out) const {
    out.put_array(users.span());
    out.put_array(items.span());
  }
  void decode(ByteReader& in) {
    users = in.get_aligned<float>();
    items = in.get_aligned<float>();
  }
  AlignedVector<float>& of(SideRole role) { return role == SideRole::users ? users : items; }
};

class MfCcd {
 public:
  MfCcd(const Problem& problem, Job& job, SidePieces pieces)
      : problem_(problem), pieces_(std::move(pieces)) {
    const auto add_side = [&](SideRole role, std::string name) {
      TableSpec spec{.name = std::move(name),
                     .rows = std::uint64_t{problem.input.shards} * block_rows(),
                     .width = problem.band(role, 0).count,
                     .sharing = Sharing::leased,
                     .blocks = problem.input.shards};
      return job.table<Dense<float>>(
          std::move(spec),
          [this, role](RowId row, std::span<float> out, Rng& rng) { start(role, row, out, rng); });
    };
    users_ = add_side(SideRole::users, "users");
    items_ = add_side(SideRole::items, "items");
    residuals_ = job.state<Residuals>("residuals");
    const MfInput& input = problem.input;
    test_ = job.data<Probe>("test",
                            [&input](ShardId shard) { return probe_of(input, input.test, shard); });
    validation_ = job.data<Probe>(
        "validation", [&input](ShardId shard) { return probe_of(input, input.validation, shard); });
  }

  Schedule schedule() {
    return sweep({.batches = static_cast<std::uint32_t>(problem_.clocks_per_pass())});
  }

  void touches(TouchSet& touch, const Task& task) {
    const SideRole side = step_of(problem_, task.clock).side;
    touch.lease(table(side), task.shard);
    touch.read(table(other(side)));
  }

  // REQUIRES: called once; the ratings are not needed afterwards.
  void init(TaskContext& context) {
    Residuals& residuals = context.state(residuals_);
    residuals.users = std::move(pieces_.users[context.shard()].values);
    residuals.items = std::move(pieces_.items[context.shard()].values);
    if (problem_.start == nullptr) return;  // the first side is 0
    for (std::uint32_t k = 0; k + 1 < problem_.rank; ++k) {
      for (const SideRole role : {SideRole::users, SideRole::items}) {
        ccd_subtract(rows_of(context, role, k), whole(context, other(role), k).span());
      }
    }
  }

  Status push(TaskContext& context, const Task& task) {
    const Step step = step_of(problem_, task.clock);
    const SideRole others = other(step.side);
    kernels::CcdRows rows = rows_of(context, step.side, step.coordinate);
    if (rows.residuals.size() != rows.columns.size()) {
      return error(Code::corrupt, "{} residuals for {} ratings", rows.residuals.size(),
                   rows.columns.size());
    }
    const kernels::CcdParameters parameters{problem_.lambda, problem_.by_degree()};
    rows.x_before =
        std::span(block_row(context, step.side, task.shard, step.before)).first(rows.x.size());
    const bool is_first = step.side == problem_.first,
               renews = step.round == 0 && problem_.renews();
    if (is_first && renews) {
      std::ranges::copy(rows.x, block_row(context, step.side, task.shard, saved_row()).begin());
      ccd_first(rows, pairs(context, others, step.before, step.coordinate).span(), parameters);
    } else if (renews) {
      ccd_second(rows, pairs(context, others, step.before, saved_row()).span(),
                 whole(context, others, step.coordinate).span(), parameters);
    } else {
      ccd_again(rows, whole(context, others, step.coordinate).span(), parameters);
    }
    return {};
  }

  std::vector<MetricSpec> metrics() {
    std::vector<MetricSpec> specs = {{.name = "objective", .combine = Combine::sum},
                                     {.name = "train_rmse", .combine = Combine::root_mean}};
    if (problem_.input.test.size() > 0) {
      specs.push_back({.name = "test_rmse", .combine = Combine::root_mean});
    }
    if (problem_.input.validation.size() > 0) {
      specs.push_back({.name = "validation_rmse", .combine = Combine::root_mean});
    }
    return specs;
  }

  // At the end of a pass, where residuals leave out the last coordinate.
  void metric(TaskContext& context, std::span<MetricPart> parts) {
    const std::uint32_t last = problem_.rank - 1;
    const kernels::CcdRows rows = rows_of(context, SideRole::users, last);
    const double squared = ccd_squared_error(rows, whole(context, SideRole::items, last).span());
    const double units = double{problem_.scale} * problem_.scale;
    parts[0] = {units * (squared + penalty(context)), 1};
    parts[1] = {units * squared, static_cast<double>(rows.columns.size())};
    const AlignedVector<float> users = row_major(context, SideRole::users, context.shard());
    AlignedVector<float> items;
    auto items_of = [&](std::uint32_t band) -> std::span<const float> {
      items = row_major(context, SideRole::items, band);
      return items.span();
    };
    auto measured = [&](const Data<Probe>& probe) {
      return probe_error(context.data(probe), problem_.input, problem_.rank, problem_.scale,
                         users.span(), items_of);
    };
    std::size_t next = 2;
    if (problem_.input.test.size() > 0) parts[next++] = measured(test_);
    if (problem_.input.validation.size() > 0) parts[next++] = measured(validation_);
  }

  // The model by index, in units of the ratings as given.
  MfFactors factors(Job& job) {
    const MfInput& input = problem_.input;
    const std::size_t stride = kernels::mf_stride(problem_.rank);
    MfFactors result;
    result.rank = problem_.rank;
    result.mean = static_cast<float>(input.mean);
    result.user_rows = AlignedVector<float>(input.users.count() * stride);
    result.item_rows = AlignedVector<float>(input.items.count() * stride);
    job.inspect([&](TaskContext& context) {
      const ShardId shard = context.shard();
      copy_by_index(input.users, problem_.band(SideRole::users, shard).first,
                    row_major(context, SideRole::users, shard).span(), stride, problem_.scale,
                    result.user_rows.span());
      copy_by_index(input.items, problem_.band(SideRole::items, shard).first,
                    row_major(context, SideRole::items, shard).span(), stride, problem_.scale,
                    result.item_rows.span());
    });
    return result;
  }

 private:
  static SideRole other(SideRole role) {
    return role == SideRole::users ? SideRole::items : SideRole::users;
  }
  const Table<Dense<float>>& table(SideRole role) const {
    return role == SideRole::users ? users_ : items_;
  }

  // A block has a row a coordinate, and one for what the first side was before the present one
  // changed.
  std::uint32_t block_rows() const { return problem_.rank + 1; }
  std::uint32_t saved_row() const { return problem_.rank; }

  std::span<float> block_row(TaskContext& context, SideRole role, ShardId shard,
                             std::uint32_t row) const {
    return context.lease(table(role), shard)[std::uint64_t{shard} * block_rows() + row];
  }

  // This shard's rows of a side with coordinate k.
  kernels::CcdRows rows_of(TaskContext& context, SideRole role, std::uint32_t k) const {
    const ShardId shard = context.shard();
    const SidePiece& piece = role == SideRole::users ? pieces_.users[shard] : pieces_.items[shard];
    return {.begin = piece.begin,
            .columns = piece.columns.span(),
            .residuals = context.state(residuals_).of(role).span(),
            .x = block_row(context, role, shard, k).first(problem_.band(role, shard).count)};
  }

  // f(place, value) for coordinate k of all rows of a side.
  template <class F>
  void each(TaskContext& context, SideRole role, std::uint32_t k, F&& f) const {
    std::size_t place = 0;
    for (ShardId shard = 0; shard < problem_.input.shards; ++shard) {
      const std::span<const float> row =
          context.read(table(role), shard)[std::uint64_t{shard} * block_rows() + k];
      const std::uint32_t count = problem_.band(role, shard).count;
      for (std::uint32_t i = 0; i < count; ++i) f(place++, row[i]);
    }
  }
  // Values that a task looks up all over, next to each other.
  struct Vector {
    std::unique_ptr<float[]> values;
    std::size_t size;
    std::span<const float> span() const { return {values.get(), size}; }
  };
  Vector whole(TaskContext& context, SideRole role, std::uint32_t k) const {
    const std::size_t count = side_of(problem_.input, role).count();
    Vector result{std::make_unique_for_overwrite<float[]>(count), count};
    each(context, role, k, [&](std::size_t place, float value) { result.values[place] = value; });
    return result;
  }
  Vector pairs(TaskContext& context, SideRole role, std::uint32_t left, std::uint32_t right) const {
    const std::size_t count = std::size_t{2} * side_of(problem_.input, role).count();
    Vector result{std::make_unique_for_overwrite<float[]>(count), count};
    each(context, role, left,
         [&](std::size_t place, float value) { result.values[2 * place] = value; });
    each(context, role, right,
         [&](std::size_t place, float value) { result.values[2 * place + 1] = value; });
    return result;
  }

  AlignedVector<float> row_major(TaskContext& context, SideRole role, ShardId shard) const {
    const std::size_t stride = kernels::mf_stride(problem_.rank);
    const std::uint32_t count = problem_.band(role, shard).count;
    AlignedVector<float> rows(count * stride);
    for (std::uint32_t k = 0; k < problem_.rank; ++k) {
      const std::span<const float> values =
          context.read(table(role), shard)[std::uint64_t{shard} * block_rows() + k];
      for (std::uint32_t i = 0; i < count; ++i) rows[i * stride + k] = values[i];
    }
    return rows;
  }

  // One coordinate of a band before the first clock: that of a warm start; or 0 for the side that
  // is updated first, and for the other one random but for the first coordinate, whose products
  // with what the first side will be are the mean. So both sides come out equally long, which L2
  // wants: with uniform random values the objective is a third higher after 5 passes over 18
  // million ratings.
  void start(SideRole role, RowId row, std::span<float> out, Rng& rng) const {
    const auto shard = static_cast<ShardId>(row / block_rows());
    const auto k = static_cast<std::uint32_t>(row % block_rows());
    if (k == saved_row()) return;
    const Side& side = side_of(problem_.input, role);
    const Band band = problem_.band(role, shard);
    const float length = 1 / std::sqrt(static_cast<float>(problem_.rank));
    const float level =
        std::sqrt(std::abs(static_cast<float>(problem_.input.mean)) / problem_.scale);
    const bool is_level = k == 0 && level > length;
    for (std::uint32_t i = 0; i < band.count; ++i) {
      const float random = length * static_cast<float>(rng.normal());
      if (side.degree[band.first + i] == 0) continue;
      const std::span<const float> given =
          given_row(problem_.input, problem_.start, role, band.first + i);
      if (!given.empty()) {
        out[i] = given[k] / std::sqrt(problem_.scale);
      } else if (role == problem_.second) {
        out[i] = is_level ? level : random;
      }
    }
  }
  double penalty(TaskContext& context) const {
    double sum = 0;
    for (const SideRole role : {SideRole::users, SideRole::items}) {
      const Band band = problem_.band(role, context.shard());
      sum += penalty_of(
          row_major(context, role, context.shard()).span(), kernels::mf_stride(problem_.rank),
          std::span(side_of(problem_.input, role).degree).subspan(band.first, band.count),
          problem_.by_degree());
    }
    return problem_.lambda * sum;
  }

  const Problem problem_;
  SidePieces pieces_;
  Table<Dense<float>> users_, items_;
  State<Residuals> residuals_;
  Data<Probe> test_, validation_;
};

}  // namespace

Result<MfFit> fit_ccd(const MfInput& input, const MfOptions& options, const MfSetting& setting) {
  CHECK(setting.start == nullptr || setting.start->rank == options.rank, "a start of rank {}",
        setting.start->rank);
  const bool few_items = input.items.count() <= input.users.count();
  const auto scale = static_cast<float>(input.deviation);
  const Problem problem{.input = input,
                        .options = options,
                        .start = setting.start,
                        .rank = static_cast<std::uint32_t>(options.rank),
                        .inner = static_cast<std::uint32_t>(options.inner),
                        .scale = scale,
                        .lambda = static_cast<float>(options.lambda) / scale,
                        .first = few_items ? SideRole::items : SideRole::users,
                        .second = few_items ? SideRole::users : SideRole::items};
  TRY_AS(Job job, Job::open(setting.world, setting.log,
                            {.shards = input.shards,
                             .threads = setting.threads,
                             .seed = static_cast<std::uint64_t>(options.seed)}));
  MfCcd program(problem, job, side_pieces(input, {.scale = scale}, job.pool()));
  RunOptions run = setting.run;
  run.clocks = options.clocks;
  run = in_clocks(std::move(run), problem.clocks_per_pass());
  run.identity = identity_of(input, options);
  MfFit fit;
  TRY_AS(fit.report, job.run(program, run));
  fit.report = in_passes(std::move(fit.report), problem.clocks_per_pass());
  fit.factors = program.factors(job);
  return fit;
}

}  // namespace castor::programs

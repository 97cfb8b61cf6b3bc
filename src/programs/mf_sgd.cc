// Matrix factorisation by stochastic gradient descent on strata: user rows live with their shard,
// item rows are leased block by block, so no two tasks that run at once share a row (Gemulla et
// al., "Large-scale matrix factorization with distributed stochastic gradient descent", KDD 2011).
// Step and update: kernels/mf_sgd.h. Ratings are divided by their standard deviation while
// training.
#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/mf_sgd.h"
#include "programs/mf_solver.h"

namespace castor::programs {
namespace {

constexpr ShardId start_stream = ~ShardId{0} - 0x20000;

struct Problem {
  const MfInput& input;
  const MfOptions& options;
  const MfFactors* start;
  std::uint32_t rank, blocks, block_rows;
  std::size_t stride;
  float scale;  // of ratings and biases: deviation; factors carry its square root
  bool is_plain() const { return !options.pays_by_degree(); }
};

// The part of the model that lives with a shard of users.
struct UserBand {
  AlignedVector<float> rows;
  std::vector<kernels::MfUserSide> sides;
  std::vector<kernels::MfBias> biases;
  Clock clock = -1;          // of the tasks that squared_error is summed over
  double squared_error = 0;  // seen during the pass, each just before its update

  void encode(ByteWriter& out) const {
    out.put_array(rows.span());
    encode_pairs(out, sides,
                 [](const kernels::MfUserSide& s) { return std::pair(s.sum_slow, s.sum_fast); });
    encode_pairs(out, biases, [](const kernels::MfBias& b) { return std::pair(b.value, b.sum); });
    out.put(clock);
    out.put(squared_error);
  }
  void decode(ByteReader& in) {
    rows = in.get_aligned<float>();
    decode_pairs(in, sides, [](float a, float b) { return kernels::MfUserSide{a, b}; });
    decode_pairs(in, biases, [](float a, float b) { return kernels::MfBias{a, b}; });
    clock = in.get<Clock>();
    squared_error = in.get<double>();
  }

 private:
  template <class T, class F>
  static void encode_pairs(ByteWriter& out, const std::vector<T>& values, F&& pair_of) {
    std::vector<float> flat;
    for (const T& value : values) {
      const auto [first, second] = pair_of(value);
      flat.insert(flat.end(), {first, second});
    }
    out.put_array(std::span<const float>(flat));
  }
  template <class T, class F>
  static void decode_pairs(ByteReader& in, std::vector<T>& values, F&& make) {
    const auto flat = in.get_array<float>();
    values.clear();
    for (std::size_t i = 0; i + 1 < flat.size(); i += 2)
      values.push_back(make(flat[i], flat[i + 1]));
  }
};

// Ratings of a shard that only measure the model, grouped by item block; users and items local.
struct Probe {
  std::vector<std::vector<kernels::MfRating>> blocks;
  std::vector<kernels::MfRating>
      unknown;  // user or item not in the training set (npos); by position
};

class MfSgd {
 public:
  MfSgd(const Problem& problem, Job& job) : problem_(problem) {
    const auto wide = static_cast<std::uint32_t>(problem.stride);
    const auto leased = [&](std::string name, std::uint32_t width) {
      return TableSpec{.name = std::move(name),
                       .rows = problem.input.items.count(),
                       .width = width,
                       .sharing = Sharing::leased,
                       .blocks = problem.blocks};
    };
    items_ = job.table<Dense<float>>(
        leased("items", wide),
        [this](RowId row, std::span<float> out, Rng& rng) { start_item(row, out, rng); });
    item_sides_ =
        job.table<Dense<float>>(leased("item_sides", 4), [](RowId, std::span<float> out, Rng&) {
          out[0] = out[2] = 1;  // the sums start at 1; the norms are set at every visit
        });
    if (problem.options.biases) {
      item_biases_ = job.table<Dense<float>>(
          leased("item_biases", 2), [this](RowId row, std::span<float> out, Rng&) {
            out[0] = start_bias(Role::item, static_cast<std::uint32_t>(row));
            out[1] = 1;
          });
    }
    users_ = job.state<UserBand>("users");
    layout_ =
        job.data<kernels::MfLayout>("ratings", [this](ShardId shard) { return layout_of(shard); });
    test_ = job.data<Probe>("test",
                            [this](ShardId shard) { return probe_of(problem_.input.test, shard); });
    validation_ = job.data<Probe>(
        "validation", [this](ShardId shard) { return probe_of(problem_.input.validation, shard); });
    item_inverse_degrees_ = inverse_degrees(problem.input.items);
    user_inverse_degrees_ = inverse_degrees(problem.input.users);
  }

  Schedule schedule() {
    if (problem_.options.schedule == "grid") return grid(items_);
    return rotate(items_);
  }

  void touches(TouchSet& touch, const Task& task) {
    touch.lease(items_, task.block);
    touch.lease(item_sides_, task.block);
    if (problem_.options.biases) touch.lease(item_biases_, task.block);
  }

  void init(TaskContext& context) {
    UserBand& band = context.state(users_);
    const Band rows = users_of(context.shard());
    band.rows = AlignedVector<float>(rows.count * problem_.stride);
    band.sides.assign(rows.count, {1, 1});
    if (problem_.options.biases) band.biases.assign(rows.count, {0, 1});
    for (std::uint32_t i = 0; i < rows.count; ++i) {
      const std::uint32_t position = rows.first + i;
      start(Role::user, position, band.rows.span().subspan(i * problem_.stride, problem_.stride),
            context.rng());
      if (problem_.options.biases) band.biases[i].value = start_bias(Role::user, position);
    }
  }

  Status push(TaskContext& context, const Task& task) {
    UserBand& band = context.state(users_);
    TRY(check_band(band, users_of(task.shard)));
    if (std::exchange(band.clock, task.clock) != task.clock) band.squared_error = 0;
    const kernels::MfBlock block = context.data(layout_).block(task.block);
    if (block.runs.empty()) return {};  // also a shard without users
    const kernels::MfTables tables = tables_of(context, band, task.block);
    kernels::refresh_norms(tables.item_rows, problem_.rank, tables.item_sides);
    const MfOptions& options = problem_.options;
    kernels::MfParameters parameters;
    parameters.rank = problem_.rank;
    parameters.rate =
        static_cast<float>(options.rate * std::pow(options.decay, static_cast<double>(task.clock)));
    parameters.lambda = static_cast<float>(options.lambda) / problem_.scale;
    parameters.lambda_bias = static_cast<float>(options.lambda_bias);
    parameters.mean = options.biases ? mean() : 0;
    band.squared_error += kernels::mf_sgd(block, tables, parameters);
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

  void metric(TaskContext& context, std::span<MetricPart> parts) {
    const UserBand& band = context.state(users_);
    const double units = double{problem_.scale} * problem_.scale;
    const auto count = static_cast<double>(context.data(layout_).ratings.size());
    // Before the first clock no error has been seen: not a number, rather than none.
    const double seen = band.clock < 0 ? std::nan("") : band.squared_error;
    parts[0] = {units * (seen + penalty(context, band)), 1};
    parts[1] = {units * seen, count};
    std::size_t next = 2;
    if (problem_.input.test.size() > 0) parts[next++] = measured(context, context.data(test_));
    if (problem_.input.validation.size() > 0) {
      parts[next++] = measured(context, context.data(validation_));
    }
  }

  // The model by index, in units of the ratings as given.
  MfFactors factors(Job& job) {
    MfFactors result;
    result.rank = problem_.rank;
    result.mean = static_cast<float>(problem_.input.mean);
    const Side &users = problem_.input.users, &items = problem_.input.items;
    result.user_rows = AlignedVector<float>(users.count() * problem_.stride);
    result.item_rows = AlignedVector<float>(items.count() * problem_.stride);
    if (problem_.options.biases) {
      result.user_biases.resize(users.count());
      result.item_biases.resize(items.count());
    }
    bool items_done = false;
    job.inspect([&](TaskContext& context) {
      const UserBand& band = context.state(users_);
      const Band rows = users_of(context.shard());
      for (std::uint32_t i = 0; i < rows.count; ++i) {
        const std::uint32_t index = users.index_at[rows.first + i];
        scaled_copy(band.rows.span().subspan(i * problem_.stride, problem_.stride),
                    result.user_rows.span().subspan(index * problem_.stride, problem_.stride));
        if (!band.biases.empty())
          result.user_biases[index] = {band.biases[i].value * problem_.scale, 1};
      }
      if (std::exchange(items_done, true)) return;
      for (BlockId block = 0; block < items_.blocks(); ++block) copy_items(context, block, result);
    });
    return result;
  }

 private:
  enum class Role : std::uint8_t { user, item };

  // State comes from a checkpoint too, and a file can say anything.
  Status check_band(const UserBand& band, const Band& rows) const {
    const std::size_t biases = problem_.options.biases ? rows.count : 0;
    if (band.rows.size() == rows.count * problem_.stride && band.sides.size() == rows.count &&
        band.biases.size() == biases) {
      return {};
    }
    return error(Code::corrupt, "the shard's {} users do not have the rows of rank {}", rows.count,
                 problem_.rank);
  }

  Band users_of(ShardId shard) const {
    return band_of(problem_.input.users.count(), problem_.input.shards, shard);
  }
  float mean() const { return static_cast<float>(problem_.input.mean) / problem_.scale; }

  std::vector<float> inverse_degrees(const Side& side) const {
    std::vector<float> result;
    if (!problem_.is_plain()) return result;
    for (const std::uint32_t degree : side.degree) {
      result.push_back(degree == 0 ? 0.F : 1.F / static_cast<float>(degree));
    }
    return result;
  }

  const Side& side(Role role) const {
    return role == Role::user ? problem_.input.users : problem_.input.items;
  }

  // A row before the first clock: zero when never trained, the given one for a warm start, else
  // drawn.
  void start(Role role, std::uint32_t position, std::span<float> row, Rng& rng) const {
    std::vector<float> uniforms(problem_.rank);
    for (float& value : uniforms) value = rng.uniform_float();
    if (side(role).degree[position] == 0) return;
    if (problem_.start != nullptr) {
      const std::uint32_t index = side(role).index_at[position];
      const AlignedVector<float>& rows =
          role == Role::user ? problem_.start->user_rows : problem_.start->item_rows;
      const std::span<const float> given =
          rows.span().subspan(index * problem_.stride, problem_.stride);
      if (std::ranges::any_of(given, [](float value) { return value != 0; })) {
        const float factor = 1 / std::sqrt(problem_.scale);
        for (std::size_t k = 0; k < row.size(); ++k) row[k] = given[k] * factor;
        return;
      }
    }
    kernels::MfStart how;
    how.rank = problem_.rank;
    how.product = problem_.options.biases ? 0 : mean();
    kernels::start_row(row, role == Role::user ? kernels::MfRole::user : kernels::MfRole::item, how,
                       uniforms);
  }
  void start_item(RowId row, std::span<float> out, Rng& rng) const {
    start(Role::item, static_cast<std::uint32_t>(row), out, rng);
  }
  float start_bias(Role role, std::uint32_t position) const {
    if (problem_.start == nullptr) return 0;
    const auto& biases =
        role == Role::user ? problem_.start->user_biases : problem_.start->item_biases;
    return biases.empty() ? 0 : biases[side(role).index_at[position]].value / problem_.scale;
  }

  Result<kernels::MfLayout> layout_of(ShardId shard) const {
    const Band rows = users_of(shard);
    const std::span<const kernels::MfRating> given = problem_.input.train.of(shard);
    std::vector<kernels::MfRating> local(given.begin(), given.end());
    for (kernels::MfRating& rating : local) {
      rating.user -= rows.first;
      rating.rating /= problem_.scale;
    }
    std::vector<std::uint32_t> starts;
    for (BlockId block = 0; block < items_.blocks(); ++block) {
      starts.push_back(static_cast<std::uint32_t>(items_.range(block).first));
    }
    starts.push_back(problem_.input.items.count());
    const auto seed = static_cast<std::uint64_t>(problem_.options.seed);
    const std::uint64_t base = mix64(mix64(seed) ^ (std::uint64_t{start_stream} << 32 | shard));
    return kernels::build_layout(local, {rows.count, starts},
                                 [base](std::uint64_t i) { return mix64(base + i); });
  }

  Probe probe_of(const ShardedRatings& ratings, ShardId shard) const {
    Probe probe;
    probe.blocks.resize(items_.blocks());
    if (ratings.size() == 0) return probe;
    const Band rows = users_of(shard);
    for (const kernels::MfRating& rating : ratings.of(shard)) {
      if (rating.user == data::IdMap::npos || rating.item == data::IdMap::npos) {
        probe.unknown.push_back(rating);
        continue;
      }
      const BlockId block = items_.block_of(rating.item);
      probe.blocks[block].push_back(
          {rating.user - rows.first,
           rating.item - static_cast<std::uint32_t>(items_.range(block).first), rating.rating});
    }
    return probe;
  }

  kernels::MfTables tables_of(TaskContext& context, UserBand& band, BlockId block) const {
    const Band rows = users_of(context.shard());
    const auto [first, last] = items_.range(block);
    const std::size_t count = last - first;
    kernels::MfTables tables;
    tables.user_rows = band.rows.span();
    tables.user_sides = band.sides;
    tables.item_rows = {context.lease(items_, block).data(), count * problem_.stride};
    // Rows of four and two floats, packed: laid out as the kernels' records are.
    tables.item_sides = {
        reinterpret_cast<kernels::MfItemSide*>(context.lease(item_sides_, block).data()), count};
    if (problem_.options.biases) {
      tables.user_biases = band.biases;
      tables.item_biases = {
          reinterpret_cast<kernels::MfBias*>(context.lease(item_biases_, block).data()), count};
    }
    if (problem_.is_plain()) {
      tables.user_inverse_degrees =
          std::span(user_inverse_degrees_).subspan(rows.first, rows.count);
      tables.item_inverse_degrees = std::span(item_inverse_degrees_).subspan(first, count);
    }
    return tables;
  }

  kernels::MfModel model_of(TaskContext& context, const UserBand& band, BlockId block) const {
    const auto [first, last] = items_.range(block);
    const std::size_t count = last - first;
    kernels::MfModel model;
    model.rank = problem_.rank;
    model.user_rows = band.rows.span();
    model.item_rows = {context.read(items_, block).data(), count * problem_.stride};
    model.scale = problem_.scale;
    if (problem_.options.biases) {
      model.user_biases = band.biases;
      model.item_biases = {
          reinterpret_cast<const kernels::MfBias*>(context.read(item_biases_, block).data()),
          count};
      model.shift = static_cast<float>(problem_.input.mean);
    } else {
      model.absent = mean();
    }
    return model;
  }

  MetricPart measured(TaskContext& context, const Probe& probe) const {
    const UserBand& band = context.state(users_);
    MetricPart part;
    for (BlockId block = 0; block < items_.blocks(); ++block) {
      const auto& ratings = probe.blocks[block];
      part.sum += kernels::mf_errors(ratings, model_of(context, band, block)).squared;
      part.weight += static_cast<double>(ratings.size());
    }
    for (const kernels::MfRating& rating : probe.unknown) {
      const double wrong = rating.rating - predicted_unknown(context, band, rating);
      part.sum += wrong * wrong;
      part.weight += 1;
    }
    return part;
  }

  // As predict_unknown() of mf_errors.h, from the tables.
  double predicted_unknown(TaskContext& context, const UserBand& band,
                           const kernels::MfRating& rating) const {
    double value = problem_.input.mean;
    if (!problem_.options.biases) return value;
    if (rating.user != data::IdMap::npos) {
      value += band.biases[rating.user - users_of(context.shard()).first].value * problem_.scale;
    }
    if (rating.item != data::IdMap::npos) {
      const BlockId block = item_biases_.block_of(rating.item);
      value += context.read(item_biases_, block)[rating.item][0] * problem_.scale;
    }
    return value;
  }

  // The L2 of this shard's users and of every shards-th item block, in scaled units.
  double penalty(TaskContext& context, const UserBand& band) const {
    const double lambda = problem_.options.lambda / problem_.scale;
    auto weight = [this](std::uint32_t degree) {
      return problem_.is_plain() ? (degree > 0 ? 1.0 : 0.0) : static_cast<double>(degree);
    };
    auto square = [](std::span<const float> row) {
      double sum = 0;
      for (const float value : row) sum += double{value} * value;
      return sum;
    };
    double rows_sum = 0, bias_sum = 0;
    const Band rows = users_of(context.shard());
    for (std::uint32_t i = 0; i < rows.count; ++i) {
      const double paid = weight(problem_.input.users.degree[rows.first + i]);
      rows_sum += paid * square(band.rows.span().subspan(i * problem_.stride, problem_.stride));
      if (!band.biases.empty()) bias_sum += paid * band.biases[i].value * band.biases[i].value;
    }
    for (BlockId block = context.shard(); block < items_.blocks(); block += context.shards()) {
      const auto view = context.read(items_, block);
      for (RowId row = view.first(); row < view.first() + view.rows(); ++row) {
        const double paid = weight(problem_.input.items.degree[row]);
        rows_sum += paid * square(view[row]);
        if (!problem_.options.biases) continue;
        const float bias = context.read(item_biases_, block)[row][0];
        bias_sum += paid * bias * bias;
      }
    }
    return lambda * rows_sum + problem_.options.lambda_bias * bias_sum;
  }

  void scaled_copy(std::span<const float> from, std::span<float> to) const {
    const float factor = std::sqrt(problem_.scale);
    for (std::size_t k = 0; k < from.size(); ++k) to[k] = from[k] * factor;
  }
  void copy_items(TaskContext& context, BlockId block, MfFactors& result) const {
    const auto view = context.read(items_, block);
    for (RowId row = view.first(); row < view.first() + view.rows(); ++row) {
      const std::uint32_t index = problem_.input.items.index_at[row];
      scaled_copy(view[row],
                  result.item_rows.span().subspan(index * problem_.stride, problem_.stride));
      if (!problem_.options.biases) continue;
      result.item_biases[index] = {context.read(item_biases_, block)[row][0] * problem_.scale, 1};
    }
  }

  const Problem problem_;
  Table<Dense<float>> items_, item_sides_, item_biases_;
  State<UserBand> users_;
  Data<kernels::MfLayout> layout_;
  Data<Probe> test_, validation_;
  std::vector<float> user_inverse_degrees_, item_inverse_degrees_;
};

}  // namespace

Result<MfFit> fit_sgd(const MfInput& input, const MfOptions& options, const MfSetting& setting) {
  Problem problem{input, options, setting.start, static_cast<std::uint32_t>(options.rank), 0, 0,
                  0,     1};
  problem.blocks = blocks_for(options, input.items.count());
  problem.stride = kernels::mf_stride(problem.rank);
  problem.scale = static_cast<float>(input.deviation);
  TRY_AS(Job job, Job::open(setting.world, setting.log,
                            {.shards = input.shards,
                             .threads = setting.threads,
                             .seed = static_cast<std::uint64_t>(options.seed)}));
  MfSgd program(problem, job);
  RunOptions run = setting.run;
  run.clocks = options.clocks;
  run.identity = identity_of(input, options);
  MfFit fit;
  TRY_AS(fit.report, job.run(program, run));
  fit.factors = program.factors(job);
  return fit;
}

}  // namespace castor::programs

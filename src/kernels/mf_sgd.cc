#include "kernels/mf_sgd.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "kernels/mf_sgd_lanes.h"

namespace castor::kernels {
namespace {

// Eight floats without any vector instruction named: the compiler uses the baseline ones.
struct Lanes {
  float v[8];

  static Lanes load(const float* from) {
    Lanes r;
    for (int i = 0; i < 8; ++i) r.v[i] = from[i];
    return r;
  }
  static Lanes all(float value) {
    Lanes r;
    for (float& x : r.v) x = value;
    return r;
  }
  void store(float* to) const {
    for (int i = 0; i < 8; ++i) to[i] = v[i];
  }
  static Lanes inverse_root(Lanes a) {
    for (float& x : a.v) x = 1 / std::sqrt(x);
    return a;
  }
  float sum() const { return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])); }
  static Lanes sums(const Lanes (&rows)[8]) {
    Lanes r;
    for (int i = 0; i < 8; ++i) r.v[i] = rows[i].sum();
    return r;
  }
};

inline Lanes operator+(Lanes a, const Lanes& b) {
  for (int i = 0; i < 8; ++i) a.v[i] += b.v[i];
  return a;
}
inline Lanes operator-(Lanes a, const Lanes& b) {
  for (int i = 0; i < 8; ++i) a.v[i] -= b.v[i];
  return a;
}
inline Lanes operator*(Lanes a, const Lanes& b) {
  for (int i = 0; i < 8; ++i) a.v[i] *= b.v[i];
  return a;
}
inline Lanes fma(const Lanes& a, const Lanes& b, Lanes c) {
  for (int i = 0; i < 8; ++i) c.v[i] += a.v[i] * b.v[i];
  return c;
}

bool is_aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 64 == 0; }

void check_sizes(const MfBlock& block, const MfTables& tables, const MfParameters& parameters) {
  const std::size_t stride = mf_stride(parameters.rank);
  const std::size_t users = tables.user_sides.size(), items = tables.item_sides.size();
  CHECK(parameters.rank >= 1 && parameters.rank <= mf_rank_max, "rank {}", parameters.rank);
  CHECK(tables.user_rows.size() == users * stride, "{} floats for {} users, stride {}",
        tables.user_rows.size(), users, stride);
  CHECK(tables.item_rows.size() == items * stride, "{} floats for {} items, stride {}",
        tables.item_rows.size(), items, stride);
  CHECK(items <= mf_block_rows_max, "{} items in a block", items);
  CHECK(is_aligned(tables.user_rows.data()) && is_aligned(tables.item_rows.data()));
  CHECK(tables.user_biases.empty() == tables.item_biases.empty());
  CHECK(tables.user_biases.empty() ||
        (tables.user_biases.size() == users && tables.item_biases.size() == items));
  CHECK(tables.user_inverse_degrees.empty() == tables.item_inverse_degrees.empty());
  CHECK(tables.user_inverse_degrees.empty() || (tables.user_inverse_degrees.size() == users &&
                                                tables.item_inverse_degrees.size() == items));
  CHECK(block.items.size() == block.ratings.size(), "{} items, {} ratings", block.items.size(),
        block.ratings.size());
  CHECK((block.runs.empty() ? 0 : block.runs.back().end) == block.items.size());
}

// Within the loops of the kernels nothing can be checked: development builds look at everything
// before.
void dcheck_indices([[maybe_unused]] const MfBlock& block,
                    [[maybe_unused]] const MfTables& tables) {
#ifdef CASTOR_DCHECK
  for (const MfRun& run : block.runs) {
    DCHECK(run.user < tables.user_sides.size(), "user {}", run.user);
    DCHECK(run.end <= block.items.size(), "end {}", run.end);
  }
  for (std::uint16_t item : block.items) DCHECK(item < tables.item_sides.size(), "item {}", item);
#endif
}

MfSgdCall call_of(const MfBlock& block, const MfTables& tables, const MfParameters& parameters) {
  const std::uint32_t slow = std::min(parameters.rank, mf_slow_count);
  const std::uint32_t fast = parameters.rank - slow;
  return {.runs = block.runs.data(),
          .run_count = block.runs.size(),
          .items = block.items.data(),
          .ratings = block.ratings.data(),
          .rating_count = block.ratings.size(),
          .user_rows = tables.user_rows.data(),
          .item_rows = tables.item_rows.data(),
          .user_sides = tables.user_sides.data(),
          .item_sides = tables.item_sides.data(),
          .user_biases = tables.user_biases.empty() ? nullptr : tables.user_biases.data(),
          .item_biases = tables.item_biases.empty() ? nullptr : tables.item_biases.data(),
          .user_inverse_degrees =
              tables.user_inverse_degrees.empty() ? nullptr : tables.user_inverse_degrees.data(),
          .item_inverse_degrees =
              tables.item_inverse_degrees.empty() ? nullptr : tables.item_inverse_degrees.data(),
          .groups = static_cast<std::uint32_t>(mf_stride(parameters.rank) / 16),
          .inverse_slow = 1.0F / static_cast<float>(slow),
          .inverse_fast = fast == 0 ? 0.0F : 1.0F / static_cast<float>(fast),
          .rate = parameters.rate,
          .lambda = parameters.lambda,
          .lambda_bias = parameters.lambda_bias,
          .mean = parameters.mean};
}

float squared_norm(std::span<const float> values) {
  double sum = 0;
  for (float x : values) sum += static_cast<double>(x) * static_cast<double>(x);
  return static_cast<float>(sum);
}

}  // namespace

double mf_sgd_portable(const MfSgdCall& call) { return mf_sgd_lanes<Lanes>(call); }

double mf_sgd(const MfBlock& block, const MfTables& tables, const MfParameters& parameters,
              InstructionSet set) {
  check_sizes(block, tables, parameters);
  dcheck_indices(block, tables);
  CHECK(may_run(set), "{}", name_of(set));
  const MfSgdCall call = call_of(block, tables, parameters);
  switch (set) {
    case InstructionSet::portable: return mf_sgd_portable(call);
    case InstructionSet::avx2: return mf_sgd_avx2(call);
    case InstructionSet::avx512: return mf_sgd_avx512(call);
  }
  return 0;
}

void refresh_norms(std::span<const float> item_rows, std::uint32_t rank,
                   std::span<MfItemSide> item_sides) {
  const std::size_t stride = mf_stride(rank);
  CHECK(item_rows.size() == item_sides.size() * stride, "{} floats for {} items, stride {}",
        item_rows.size(), item_sides.size(), stride);
  for (std::size_t i = 0; i < item_sides.size(); ++i) {
    const auto row = item_rows.subspan(i * stride, stride);
    item_sides[i].norm_slow = squared_norm(row.first(mf_slow_count));
    item_sides[i].norm_fast = squared_norm(row.subspan(mf_slow_count));
  }
}

void start_row(std::span<float> row, MfRole role, const MfStart& start,
               std::span<const float> uniforms) {
  CHECK(row.size() == mf_stride(start.rank), "{} floats for rank {}", row.size(), start.rank);
  CHECK(uniforms.size() == start.rank, "{} uniforms for rank {}", uniforms.size(), start.rank);
  const std::uint32_t slow = std::min(start.rank, mf_slow_count);
  const float rank = static_cast<float>(start.rank);
  const float scale = 1 / std::sqrt(rank);
  // The product of two independent fast coordinates is 1 / (4 rank) on average.
  const float fast_product = static_cast<float>(start.rank - slow) * 0.25F / rank;
  const float share = (start.product - fast_product) / static_cast<float>(slow);
  const float size = std::sqrt(std::abs(share));
  const float level = role == MfRole::item ? std::copysign(size, share) : size;
  std::ranges::fill(row, 0.0F);
  for (std::uint32_t k = 0; k < start.rank; ++k) {
    row[k] = k < slow ? level + scale * (uniforms[k] - 0.5F) : scale * uniforms[k];
  }
}

}  // namespace castor::kernels

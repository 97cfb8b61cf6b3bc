#include "kernels/als.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "core/check.h"
#include "kernels/als_loops.h"
#include "kernels/mf_sgd.h"

namespace castor::kernels {
namespace {

struct Set {
  typedef float V __attribute__((vector_size(16), may_alias));
  static constexpr int height = 2;
};

const AlsKernels& kernels_for(InstructionSet set) {
  CHECK(may_run(set), "{}", name_of(set));
  switch (set) {
    case InstructionSet::portable: return als_portable;
    case InstructionSet::avx2: return als_avx2;
    case InstructionSet::avx512: return als_avx512;
  }
  return als_portable;
}

// Gathered rows stay in the first-level cache up to rank 32; at least 16 of them, so that a tile is
// loaded and stored for more than a few products.
std::size_t panel_rows_for(std::size_t stride) {
  return std::clamp<std::size_t>(8192 / stride, 16, 256);
}

// a (size x size, upper triangle) <- its Cholesky factor, and x <- the solution for right side x.
// False when a is not positive definite.
bool solve_in_doubles(std::vector<double>& a, std::vector<double>& x) {
  const std::size_t size = x.size();
  for (std::size_t r = 0; r < size; ++r) {
    double* row = &a[r * size];
    if (!(row[r] > 0) || !std::isfinite(row[r])) return false;
    const double inverse = 1 / std::sqrt(row[r]);
    for (std::size_t k = r; k < size; ++k) row[k] *= inverse;
    x[r] *= inverse;
    for (std::size_t i = r + 1; i < size; ++i) {
      const double factor = row[i];
      for (std::size_t k = i; k < size; ++k) a[i * size + k] -= factor * row[k];
      x[i] -= factor * x[r];
    }
  }
  for (std::size_t r = size; r-- > 0;) {
    for (std::size_t k = r + 1; k < size; ++k) x[r] -= a[r * size + k] * x[k];
    x[r] /= a[r * size + r];
  }
  return true;
}

// Half the negative gradient of the row's objective, in doubles from the ratings themselves: in
// directions that no rating sees it is exactly that of L2.
std::vector<double> descent_of(const AlsCall& call, std::uint32_t row) {
  const float* x = call.mine + std::size_t{row} * call.stride;
  const std::uint64_t begin = call.begin[row], end = call.begin[row + 1];
  const double degree = call.by_degree ? static_cast<double>(end - begin) : 1;
  std::vector<double> result(call.rank);
  for (std::uint32_t k = 0; k < call.rank; ++k) result[k] = -double{call.lambda} * degree * x[k];
  for (std::uint64_t n = begin; n < end; ++n) {
    const auto column = static_cast<std::uint32_t>(call.columns[n]);
    const float* q =
        call.blocks[column / call.block_rows] + std::size_t{column % call.block_rows} * call.stride;
    double error = call.values[n];
    for (std::uint32_t k = 0; k < call.rank; ++k) error -= double{x[k]} * q[k];
    for (std::uint32_t k = 0; k < call.rank; ++k) result[k] += error * q[k];
  }
  return result;
}

}  // namespace

const AlsKernels als_portable = als_kernels<Set>();

AlsScratch::AlsScratch(std::uint32_t rank) {
  const std::size_t stride = mf_stride(rank), rows = panel_rows_for(stride);
  floats_ = AlignedVector<float>(rows * stride + 2 * stride * stride + 4 * stride + rows);
}

AlsCall als_call(const RatedRows& ratings, const OtherRows& others, std::span<float> mine,
                 const AlsParameters& parameters, AlsScratch* scratch) {
  CHECK(parameters.rank >= 1 && parameters.rank <= mf_rank_max, "rank {}", parameters.rank);
  CHECK(!ratings.begin.empty() && ratings.columns.size() == ratings.values.size());
  CHECK(ratings.begin.back() <= ratings.columns.size());
  const std::size_t stride = mf_stride(parameters.rank);
  CHECK(mine.size() == ratings.rows() * stride, "{} floats for {} rows", mine.size(),
        ratings.rows());
  CHECK(others.block_rows >= 1 && others.block_rows <= 1U << 31);
  CHECK(std::uint64_t{others.block_rows} * others.blocks.size() >= others.count, "{} blocks of {}",
        others.blocks.size(), others.block_rows);
#ifdef CASTOR_DCHECK
  for (const std::int32_t column : ratings.columns) {
    DCHECK(column >= 0 && static_cast<std::uint32_t>(column) < others.count, "column {}", column);
  }
#endif
  AlsCall call = {};
  call.begin = ratings.begin.data();
  call.columns = ratings.columns.data();
  call.values = ratings.values.data();
  call.rows = ratings.rows();
  call.blocks = others.blocks.data();
  call.block_rows = others.block_rows;
  call.others = others.count;
  // Exact for numbers below 2^31 (Granlund and Montgomery, "Division by invariant integers", 1994).
  call.shift = 31 + static_cast<std::uint32_t>(std::bit_width(others.block_rows - 1));
  call.magic = ((std::uint64_t{1} << call.shift) + others.block_rows - 1) / others.block_rows;
  call.mine = mine.data();
  call.rank = parameters.rank;
  call.stride = static_cast<std::uint32_t>(stride);
  call.lambda = parameters.lambda;
  call.by_degree = parameters.by_degree;
  call.cg_steps = parameters.cg_steps;
  if (scratch == nullptr) return call;
  const std::size_t rows = panel_rows_for(stride);
  call.panel_rows = static_cast<std::uint32_t>(rows);
  CHECK(scratch->floats_.size() == rows * stride + 2 * stride * stride + 4 * stride + rows);
  call.panel = scratch->floats_.data();
  call.matrix = call.panel + rows * stride;
  call.factor = call.matrix + stride * stride;
  call.vectors = call.factor + stride * stride;
  call.weights = call.vectors + 4 * stride;
  return call;
}

void als_solve(const RatedRows& ratings, const OtherRows& others, std::span<float> mine,
               const AlsParameters& parameters, AlsScratch& scratch, InstructionSet set) {
  kernels_for(set).solve(als_call(ratings, others, mine, parameters, &scratch));
}

void als_cg(const RatedRows& ratings, const OtherRows& others, std::span<const float> gram,
            std::span<float> mine, const AlsParameters& parameters, AlsScratch& scratch,
            InstructionSet set) {
  AlsCall call = als_call(ratings, others, mine, parameters, &scratch);
  CHECK(gram.size() == std::size_t{call.stride} * call.stride, "{} floats", gram.size());
  call.gram = gram.data();
  kernels_for(set).cg(call);
}

void als_gram(std::span<const float> rows, std::uint32_t rank, std::span<float> gram,
              InstructionSet set) {
  CHECK(rank >= 1 && rank <= mf_rank_max, "rank {}", rank);
  const std::size_t stride = mf_stride(rank);
  CHECK(rows.size() % stride == 0 && gram.size() == stride * stride);
  kernels_for(set).gram(rows.data(), static_cast<std::uint32_t>(rows.size() / stride),
                        static_cast<std::uint32_t>(stride), gram.data());
}

double als_squared_error(const RatedRows& ratings, const OtherRows& others,
                         std::span<const float> mine, std::uint32_t rank, InstructionSet set) {
  const std::span<float> rows(const_cast<float*>(mine.data()), mine.size());
  return kernels_for(set).squared_error(als_call(ratings, others, rows, {.rank = rank}, nullptr));
}

double als_implicit_error(const RatedRows& ratings, const OtherRows& others,
                          std::span<const float> mine, std::uint32_t rank, InstructionSet set) {
  const std::span<float> rows(const_cast<float*>(mine.data()), mine.size());
  return kernels_for(set).implicit_error(als_call(ratings, others, rows, {.rank = rank}, nullptr));
}

void als_solve_carefully(const AlsCall& call, std::uint32_t row) {
  const std::size_t rank = call.rank;
  std::vector<double> system(rank * rank), move = descent_of(call, row);
  double largest = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    for (std::size_t k = i; k < rank; ++k) system[i * rank + k] = call.matrix[i * call.stride + k];
    largest = std::max(largest, system[i * rank + i]);
  }
  // Well above what the rounding of the matrix can take away, well below what matters.
  for (std::size_t i = 0; i < rank; ++i) system[i * rank + i] += 1e-5 * largest;
  if (!solve_in_doubles(system, move)) return;
  float* x = call.mine + std::size_t{row} * call.stride;
  for (std::size_t k = 0; k < rank; ++k) x[k] = static_cast<float>(x[k] + move[k]);
}

}  // namespace castor::kernels

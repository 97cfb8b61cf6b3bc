#pragma once
// Alternating least squares: each row of one side is solved for while the other side stands still.
// Rows are those of one band ("mine"); the ratings of a row name rows of the other side ("others").
//
//   als_solve   x <- argmin sum_j (r_j - x.q_j)^2 + w |x|^2, w = lambda, or lambda times the number
//               of ratings of the row. Gram matrix and right side in floats (sums of at most
//               `panel` products, then of those sums), Cholesky in floats, doubles where the system
//               is nearly singular
//   als_cg      implicit feedback (Hu, Koren and Volinsky, "Collaborative filtering for implicit
//               feedback datasets", ICDM 2008): over ALL others, observed or not,
//               x <- argmin sum_j c_j (p_j - x.q_j)^2 + lambda |x|^2, some conjugate-gradient steps
//               from the present x. An observed value v means c = 1 + |v| and p = 1 if v > 0 else
//               0; everything else has c = 1, p = 0, and enters by the Gram matrix of all others.
//               Each pair occurs once
//
// Rows without ratings become 0. Infinite or NaN ratings end in rows left as they were or in NaN,
// never in a crash. Same bits for the same input and instruction set, however rows are cut into
// bands.
//
// Factor rows are as in mf_sgd.h: mf_stride(rank) floats, 64-byte aligned, padding 0.
//
// Thread: any; one scratch a thread.
#include <cstdint>
#include <span>

#include "core/aligned.h"
#include "kernels/als_kernel.h"
#include "kernels/instruction_set.h"

namespace castor::kernels {

// Ratings of the rows of one band: those of row i are [begin[i], begin[i + 1]).
struct RatedRows {
  std::span<const std::uint64_t> begin;   // rows + 1
  std::span<const std::int32_t> columns;  // rows of the other side
  std::span<const float> values;

  std::uint32_t rows() const { return static_cast<std::uint32_t>(begin.size() - 1); }
};

// All rows of the other side, in blocks of block_rows rows (the last may have fewer).
struct OtherRows {
  std::span<const float* const> blocks;
  std::uint32_t block_rows = 1;
  std::uint32_t count = 0;
};

struct AlsParameters {
  std::uint32_t rank = 0;
  float lambda = 0;
  bool by_degree = false;      // als_solve
  std::uint32_t cg_steps = 3;  // als_cg
};

class AlsScratch {
 public:
  explicit AlsScratch(std::uint32_t rank);

 private:
  friend AlsCall als_call(const RatedRows&, const OtherRows&, std::span<float>,
                          const AlsParameters&, AlsScratch*);
  AlignedVector<float> floats_;
};

// REQUIRES (all): 1 <= rank <= mf_rank_max; mine.size() == rows x mf_stride(rank); columns below
// others.count; may_run(set).
void als_solve(const RatedRows& ratings, const OtherRows& others, std::span<float> mine,
               const AlsParameters& parameters, AlsScratch& scratch,
               InstructionSet set = best_instruction_set());

// `gram` is als_gram() of all others, without lambda.
void als_cg(const RatedRows& ratings, const OtherRows& others, std::span<const float> gram,
            std::span<float> mine, const AlsParameters& parameters, AlsScratch& scratch,
            InstructionSet set = best_instruction_set());

// gram = sum of q q' over the rows, all of it: mf_stride(rank) x mf_stride(rank), 64-byte aligned.
void als_gram(std::span<const float> rows, std::uint32_t rank, std::span<float> gram,
              InstructionSet set = best_instruction_set());

// Sum over the ratings of (r - x.q)^2. `mine` is not changed.
double als_squared_error(const RatedRows& ratings, const OtherRows& others,
                         std::span<const float> mine, std::uint32_t rank,
                         InstructionSet set = best_instruction_set());

// Sum over the observed pairs of c (p - x.q)^2 - (x.q)^2: the objective of als_cg without L2 is
// this and the sum over all pairs of (x.q)^2, which is the trace of the product of the two sides'
// Gram matrices.
double als_implicit_error(const RatedRows& ratings, const OtherRows& others,
                          std::span<const float> mine, std::uint32_t rank,
                          InstructionSet set = best_instruction_set());

}  // namespace castor::kernels

#pragma once
// Blocked stochastic gradient descent for matrix factorisation, rating ~ p.q, with a step that
// adapts to each row. The update is exactly this, whatever the instruction set:
//
// A run of ratings of one user is cut into batches of 8, the last one with what is left. All values
// on the right are those before the batch. For a batch of ratings r_j of user row p and item rows
// q_j, with part x either the first 8 coordinates (slow) or the others (fast) and count_x its true
// coordinates:
//
//   e_j   = r_j - p.q_j                      D_jx = p_x.q_jx        N_jx = |q_jx|^2 (cached, see
//   below) item  : s = rate / sqrt(G_jx);           q_jx <- (1 - s l_j) q_jx + s e_j p_x
//           G_jx <- G_jx + (e_j^2 |p_x|^2 - 2 l_j e_j D_jx + l_j^2 N_jx) / count_x
//           N_jx <- its value for the new q_jx, in closed form from the old one
//   user  : G_x <- G_x + sum_j (e_j^2 N_jx - 2 l e_j D_jx + l^2 |p_x|^2) / count_x
//           s = rate / sqrt(new G_x);        p_x <- (1 - batch s l) p_x + s sum_j e_j q_jx
//
// The user's step sees the present batch: without that a batch of 8 diverges where single ratings
// do not. L2, per rating:  by degree   l = l_j = lambda: a row pays for each of its ratings;
//                  plain       l = lambda * inverse degree of the row: an epoch pays lambda for a
//                  row.
// With biases b_u, b_i: e_j = r_j - mean - b_u - b_i - p.q_j, and each bias follows the same rule
// with its own sum, one coordinate, gradient l_bias b - e_j, and lambda_bias in the place of
// lambda.
//
// A step that is too large ends in infinities and NaN, never in a crash.
//
// Thread: any; blocks that share neither users nor items may run at the same time.
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/instruction_set.h"
#include "kernels/mf_kernel.h"
#include "kernels/mf_layout.h"

namespace castor::kernels {

inline constexpr std::uint32_t mf_rank_max = 2048;
inline constexpr std::uint32_t mf_slow_count = 8;

// Floats from one row to the next: the rank rounded up to 16. The padding of a row stays 0.
constexpr std::size_t mf_stride(std::uint32_t rank) { return (std::size_t{rank} + 15) / 16 * 16; }

// Row-major rows of mf_stride(rank) floats, 64-byte aligned, padding 0; one record per row beside
// them. Users are those of the shard, items those of the block.
struct MfTables {
  std::span<float> user_rows;
  std::span<float> item_rows;
  std::span<MfUserSide> user_sides;
  std::span<MfItemSide> item_sides;  // norms fresh at the start of an epoch: refresh_norms()
  // Both empty: no biases.
  std::span<MfBias> user_biases = {};
  std::span<MfBias> item_biases = {};
  // 1 / ratings of the row (0 for none). Both empty: L2 by degree; both given: plain L2.
  std::span<const float> user_inverse_degrees = {};
  std::span<const float> item_inverse_degrees = {};
};

struct MfParameters {
  std::uint32_t rank = 0;
  float rate = 0.1F;
  float lambda = 0;
  float lambda_bias = 0;  // with biases only
  float mean = 0;         // with biases only
};

// Passes once over the block in its order. Returns the sum of squared errors, each taken just
// before the update of its batch. REQUIRES: 1 <= rank <= mf_rank_max; item_sides.size() <=
// mf_block_rows_max; users and items of the block within the tables; may_run(set).
double mf_sgd(const MfBlock& block, const MfTables& tables, const MfParameters& parameters,
              InstructionSet set = best_instruction_set());

// Sets the cached norms from the rows. The closed form drifts by rounding: refresh once an epoch.
void refresh_norms(std::span<const float> item_rows, std::uint32_t rank,
                   std::span<MfItemSide> item_sides);

enum class MfRole : unsigned char { user, item };

struct MfStart {
  std::uint32_t rank = 0;
  float product = 0;  // what p.q is at the start, on average: the mean rating, or 0 with biases
};

// Fills a row: fast coordinates uniform in [0, 1) / sqrt(rank), slow ones alike up to a jitter and
// chosen so that the product of a user row and an item row is start.product on average. This start
// saves the epochs that would otherwise go into learning the mean. Rows never trained are better
// left 0: see MfModel in mf_predict.h. REQUIRES: row.size() == mf_stride(rank); uniforms.size() ==
// rank, values in [0, 1).
void start_row(std::span<float> row, MfRole role, const MfStart& start,
               std::span<const float> uniforms);

}  // namespace castor::kernels

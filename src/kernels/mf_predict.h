#pragma once
// What a factorised model predicts, and how wrong it is:
//
//   prediction(u, i) = clamp(shift + scale (b_u + b_i + product), low, high)
//   product          = p.q, but `absent` where p.q is exactly 0
//
// A row that was never trained is all 0, and so are its products: `absent` is what to say about it.
// With biases that is 0; without, the mean rating in units of `scale`.
//
// Rows are as in mf_sgd.h: mf_stride(rank) floats, 64-byte aligned, padding 0. Products are summed
// in 16 partial sums of float, errors in double. Same bits for the same input and instruction set.
//
// Thread: any.
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/instruction_set.h"
#include "kernels/mf_kernel.h"
#include "kernels/mf_layout.h"

namespace castor::kernels {

struct MfModel {
  std::uint32_t rank = 0;
  std::span<const float> user_rows;
  std::span<const float> item_rows;
  // Both empty: no biases.
  std::span<const MfBias> user_biases = {};
  std::span<const MfBias> item_biases = {};
  float shift = 0;
  float scale = 1;
  float absent = 0;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// REQUIRES: a.size() == b.size(), a multiple of 16; 64-byte aligned.
float mf_dot(std::span<const float> a, std::span<const float> b,
             InstructionSet set = best_instruction_set());

// For a few predictions; the sums below do not call it.
// REQUIRES: user and item within the model.
float mf_predict(const MfModel& model, std::uint32_t user, std::uint32_t item);

// Sums over the ratings of (rating - prediction)^2 and |rating - prediction|.
// REQUIRES: users and items within the model.
MfErrors mf_errors(std::span<const MfRating> ratings, const MfModel& model,
                   InstructionSet set = best_instruction_set());

// The same over one block of a layout; the model holds the users of the shard and the items of the
// block.
MfErrors mf_errors(const MfBlock& block, const MfModel& model,
                   InstructionSet set = best_instruction_set());

// Predictions of every user of the model for every item of it: scores is users x items, row-major.
// Items are taken in groups that stay in the cache while all users pass, so several users at once
// cost less each than one. REQUIRES: scores.size() == users x items.
void mf_scores(const MfModel& model, std::span<float> scores,
               InstructionSet set = best_instruction_set());

}  // namespace castor::kernels

#pragma once
// Plain structs of matrix factorisation, and the entry points that exist once per instruction set.
// This header is included by files compiled for one instruction set, so it defines no function and
// includes no standard header with inline functions. Callers use mf_layout.h, mf_sgd.h and
// mf_predict.h.
//
// Thread: any; mf_sgd_* as mf_sgd().
#include <cstdint>

namespace castor::kernels {

// A rating as it is read: 12 bytes.
struct MfRating {
  std::uint32_t user;
  std::uint32_t item;
  float rating;
};

// Consecutive ratings of one user in a block, [end of the previous run, end). Their items are
// distinct.
struct MfRun {
  std::uint32_t user;  // within the shard
  std::uint32_t end;   // within the block
};

// The adaptive step of a row is kept for two parts of it: slow = its first 8 coordinates, fast =
// the others. A sum is that of the mean squared gradients over the part so far; it starts at 1.
struct MfUserSide {
  float sum_slow;
  float sum_fast;
};

// The same beside the squared norms of the parts: one 16-byte access an item.
struct alignas(16) MfItemSide {
  float sum_slow;
  float norm_slow;
  float sum_fast;
  float norm_fast;
};

// A bias starts at {0, 1}.
struct MfBias {
  float value;
  float sum;
};

// mf_sgd() after its checks: raw pointers for the instruction-set files. Optional arrays are null.
struct MfSgdCall {
  const MfRun* runs;
  std::uint64_t run_count;
  const std::uint16_t* items;
  const float* ratings;
  std::uint64_t rating_count;
  float* user_rows;
  float* item_rows;
  MfUserSide* user_sides;
  MfItemSide* item_sides;
  MfBias* user_biases;
  MfBias* item_biases;
  const float* user_inverse_degrees;
  const float* item_inverse_degrees;
  std::uint32_t groups;  // stride / 16
  float inverse_slow;    // 1 / coordinates in the slow part
  float inverse_fast;    // 1 / coordinates in the fast part, 0 when it is empty
  float rate;
  float lambda;
  float lambda_bias;
  float mean;
};

// Each returns the sum of squared errors.
double mf_sgd_portable(const MfSgdCall& call);
double mf_sgd_avx2(const MfSgdCall& call);
double mf_sgd_avx512(const MfSgdCall& call);

// A model to predict with: MfModel of mf_predict.h after its checks.
struct MfModelCall {
  const float* user_rows;
  const float* item_rows;
  const MfBias* user_biases;  // null: none
  const MfBias* item_biases;  // null: none
  std::uint64_t stride;       // floats, a multiple of 16
  float shift;
  float scale;
  float absent;
  float low;
  float high;
};

struct MfErrors {
  double squared;
  double absolute;
};

// Rows of users times rows of items; scores are users x items.
struct MfScoreCall {
  MfModelCall model;
  std::uint64_t users;
  std::uint64_t items;
  float* scores;
};

// The kernels of mf_predict.h, for one instruction set.
struct MfPredictKernels {
  float (*dot)(const float* a, const float* b, std::uint64_t stride);
  MfErrors (*errors)(const MfModelCall& model, const MfRating* ratings, std::uint64_t count);
  MfErrors (*block_errors)(const MfModelCall& model, const MfSgdCall& block);
  void (*scores)(const MfScoreCall& call);
};

extern const MfPredictKernels mf_predict_portable;
extern const MfPredictKernels mf_predict_avx2;
extern const MfPredictKernels mf_predict_avx512;

}  // namespace castor::kernels

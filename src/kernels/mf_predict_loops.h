#pragma once
// The loops of mf_predict.h, compiled once per instruction set by the files that include this one:
// plain C++ for the compiler to vectorise. Everything is static, so that each file keeps its own
// copy.
//
// Thread: any.
#include "kernels/mf_kernel.h"

namespace castor::kernels::mf_predict_loops {

static constexpr std::uint64_t lookahead = 12;             // ratings
static constexpr std::uint64_t score_group_bytes = 16384;  // half of a first-level cache

static inline float sum_lanes(float (&x)[16]) {
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) x[i] += x[i + width];
  }
  return x[0];
}

static inline float dot(const float* a, const float* b, std::uint64_t stride) {
  float x[16] = {};
  for (std::uint64_t k = 0; k < stride; k += 16) {
    for (int i = 0; i < 16; ++i) x[i] += a[k + i] * b[k + i];
  }
  return sum_lanes(x);
}

static inline float prediction(const MfModelCall& model, float product, float biases) {
  const float value =
      model.shift + model.scale * (biases + (product == 0 ? model.absent : product));
  const float above = value < model.low ? model.low : value;
  return above > model.high ? model.high : above;
}

static inline void prefetch(const float* row, std::uint64_t stride) {
  for (std::uint64_t k = 0; k < stride; k += 16) __builtin_prefetch(row + k);
}

static inline void add(MfErrors& errors, float rating, float guess) {
  const double error = static_cast<double>(rating) - static_cast<double>(guess);
  errors.squared += error * error;
  errors.absolute += __builtin_fabs(error);
}

static inline MfErrors errors(const MfModelCall& model, const MfRating* ratings,
                              std::uint64_t count) {
  MfErrors total = {0, 0};
  for (std::uint64_t n = 0; n < count; ++n) {
    if (n + lookahead < count) {
      const MfRating& later = ratings[n + lookahead];
      prefetch(model.user_rows + later.user * model.stride, model.stride);
      prefetch(model.item_rows + later.item * model.stride, model.stride);
    }
    const MfRating& rating = ratings[n];
    const float product = dot(model.user_rows + rating.user * model.stride,
                              model.item_rows + rating.item * model.stride, model.stride);
    float biases = 0;
    if (model.user_biases != nullptr) {
      biases = model.user_biases[rating.user].value + model.item_biases[rating.item].value;
    }
    add(total, rating.rating, prediction(model, product, biases));
  }
  return total;
}

static inline MfErrors block_errors(const MfModelCall& model, const MfSgdCall& block) {
  MfErrors total = {0, 0};
  std::uint64_t n = 0;
  for (std::uint64_t r = 0; r < block.run_count; ++r) {
    const MfRun& run = block.runs[r];
    const float* user_row = model.user_rows + run.user * model.stride;
    const float user_bias = model.user_biases != nullptr ? model.user_biases[run.user].value : 0;
    for (; n < run.end; ++n) {
      if (n + lookahead < block.rating_count) {
        prefetch(model.item_rows + block.items[n + lookahead] * model.stride, model.stride);
      }
      const std::uint16_t item = block.items[n];
      const float product = dot(user_row, model.item_rows + item * model.stride, model.stride);
      float biases = user_bias;
      if (model.item_biases != nullptr) biases += model.item_biases[item].value;
      add(total, block.ratings[n], prediction(model, product, biases));
    }
  }
  return total;
}

static inline void scores(const MfScoreCall& call) {
  const MfModelCall& model = call.model;
  const std::uint64_t fitting = score_group_bytes / (model.stride * sizeof(float));
  const std::uint64_t group = fitting == 0 ? 1 : fitting;
  for (std::uint64_t first = 0; first < call.items; first += group) {
    const std::uint64_t end = first + group < call.items ? first + group : call.items;
    for (std::uint64_t user = 0; user < call.users; ++user) {
      const float* row = model.user_rows + user * model.stride;
      const float user_bias = model.user_biases != nullptr ? model.user_biases[user].value : 0;
      float* out = call.scores + user * call.items;
      for (std::uint64_t item = first; item < end; ++item) {
        float biases = user_bias;
        if (model.item_biases != nullptr) biases += model.item_biases[item].value;
        const float product = dot(row, model.item_rows + item * model.stride, model.stride);
        out[item] = prediction(model, product, biases);
      }
    }
  }
}

}  // namespace castor::kernels::mf_predict_loops

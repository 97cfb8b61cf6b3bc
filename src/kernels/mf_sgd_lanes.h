#pragma once
// The update of mf_sgd.h written once for vectors of 8 floats, the slow part of a row being one of
// them. A file that compiles it for an instruction set supplies the vector type, in an anonymous
// namespace so that each file keeps its own copy:
//
//   struct V {
//     static V load(const float*);              // aligned to 32 bytes
//     static V all(float);
//     void store(float*) const;                 // aligned to 32 bytes
//     operators + - *;  V fma(V a, V b, V c) = a * b + c;
//     static V inverse_root(V);
//     float sum() const;
//     static V sums(const V (&rows)[8]);        // lane j: sum of rows[j]
//   };
//
// Thread: as mf_sgd().
#include "kernels/mf_kernel.h"

namespace castor::kernels {

struct MfOptions {
  bool biases;
  bool plain;
};

template <class V, MfOptions options>
class MfLanes {
 public:
  explicit MfLanes(const MfSgdCall& call)
      : call_(call), groups_(2 * static_cast<int>(call.groups)), stride_(8L * groups_) {}

  double run() {
    std::uint32_t begin = 0;
    for (std::uint64_t r = 0; r < call_.run_count; ++r) {
      const MfRun run = call_.runs[r];
      enter(run.user);
      for (; begin < run.end; begin += static_cast<std::uint32_t>(size_)) {
        prefetch(begin + prefetch_distance);
        size_ = run.end - begin < 8 ? static_cast<int>(run.end - begin) : 8;
        if (size_ == 8) {
          batch<true>(call_.items + begin, call_.ratings + begin);
        } else {
          batch<false>(call_.items + begin, call_.ratings + begin);
        }
      }
      leave(run.user);
    }
    return loss_;
  }

 private:
  static constexpr int prefetch_distance = 16;  // ratings

  // What one part of the rows (slow or fast) carries through a batch; lane j is rating j.
  struct Part {
    V product, sum, norm;  // before the batch
    V keep, gain;          // q <- keep q + gain p
  };

  void enter(std::uint32_t user) {
    user_row_ = call_.user_rows + user * stride_;
    user_side_ = call_.user_sides[user];
    user_lambda_ = call_.lambda;
    user_lambda_bias_ = call_.lambda_bias;
    if constexpr (options.plain) {
      user_lambda_ *= call_.user_inverse_degrees[user];
      user_lambda_bias_ *= call_.user_inverse_degrees[user];
    }
    if constexpr (options.biases) user_bias_ = call_.user_biases[user];
    const V slow = V::load(user_row_);
    user_norm_slow_ = (slow * slow).sum();
    V fast = V::all(0);
    for (int g = 1; g < groups_; ++g) {
      const V p = V::load(user_row_ + 8 * g);
      fast = fma(p, p, fast);
    }
    user_norm_fast_ = fast.sum();
  }

  void leave(std::uint32_t user) {
    call_.user_sides[user] = user_side_;
    if constexpr (options.biases) call_.user_biases[user] = user_bias_;
  }

  void prefetch(std::uint64_t from) const {
    if (from + 8 > call_.rating_count) return;
    for (int j = 0; j < 8; ++j) {
      const float* q = row(call_.items[from + j]);
      for (int g = 0; g < groups_; g += 2) __builtin_prefetch(q + 8 * g);
    }
  }

  // Ratings of the batch; a full one lets the compiler unroll.
  template <bool full>
  int count() const {
    return full ? 8 : size_;
  }

  template <bool full>
  void batch(const std::uint16_t* items, const float* ratings) {
    Part slow, fast;
    multiply<full>(items, slow.product, fast.product);
    alignas(32) float error[8] = {}, product[8];
    (slow.product + fast.product).store(product);
    for (int j = 0; j < count<full>(); ++j) {
      error[j] = ratings[j] - product[j];
      if constexpr (options.biases) {
        error[j] -= call_.mean + user_bias_.value + call_.item_biases[items[j]].value;
      }
      loss_ += static_cast<double>(error[j]) * static_cast<double>(error[j]);
    }
    const V errors = V::load(error);
    const V lambda = item_lambdas<full>(items);
    load_sides<full>(items, slow, fast);
    const float step_slow =
        step_user(slow, errors, user_norm_slow_, call_.inverse_slow, user_side_.sum_slow);
    const float step_fast =
        step_user(fast, errors, user_norm_fast_, call_.inverse_fast, user_side_.sum_fast);
    step_items(slow, errors, lambda, user_norm_slow_, call_.inverse_slow);
    step_items(fast, errors, lambda, user_norm_fast_, call_.inverse_fast);
    store_sides<full>(items, slow, fast);
    if constexpr (options.biases) step_biases<full>(items, error);
    update_rows<full>(items, error, slow, fast, step_slow, step_fast);
  }

  // Beside the vector one, found by its argument.
  static float inverse_root(float x) { return 1 / __builtin_sqrtf(x); }
  static V inverse_root(V x) { return V::inverse_root(x); }

  const float* row(std::uint16_t item) const { return call_.item_rows + item * stride_; }

  template <bool full>
  void multiply(const std::uint16_t* items, V& slow, V& fast) const {
    V slow_parts[8], fast_parts[8];
    for (int j = 0; j < 8; ++j) slow_parts[j] = fast_parts[j] = V::all(0);
    for (int j = 0; j < count<full>(); ++j) {
      const float* q = row(items[j]);
      slow_parts[j] = V::load(user_row_) * V::load(q);
      V total = V::load(user_row_ + 8) * V::load(q + 8);
      for (int g = 2; g < groups_; ++g) {
        total = fma(V::load(user_row_ + 8 * g), V::load(q + 8 * g), total);
      }
      fast_parts[j] = total;
    }
    slow = V::sums(slow_parts);
    fast = V::sums(fast_parts);
  }

  template <bool full>
  V item_lambdas(const std::uint16_t* items) const {
    if constexpr (!options.plain) return V::all(call_.lambda);
    alignas(32) float inverse[8] = {};
    for (int j = 0; j < count<full>(); ++j) inverse[j] = call_.item_inverse_degrees[items[j]];
    return V::all(call_.lambda) * V::load(inverse);
  }

  template <bool full>
  void load_sides(const std::uint16_t* items, Part& slow, Part& fast) const {
    alignas(32) float values[4][8];
    for (int j = 0; j < 8; ++j) values[0][j] = values[2][j] = 1, values[1][j] = values[3][j] = 0;
    for (int j = 0; j < count<full>(); ++j) {
      const MfItemSide& side = call_.item_sides[items[j]];
      values[0][j] = side.sum_slow;
      values[1][j] = side.norm_slow;
      values[2][j] = side.sum_fast;
      values[3][j] = side.norm_fast;
    }
    slow.sum = V::load(values[0]);
    slow.norm = V::load(values[1]);
    fast.sum = V::load(values[2]);
    fast.norm = V::load(values[3]);
  }

  template <bool full>
  void store_sides(const std::uint16_t* items, const Part& slow, const Part& fast) {
    alignas(32) float values[4][8];
    slow.sum.store(values[0]);
    slow.norm.store(values[1]);
    fast.sum.store(values[2]);
    fast.norm.store(values[3]);
    for (int j = 0; j < count<full>(); ++j) {
      MfItemSide& side = call_.item_sides[items[j]];
      side.sum_slow = values[0][j];
      side.norm_slow = values[1][j];
      side.sum_fast = values[2][j];
      side.norm_fast = values[3][j];
    }
  }

  // Adds the batch to the user's sum and returns the user's step. Empty lanes have error 0.
  float step_user(const Part& part, V errors, float user_norm, float inverse_count, float& sum) {
    const float l = user_lambda_;
    const V squares = errors * (errors * part.norm - V::all(2 * l) * part.product);
    sum += inverse_count * (squares.sum() + static_cast<float>(size_) * l * l * user_norm);
    return call_.rate * inverse_root(sum);
  }

  void step_items(Part& part, V errors, V lambda, float user_norm, float inverse_count) {
    const V norm = V::all(user_norm);
    const V step = V::all(call_.rate) * inverse_root(part.sum);
    const V cross = errors * part.product;
    const V squares = fma(errors * errors, norm, lambda * (lambda * part.norm - (cross + cross)));
    part.sum = fma(squares, V::all(inverse_count), part.sum);
    part.keep = V::all(1) - step * lambda;
    part.gain = step * errors;
    part.norm = fma(part.keep * part.keep, part.norm,
                    part.gain * fma(part.gain, norm, (part.keep + part.keep) * part.product));
  }

  template <bool full>
  void step_biases(const std::uint16_t* items, const float* error) {
    float squares = 0, total = 0;
    for (int j = 0; j < count<full>(); ++j) {
      float l = call_.lambda_bias;
      if constexpr (options.plain) l *= call_.item_inverse_degrees[items[j]];
      MfBias& bias = call_.item_biases[items[j]];
      const float slope = error[j] - l * bias.value;
      bias.value += call_.rate * inverse_root(bias.sum) * slope;
      bias.sum += slope * slope;
      const float user_slope = error[j] - user_lambda_bias_ * user_bias_.value;
      squares += user_slope * user_slope;
      total += user_slope;
    }
    user_bias_.sum += squares;
    user_bias_.value += call_.rate * inverse_root(user_bias_.sum) * total;
  }

  template <bool full>
  void update_rows(const std::uint16_t* items, const float* error, const Part& slow,
                   const Part& fast, float step_slow, float step_fast) {
    alignas(32) float keep[2][8], gain[2][8];
    slow.keep.store(keep[0]);
    fast.keep.store(keep[1]);
    slow.gain.store(gain[0]);
    fast.gain.store(gain[1]);
    float* rows[8];
    for (int j = 0; j < count<full>(); ++j) rows[j] = call_.item_rows + items[j] * stride_;
    V fast_squares = V::all(0);
    for (int g = 0; g < groups_; ++g) {
      const int part = g == 0 ? 0 : 1;
      const V old = V::load(user_row_ + 8 * g);
      V total = V::all(0);
      for (int j = 0; j < count<full>(); ++j) {
        const V q = V::load(rows[j] + 8 * g);
        total = fma(V::all(error[j]), q, total);
        fma(V::all(gain[part][j]), old, V::all(keep[part][j]) * q).store(rows[j] + 8 * g);
      }
      const float step = part == 0 ? step_slow : step_fast;
      const float shrink = 1 - static_cast<float>(size_) * step * user_lambda_;
      const V p = fma(V::all(step), total, V::all(shrink) * old);
      p.store(user_row_ + 8 * g);
      if (part == 0) {
        user_norm_slow_ = (p * p).sum();
      } else {
        fast_squares = fma(p, p, fast_squares);
      }
    }
    user_norm_fast_ = fast_squares.sum();
  }

  const MfSgdCall& call_;
  const int groups_;   // of 8 floats
  const long stride_;  // in floats
  double loss_ = 0;
  // Of the current run.
  float* user_row_ = nullptr;
  MfUserSide user_side_;
  MfBias user_bias_;
  float user_norm_slow_ = 0;
  float user_norm_fast_ = 0;
  float user_lambda_ = 0;
  float user_lambda_bias_ = 0;
  // Of the current batch.
  int size_ = 0;
};

template <class V>
double mf_sgd_lanes(const MfSgdCall& call) {
  const bool biases = call.user_biases != nullptr;
  const bool plain = call.user_inverse_degrees != nullptr;
  if (biases && plain) return MfLanes<V, MfOptions{true, true}>(call).run();
  if (biases) return MfLanes<V, MfOptions{true, false}>(call).run();
  if (plain) return MfLanes<V, MfOptions{false, true}>(call).run();
  return MfLanes<V, MfOptions{false, false}>(call).run();
}

}  // namespace castor::kernels

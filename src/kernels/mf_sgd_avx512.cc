// mf_sgd for AVX-512: the slow part of a row is the low half of its first vector of 16, and
// whatever is kept for both parts ("pair") has the slow value in its low half and the fast one in
// its high half. Anything but intrinsics and plain structs stays out: see instruction_set.h.
#include <immintrin.h>

#include "kernels/mf_kernel.h"

// g++ 12 takes the deliberately undefined operands inside its own intrinsics for mistakes (PR
// 105593).
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace castor::kernels {
namespace {

using Floats = __m512;

constexpr __mmask16 slow_half = 0x00ff;
constexpr __mmask16 fast_half = 0xff00;
constexpr int prefetch_distance = 16;  // ratings

// What a version is compiled for. groups: vectors of 16 in a row, 0 when only known at run time.
struct Shape {
  int groups;
  bool biases;
  bool plain;
};

inline Floats swap_quads(Floats x) { return _mm512_shuffle_f32x4(x, x, 0x44); }

// Both halves of the result hold the fast half of the pair.
inline Floats fast_of(Floats pair) { return _mm512_shuffle_f32x4(pair, pair, 0xEE); }

inline Floats pair_of(float slow, float fast) {
  return _mm512_mask_blend_ps(fast_half, _mm512_set1_ps(slow), _mm512_set1_ps(fast));
}

// Every lane of a half: the sum of that half.
inline Floats sum_halves(Floats x) {
  x = _mm512_add_ps(x, _mm512_permute_ps(x, 0x4E));
  x = _mm512_add_ps(x, _mm512_permute_ps(x, 0xB1));
  return _mm512_add_ps(x, _mm512_shuffle_f32x4(x, x, 0xB1));
}

// Adds all 16 lanes of `fast` to the high half of `first`, in no particular lanes.
inline Floats fold(Floats first, Floats fast) {
  return _mm512_mask_add_ps(first, fast_half, first, _mm512_add_ps(fast, swap_quads(fast)));
}

inline Floats add_singles(Floats x, Floats y) {
  return _mm512_add_ps(_mm512_unpacklo_ps(x, y), _mm512_unpackhi_ps(x, y));
}

inline Floats add_doubles(Floats x, Floats y) {
  const __m512d a = _mm512_castps_pd(x), b = _mm512_castps_pd(y);
  return _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),
                       _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
}

// Lane j: the sum of the low half of x[j]; lane 8 + j: of its high half.
inline Floats sum_halves_of_eight(const Floats* x) {
  const Floats a = add_doubles(add_singles(x[0], x[1]), add_singles(x[2], x[3]));
  const Floats b = add_doubles(add_singles(x[4], x[5]), add_singles(x[6], x[7]));
  const Floats t =
      _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
  return _mm512_shuffle_f32x4(t, t, 0xD8);
}

inline Floats twice(__m256 x) { return _mm512_insertf32x8(_mm512_castps256_ps512(x), x, 1); }

// A batch in the making: lane j of a half belongs to rating j, see mf_sgd.h for the letters.
struct Batch {
  const std::uint16_t* items;
  const float* ratings;
  int size;
  Floats product;  // D
  Floats error;    // e, twice; 0 in empty lanes
  Floats norm;     // N
  Floats keep;     // 1 - s l_j
  Floats gain;     // s e_j
};

template <Shape shape>
class Pass {
 public:
  explicit Pass(const MfSgdCall& call)
      : call_(call),
        rate_(_mm512_set1_ps(call.rate)),
        lambda_(_mm512_set1_ps(call.lambda)),
        inverse_counts_(pair_of(call.inverse_slow, call.inverse_fast)),
        loss_(_mm512_setzero_pd()) {}

  double run() {
    std::uint32_t begin = 0;
    for (std::uint64_t r = 0; r < call_.run_count; ++r) {
      const MfRun run = call_.runs[r];
      enter(run.user);
      if (r + 1 < call_.run_count) prefetch_user(call_.runs[r + 1].user);
      for (; begin + 8 <= run.end; begin += 8) step<true>(begin, 8);
      if (begin < run.end) step<false>(begin, static_cast<int>(run.end - begin));
      begin = run.end;
      leave(run.user);
    }
    return _mm512_reduce_add_pd(loss_);
  }

 private:
  static constexpr bool in_registers = shape.groups != 0;
  static constexpr int kept = in_registers ? shape.groups : 1;

  int groups() const {
    if constexpr (in_registers) return shape.groups;
    return static_cast<int>(call_.groups);
  }
  std::size_t stride() const { return 16 * static_cast<std::size_t>(groups()); }
  float* item_row(std::uint16_t item) const { return call_.item_rows + item * stride(); }
  Floats user_group(int g) const {
    if constexpr (in_registers) return user_[g];
    return _mm512_load_ps(user_row_ + 16 * g);
  }

  void enter(std::uint32_t user) {
    user_row_ = call_.user_rows + user * stride();
    if constexpr (in_registers) {
      for (int g = 0; g < kept; ++g) user_[g] = _mm512_load_ps(user_row_ + 16 * g);
    }
    const MfUserSide& side = call_.user_sides[user];
    user_sum_ = pair_of(side.sum_slow, side.sum_fast);
    float inverse_degree = 1;
    if constexpr (shape.plain) inverse_degree = call_.user_inverse_degrees[user];
    user_lambda_ = _mm512_set1_ps(call_.lambda * inverse_degree);
    if constexpr (shape.biases) {
      user_lambda_bias_ = call_.lambda_bias * inverse_degree;
      user_bias_ = call_.user_biases[user].value;
      user_bias_sum_ = call_.user_biases[user].sum;
    }
    refresh_user_norm();
  }

  void leave(std::uint32_t user) {
    if constexpr (in_registers) {
      for (int g = 0; g < kept; ++g) _mm512_store_ps(user_row_ + 16 * g, user_[g]);
    }
    MfUserSide& side = call_.user_sides[user];
    side.sum_slow = _mm512_cvtss_f32(user_sum_);
    side.sum_fast = _mm_cvtss_f32(_mm512_extractf32x4_ps(user_sum_, 2));
    if constexpr (shape.biases) {
      call_.user_biases[user].value = user_bias_;
      call_.user_biases[user].sum = user_bias_sum_;
    }
  }

  void prefetch_user(std::uint32_t user) const {
    const float* row = call_.user_rows + user * stride();
    for (int g = 0; g < groups(); ++g) _mm_prefetch(row + 16 * g, _MM_HINT_T0);
  }

  void prefetch_items(std::uint64_t from) const {
    if (from + 8 > call_.rating_count) return;
    for (int j = 0; j < 8; ++j) {
      const float* row = item_row(call_.items[from + j]);
      for (int g = 0; g < groups(); ++g) _mm_prefetch(row + 16 * g, _MM_HINT_T0);
    }
  }

  void refresh_user_norm() {
    Floats squares = _mm512_mul_ps(user_group(0), user_group(0));
    if (groups() > 1) {
      Floats fast = _mm512_mul_ps(user_group(1), user_group(1));
      for (int g = 2; g < groups(); ++g) fast = _mm512_fmadd_ps(user_group(g), user_group(g), fast);
      squares = fold(squares, fast);
    }
    user_norm_ = sum_halves(squares);
  }

  template <bool full>
  void step(std::uint64_t begin, int count) {
    prefetch_items(begin + prefetch_distance);
    Batch batch;
    batch.items = call_.items + begin;
    batch.ratings = call_.ratings + begin;
    batch.size = full ? 8 : count;
    multiply<full>(batch);
    find_errors<full>(batch);
    const Floats user_squares = step_items<full>(batch);
    const Floats step = step_user(batch, user_squares);
    if constexpr (shape.biases) step_biases<full>(batch);
    if constexpr (in_registers) {
      update_rows<full>(batch, step);
    } else {
      update_long_rows<full>(batch, step);
    }
  }

  template <bool full>
  void multiply(Batch& batch) const {
    Floats sums[8];
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) sums[j] = _mm512_setzero_ps();
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      if (!full && j >= batch.size) break;
      const float* q = item_row(batch.items[j]);
      sums[j] = _mm512_mul_ps(user_group(0), _mm512_load_ps(q));
      if (groups() > 1) {
        Floats fast = _mm512_mul_ps(user_group(1), _mm512_load_ps(q + 16));
        for (int g = 2; g < groups(); ++g) {
          fast = _mm512_fmadd_ps(user_group(g), _mm512_load_ps(q + 16 * g), fast);
        }
        sums[j] = fold(sums[j], fast);
      }
    }
    batch.product = sum_halves_of_eight(sums);
  }

  template <bool full>
  __mmask8 lanes(const Batch& batch) const {
    return full ? 0xff : static_cast<__mmask8>((1U << batch.size) - 1);
  }

  template <bool full>
  __m256i item_numbers(const Batch& batch) const {
    return _mm256_cvtepu16_epi32(_mm_maskz_loadu_epi16(lanes<full>(batch), batch.items));
  }

  template <bool full>
  void find_errors(Batch& batch) {
    const __mmask8 used = lanes<full>(batch);
    const Floats d = batch.product;
    __m256 guess = _mm256_add_ps(_mm512_castps512_ps256(d), _mm512_extractf32x8_ps(d, 1));
    if constexpr (shape.biases) {
      const float* values = &call_.item_biases->value;
      const __m256 biases = _mm256_mmask_i32gather_ps(_mm256_setzero_ps(), used,
                                                      item_numbers<full>(batch), values, 8);
      guess = _mm256_add_ps(guess, _mm256_add_ps(biases, _mm256_set1_ps(call_.mean + user_bias_)));
    }
    const __m256 ratings = _mm256_maskz_loadu_ps(used, batch.ratings);
    const __m256 error = _mm256_maskz_sub_ps(used, ratings, guess);
    const __m512d wide = _mm512_cvtps_pd(error);
    loss_ = _mm512_fmadd_pd(wide, wide, loss_);
    batch.error = twice(error);
  }

  template <bool full>
  void load_sides(const Batch& batch, Floats& sum, Floats& norm) const {
    const auto side = [&](int j) {
      const int safe = full || j < batch.size ? j : 0;
      return _mm_load_ps(&call_.item_sides[batch.items[safe]].sum_slow);
    };
    Floats a = _mm512_castps128_ps512(side(0)), b = _mm512_castps128_ps512(side(4));
    a = _mm512_insertf32x4(a, side(1), 1), b = _mm512_insertf32x4(b, side(5), 1);
    a = _mm512_insertf32x4(a, side(2), 2), b = _mm512_insertf32x4(b, side(6), 2);
    a = _mm512_insertf32x4(a, side(3), 3), b = _mm512_insertf32x4(b, side(7), 3);
    const __m512i sums =
        _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 2, 6, 10, 14, 18, 22, 26, 30);
    const __m512i norms = _mm512_add_epi32(sums, _mm512_set1_epi32(1));
    sum = _mm512_permutex2var_ps(a, sums, b);
    norm = _mm512_permutex2var_ps(a, norms, b);
  }

  template <bool full>
  void store_sides(const Batch& batch, Floats sum, Floats norm) {
    const __m512i first =
        _mm512_setr_epi32(0, 16, 8, 24, 1, 17, 9, 25, 2, 18, 10, 26, 3, 19, 11, 27);
    const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(4));
    alignas(64) MfItemSide sides[8];
    _mm512_store_ps(&sides[0].sum_slow, _mm512_permutex2var_ps(sum, first, norm));
    _mm512_store_ps(&sides[4].sum_slow, _mm512_permutex2var_ps(sum, second, norm));
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      if (!full && j >= batch.size) break;
      call_.item_sides[batch.items[j]] = sides[j];
    }
  }

  template <bool full>
  Floats item_lambdas(const Batch& batch) const {
    if constexpr (!shape.plain) return lambda_;
    const __m256 inverse =
        _mm256_mmask_i32gather_ps(_mm256_setzero_ps(), lanes<full>(batch),
                                  item_numbers<full>(batch), call_.item_inverse_degrees, 4);
    return _mm512_mul_ps(lambda_, twice(inverse));
  }

  // Steps the sides and finds keep and gain. Returns what the batch adds to count x G of the user,
  // lane by lane, but for l^2 |p|^2.
  template <bool full>
  Floats step_items(Batch& batch) {
    Floats sum, norm;
    load_sides<full>(batch, sum, norm);
    const Floats lambda = item_lambdas<full>(batch);
    const Floats cross = _mm512_mul_ps(batch.error, batch.product);
    const Floats cross_twice = _mm512_add_ps(cross, cross);
    const Floats square = _mm512_mul_ps(batch.error, batch.error);
    const Floats step = _mm512_mul_ps(rate_, _mm512_rsqrt14_ps(sum));
    const Floats shrinkage = _mm512_mul_ps(lambda, _mm512_fmsub_ps(lambda, norm, cross_twice));
    const Floats gradient = _mm512_fmadd_ps(square, user_norm_, shrinkage);
    const Floats keep = _mm512_fnmadd_ps(step, lambda, _mm512_set1_ps(1));
    const Floats gain = _mm512_mul_ps(step, batch.error);
    const Floats growth =
        _mm512_fmadd_ps(gain, user_norm_, _mm512_mul_ps(_mm512_add_ps(keep, keep), batch.product));
    const Floats new_norm =
        _mm512_fmadd_ps(_mm512_mul_ps(keep, keep), norm, _mm512_mul_ps(gain, growth));
    store_sides<full>(batch, _mm512_fmadd_ps(gradient, inverse_counts_, sum), new_norm);
    batch.keep = keep;
    batch.gain = gain;
    return _mm512_fmsub_ps(square, norm, _mm512_mul_ps(user_lambda_, cross_twice));
  }

  // Returns the step of the user row, a pair.
  Floats step_user(const Batch& batch, Floats squares) {
    const Floats size = _mm512_set1_ps(static_cast<float>(batch.size));
    const Floats shrinkage =
        _mm512_mul_ps(_mm512_mul_ps(user_lambda_, user_lambda_), _mm512_mul_ps(size, user_norm_));
    const Floats total = _mm512_add_ps(sum_halves(squares), shrinkage);
    user_sum_ = _mm512_fmadd_ps(total, inverse_counts_, user_sum_);
    return _mm512_mul_ps(rate_, _mm512_rsqrt14_ps(user_sum_));
  }

  template <bool full>
  void step_biases(const Batch& batch) {
    float* first = &call_.item_biases->value;
    const __mmask8 used = lanes<full>(batch);
    const __m256i items = item_numbers<full>(batch);
    const __m256 zero = _mm256_setzero_ps();
    const __m256 error = _mm512_castps512_ps256(batch.error), rate = _mm256_set1_ps(call_.rate);
    __m256 value = _mm256_mmask_i32gather_ps(zero, used, items, first, 8);
    __m256 sum = _mm256_mmask_i32gather_ps(_mm256_set1_ps(1), used, items, first + 1, 8);
    __m256 lambda = _mm256_set1_ps(call_.lambda_bias);
    if constexpr (shape.plain) {
      lambda = _mm256_mul_ps(
          lambda, _mm256_mmask_i32gather_ps(zero, used, items, call_.item_inverse_degrees, 4));
    }
    const __m256 slope = _mm256_maskz_sub_ps(used, error, _mm256_mul_ps(lambda, value));
    const __m256 step = _mm256_mul_ps(rate, _mm256_rsqrt14_ps(sum));
    _mm256_mask_i32scatter_ps(first, used, items, _mm256_fmadd_ps(step, slope, value), 8);
    _mm256_mask_i32scatter_ps(first + 1, used, items, _mm256_fmadd_ps(slope, slope, sum), 8);
    const __m256 user_slope =
        _mm256_maskz_sub_ps(used, error, _mm256_set1_ps(user_lambda_bias_ * user_bias_));
    // A pair: the sum of the slopes, the sum of their squares.
    const Floats both = sum_halves(_mm512_insertf32x8(_mm512_castps256_ps512(user_slope),
                                                      _mm256_mul_ps(user_slope, user_slope), 1));
    user_bias_sum_ += _mm_cvtss_f32(_mm512_extractf32x4_ps(both, 2));
    const __m128 root = _mm_rsqrt14_ss(_mm_setzero_ps(), _mm_set_ss(user_bias_sum_));
    user_bias_ += call_.rate * _mm_cvtss_f32(root) * _mm512_cvtss_f32(both);
  }

  // 1 - batch s l of the user row, a pair.
  Floats user_keep(const Batch& batch, Floats step) const {
    const Floats size = _mm512_set1_ps(static_cast<float>(batch.size));
    return _mm512_fnmadd_ps(_mm512_mul_ps(step, size), user_lambda_, _mm512_set1_ps(1));
  }

  template <bool full>
  void update_rows(const Batch& batch, Floats step) {
    alignas(64) float error[16], keep[16], gain[16];
    _mm512_store_ps(error, batch.error);
    _mm512_store_ps(keep, batch.keep);
    _mm512_store_ps(gain, batch.gain);
    Floats total[kept];
    for (int g = 0; g < kept; ++g) total[g] = _mm512_setzero_ps();
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      if (!full && j >= batch.size) break;
      float* q = item_row(batch.items[j]);
      const Floats e = _mm512_set1_ps(error[j]);
      const Floats keep_fast = _mm512_set1_ps(keep[8 + j]);
      const Floats gain_fast = _mm512_set1_ps(gain[8 + j]);
      const Floats keep_pair = _mm512_mask_mov_ps(keep_fast, slow_half, _mm512_set1_ps(keep[j]));
      const Floats gain_pair = _mm512_mask_mov_ps(gain_fast, slow_half, _mm512_set1_ps(gain[j]));
      for (int g = 0; g < kept; ++g) {
        const Floats old = _mm512_load_ps(q + 16 * g);
        total[g] = _mm512_fmadd_ps(e, old, total[g]);
        const Floats shrunk = _mm512_mul_ps(g == 0 ? keep_pair : keep_fast, old);
        _mm512_store_ps(q + 16 * g,
                        _mm512_fmadd_ps(g == 0 ? gain_pair : gain_fast, user_[g], shrunk));
      }
    }
    const Floats keep_user = user_keep(batch, step);
    const Floats keep_user_fast = fast_of(keep_user), step_fast = fast_of(step);
    for (int g = 0; g < kept; ++g) {
      const Floats shrunk = _mm512_mul_ps(g == 0 ? keep_user : keep_user_fast, user_[g]);
      user_[g] = _mm512_fmadd_ps(g == 0 ? step : step_fast, total[g], shrunk);
    }
    refresh_user_norm();
  }

  // Factors of each rating, in all lanes or as pairs.
  struct Factors {
    Floats error[8], keep[8], gain[8];
  };

  template <bool full>
  void update_group(const Batch& batch, int g, const Factors& factors, Floats keep, Floats step) {
    const Floats p = _mm512_load_ps(user_row_ + 16 * g);
    Floats total = _mm512_setzero_ps();
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      if (!full && j >= batch.size) break;
      float* q = item_row(batch.items[j]) + 16 * g;
      const Floats old = _mm512_load_ps(q);
      total = _mm512_fmadd_ps(factors.error[j], old, total);
      _mm512_store_ps(q, _mm512_fmadd_ps(factors.gain[j], p, _mm512_mul_ps(factors.keep[j], old)));
    }
    const Floats shrunk = _mm512_mul_ps(keep, p);
    _mm512_store_ps(user_row_ + 16 * g, _mm512_fmadd_ps(step, total, shrunk));
  }

  // Rows too long for registers: group by group across the batch.
  template <bool full>
  void update_long_rows(const Batch& batch, Floats step) {
    alignas(64) float error[16], keep[16], gain[16];
    _mm512_store_ps(error, batch.error);
    _mm512_store_ps(keep, batch.keep);
    _mm512_store_ps(gain, batch.gain);
    Factors first, others;
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      first.error[j] = others.error[j] = _mm512_set1_ps(error[j]);
      others.keep[j] = _mm512_set1_ps(keep[8 + j]);
      others.gain[j] = _mm512_set1_ps(gain[8 + j]);
      first.keep[j] = _mm512_mask_mov_ps(others.keep[j], slow_half, _mm512_set1_ps(keep[j]));
      first.gain[j] = _mm512_mask_mov_ps(others.gain[j], slow_half, _mm512_set1_ps(gain[j]));
    }
    const Floats keep_user = user_keep(batch, step);
    update_group<full>(batch, 0, first, keep_user, step);
    for (int g = 1; g < groups(); ++g) {
      update_group<full>(batch, g, others, fast_of(keep_user), fast_of(step));
    }
    refresh_user_norm();
  }

  const MfSgdCall call_;
  const Floats rate_;
  const Floats lambda_;
  const Floats inverse_counts_;  // a pair
  __m512d loss_;
  // Of the current run.
  float* user_row_ = nullptr;
  Floats user_[kept];
  Floats user_norm_;    // a pair
  Floats user_sum_;     // a pair
  Floats user_lambda_;  // in all lanes
  float user_lambda_bias_ = 0;
  float user_bias_ = 0;
  float user_bias_sum_ = 0;
};

// All in one function, so that the fields of the pass live in registers.
template <Shape shape>
[[gnu::flatten]] double run_pass(const MfSgdCall& call) {
  Pass<shape> pass(call);
  return pass.run();
}

template <int groups>
double run_with(const MfSgdCall& call) {
  const bool biases = call.user_biases != nullptr;
  const bool plain = call.user_inverse_degrees != nullptr;
  if (biases && plain) return run_pass<Shape{groups, true, true}>(call);
  if (biases) return run_pass<Shape{groups, true, false}>(call);
  if (plain) return run_pass<Shape{groups, false, true}>(call);
  return run_pass<Shape{groups, false, false}>(call);
}

}  // namespace

double mf_sgd_avx512(const MfSgdCall& call) {
  switch (call.groups) {
    case 1: return run_with<1>(call);
    case 2: return run_with<2>(call);
    case 3: return run_with<3>(call);
    case 4: return run_with<4>(call);
    case 5: return run_with<5>(call);
    case 6: return run_with<6>(call);
    case 7: return run_with<7>(call);
    case 8: return run_with<8>(call);
    default: return run_with<0>(call);
  }
}

}  // namespace castor::kernels

// ccd for AVX-512: 16 ratings at a time, the values of the other side gathered. A pair is gathered
// as one value of 64 bits, which costs half as many accesses and cache lines as two of 32. Anything
// but intrinsics and plain structs stays out: see instruction_set.h.
#include <immintrin.h>

#include "kernels/ccd_kernel.h"

// g++ 12 takes the deliberately undefined operands inside its own intrinsics for mistakes (PR
// 105593).
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace castor::kernels {
namespace {

using Floats = __m512;

// What a sweep does to s before it uses it.
enum class Renewal : unsigned char { none, first, second };

struct Pairs {
  Floats left, right;
};

inline __mmask16 mask_of(std::uint64_t count) {
  return count >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>((1U << count) - 1);
}

inline Floats gather(const float* values, __m512i columns, __mmask16 mask) {
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, columns, values, 4);
}

inline Pairs gather_pairs(const float* pairs, __m512i columns, __mmask16 mask) {
  const __m512d zero = _mm512_setzero_pd();
  const __m256i low_columns = _mm512_castsi512_si256(columns);
  const __m256i high_columns = _mm512_extracti64x4_epi64(columns, 1);
  const Floats low = _mm512_castpd_ps(
      _mm512_mask_i32gather_pd(zero, static_cast<__mmask8>(mask & 0xff), low_columns, pairs, 8));
  const Floats high = _mm512_castpd_ps(
      _mm512_mask_i32gather_pd(zero, static_cast<__mmask8>(mask >> 8), high_columns, pairs, 8));
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  return {_mm512_permutex2var_ps(low, even, high), _mm512_permutex2var_ps(low, odd, high)};
}

template <Renewal renewal>
void sweep(const CcdCall& call) {
  for (std::uint32_t row = 0; row < call.rows; ++row) {
    const std::uint64_t begin = call.begin[row], end = call.begin[row + 1];
    if (begin == end) continue;
    const Floats x = _mm512_set1_ps(call.mine[row]);
    Floats before = _mm512_setzero_ps();
    if constexpr (renewal != Renewal::none) before = _mm512_set1_ps(call.mine_before[row]);
    Floats above = _mm512_setzero_ps(), below = _mm512_setzero_ps();
    for (std::uint64_t n = begin; n < end; n += 16) {
      const __mmask16 mask = mask_of(end - n);
      const __m512i columns = _mm512_maskz_loadu_epi32(mask, call.columns + n);
      Floats s = _mm512_maskz_loadu_ps(mask, call.residuals + n);
      Floats y;
      if constexpr (renewal == Renewal::none) {
        y = gather(call.now, columns, mask);
      } else {
        const Pairs pairs = gather_pairs(call.pairs, columns, mask);
        s = _mm512_fnmadd_ps(before, pairs.left, s);
        s = _mm512_fmadd_ps(x, pairs.right, s);
        _mm512_mask_storeu_ps(call.residuals + n, mask, s);
        y = renewal == Renewal::first ? pairs.right : gather(call.now, columns, mask);
      }
      above = _mm512_fmadd_ps(s, y, above);
      below = _mm512_fmadd_ps(y, y, below);
    }
    const float degree = call.by_degree ? static_cast<float>(end - begin) : 1;
    const float divisor = _mm512_reduce_add_ps(below) + call.lambda * degree;
    if (divisor > 0) call.mine[row] = _mm512_reduce_add_ps(above) / divisor;
  }
}

void subtract(const CcdCall& call) {
  for (std::uint32_t row = 0; row < call.rows; ++row) {
    const Floats x = _mm512_set1_ps(call.mine[row]);
    for (std::uint64_t n = call.begin[row]; n < call.begin[row + 1]; n += 16) {
      const __mmask16 mask = mask_of(call.begin[row + 1] - n);
      const __m512i columns = _mm512_maskz_loadu_epi32(mask, call.columns + n);
      const Floats s = _mm512_maskz_loadu_ps(mask, call.residuals + n);
      _mm512_mask_storeu_ps(call.residuals + n, mask,
                            _mm512_fnmadd_ps(x, gather(call.now, columns, mask), s));
    }
  }
}

double squared_error(const CcdCall& call) {
  __m512d total = _mm512_setzero_pd();
  for (std::uint32_t row = 0; row < call.rows; ++row) {
    const Floats x = _mm512_set1_ps(call.mine[row]);
    for (std::uint64_t n = call.begin[row]; n < call.begin[row + 1]; n += 16) {
      const __mmask16 mask = mask_of(call.begin[row + 1] - n);
      const __m512i columns = _mm512_maskz_loadu_epi32(mask, call.columns + n);
      const Floats s = _mm512_maskz_loadu_ps(mask, call.residuals + n);
      const Floats error = _mm512_fnmadd_ps(x, gather(call.now, columns, mask), s);
      const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(error));
      const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(error, 1));
      total = _mm512_fmadd_pd(low, low, total);
      total = _mm512_fmadd_pd(high, high, total);
    }
  }
  return _mm512_reduce_add_pd(total);
}

}  // namespace

const CcdKernels ccd_avx512 = {sweep<Renewal::none>, sweep<Renewal::first>, sweep<Renewal::second>,
                               subtract, squared_error};

}  // namespace castor::kernels

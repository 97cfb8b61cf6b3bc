// mf_sgd for AVX2 and FMA. Anything but intrinsics and plain structs stays out: see
// instruction_set.h.
#include <immintrin.h>

#include "kernels/mf_sgd_lanes.h"

namespace castor::kernels {
namespace {

struct Lanes {
  __m256 v;

  static Lanes load(const float* from) { return {_mm256_load_ps(from)}; }
  static Lanes all(float value) { return {_mm256_set1_ps(value)}; }
  void store(float* to) const { _mm256_store_ps(to, v); }

  static Lanes inverse_root(Lanes a) {
    return {_mm256_div_ps(_mm256_set1_ps(1), _mm256_sqrt_ps(a.v))};
  }

  float sum() const {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    x = _mm_add_ss(x, _mm_movehdup_ps(x));
    return _mm_cvtss_f32(x);
  }

  static Lanes sums(const Lanes (&r)[8]) {
    const __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(r[0].v, r[1].v), _mm256_hadd_ps(r[2].v, r[3].v));
    const __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(r[4].v, r[5].v), _mm256_hadd_ps(r[6].v, r[7].v));
    return {_mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31))};
  }
};

inline Lanes operator+(Lanes a, Lanes b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Lanes operator-(Lanes a, Lanes b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline Lanes operator*(Lanes a, Lanes b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }

}  // namespace

double mf_sgd_avx2(const MfSgdCall& call) { return mf_sgd_lanes<Lanes>(call); }

}  // namespace castor::kernels

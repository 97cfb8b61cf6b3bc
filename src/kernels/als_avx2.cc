// als for AVX2 and FMA. Anything but plain structs stays out: see instruction_set.h.
#include "kernels/als_loops.h"

namespace castor::kernels {
namespace {

struct Set {
  typedef float V __attribute__((vector_size(32), may_alias));
  static constexpr int height = 4;
};

}  // namespace

const AlsKernels als_avx2 = als_kernels<Set>();

}  // namespace castor::kernels

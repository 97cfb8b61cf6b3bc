// als for AVX-512. Anything but plain structs stays out: see instruction_set.h.
#include "kernels/als_loops.h"

namespace castor::kernels {
namespace {

struct Set {
  typedef float V __attribute__((vector_size(64), may_alias));
  static constexpr int height = 16;
};

}  // namespace

const AlsKernels als_avx512 = als_kernels<Set>();

}  // namespace castor::kernels

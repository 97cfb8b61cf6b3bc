// ccd for AVX2 and FMA. Anything but plain structs stays out: see instruction_set.h.
#include "kernels/ccd_loops.h"

namespace castor::kernels {
namespace {

struct Set;

}  // namespace

const CcdKernels ccd_avx2 = CcdLoops<Set>::kernels();

}  // namespace castor::kernels

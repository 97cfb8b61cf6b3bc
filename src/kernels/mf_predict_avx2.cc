// mf_predict for AVX2 and FMA. Anything but plain structs stays out: see instruction_set.h.
#include "kernels/mf_predict_loops.h"

namespace castor::kernels {

const MfPredictKernels mf_predict_avx2 = {mf_predict_loops::dot, mf_predict_loops::errors,
                                          mf_predict_loops::block_errors, mf_predict_loops::scores};

}  // namespace castor::kernels

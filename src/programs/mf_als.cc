// Matrix factorisation by alternating least squares.
#include "programs/mf_solver.h"

namespace castor::programs {

Result<MfFit> fit_als(const MfInput&, const MfOptions&, const MfSetting&) {
  return error(Code::unsupported, "solver als is not built yet");
}

}  // namespace castor::programs

// Matrix factorisation by CCD++: one coordinate of all rows at a time.
#include "programs/mf_solver.h"

namespace castor::programs {

Result<MfFit> fit_ccd(const MfInput&, const MfOptions&, const MfSetting&) {
  return error(Code::unsupported, "solver ccd is not built yet");
}

}  // namespace castor::programs

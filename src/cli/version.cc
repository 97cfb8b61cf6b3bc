#include "cli/app.h"

namespace castor::cli {

std::string_view castor_version() { return CASTOR_VERSION; }

}  // namespace castor::cli

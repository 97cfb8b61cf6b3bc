#pragma once
// TOML, for what people write: read into a Json value. Errors name file, line and column.
//
// Thread: any.
#include <string_view>

#include "core/json.h"

namespace castor {

// Dates and times become strings.
Result<Json> parse_toml(std::string_view document, std::string_view where);

}  // namespace castor

#pragma once
// The head of a Matrix Market coordinate file (https://math.nist.gov/MatrixMarket/formats.html):
// the banner, comments and the size line. The entries are lines like any others, with ids from 1.
//
// Thread: any.
#include <string_view>

#include "core/result.h"
#include "data/line_format.h"

namespace castor::data {

bool is_matrix_market(std::string_view start);

// Coordinate, real, integer or pattern, general; anything else is Code::unsupported.
// REQUIRES: `start` begins the file and holds whole lines.
Result<DetectedFormat> read_matrix_market_header(std::string_view start, std::string_view name);

}  // namespace castor::data

// libFuzzer: arbitrary bytes as a file of ratings. Kept inputs are in tests/corpus/ratings.
#include <cstddef>
#include <cstdint>

#include "data/ratings_case.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  castor::data::check_ratings_case({data, size});
  return 0;
}

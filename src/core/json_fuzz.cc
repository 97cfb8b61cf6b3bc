// libFuzzer: any bytes are a JSON document or an error, and what was read is written so that it
// reads back to the same text. The same bytes as TOML never crash.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/check.h"
#include "core/json.h"
#include "core/toml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view document(reinterpret_cast<const char*>(data), size);
  if (const auto read = castor::Json::parse(document, "fuzz")) {
    const std::string once = read->dump(true);
    const auto again = castor::Json::parse(once, "fuzz");
    CHECK(again.has_value(), "does not read back: {}", once);
    CHECK(again->dump(true) == once, "{} became {}", once, again->dump(true));
  } else {
    CHECK(read.error().message().size() < 1000);
  }
  static_cast<void>(castor::parse_toml(document, "fuzz").has_value());
  return 0;
}

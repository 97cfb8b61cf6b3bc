// libFuzzer: a script of reads over arbitrary bytes. The first half of the input says what to read,
// the second half is read from; nothing may be yielded that is larger than the input.
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/bytes.h"
#include "core/check.h"
#include "core/compress.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> all(reinterpret_cast<const std::byte*>(data), size);
  const auto script = all.first(size / 2), input = all.subspan(size / 2);
  castor::ByteReader in(input);
  for (const std::byte step : script) {
    switch (static_cast<unsigned>(step) % 7) {
      case 0: static_cast<void>(in.get<std::uint64_t>()); break;
      case 1: static_cast<void>(in.get<bool>()); break;
      case 2: CHECK(in.get_string().size() <= input.size()); break;
      case 3: CHECK(in.get_array<double>().size() * sizeof(double) <= input.size()); break;
      case 4: CHECK(in.get_aligned<std::uint16_t>().size() * 2 <= input.size()); break;
      case 5: CHECK(in.view(static_cast<std::size_t>(step)).size() <= input.size()); break;
      default: static_cast<void>(in.get<double>()); break;
    }
  }
  CHECK(in.remaining() <= input.size());
  CHECK(in.finish("input").has_value() == (!in.failed() && in.remaining() == 0));
  static_cast<void>(castor::decompressed(input, script.size()).has_value());
  return 0;
}

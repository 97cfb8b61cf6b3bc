#include "core/bytes.h"

namespace castor {

std::string ByteReader::get_string() {
  const auto size = get<std::uint32_t>();
  return std::string(as_text(view(size)));
}

std::span<const std::byte> ByteReader::view(std::size_t size) {
  if (failed_ || size > rest_.size()) {
    fail();
    return {};
  }
  const auto result = rest_.first(size);
  rest_ = rest_.subspan(size);
  return result;
}

std::uint64_t ByteReader::array_count(std::size_t element_size) {
  const auto count = get<std::uint64_t>();
  if (failed_ || count > rest_.size() / element_size) {
    fail();
    return 0;
  }
  return count;
}

Status ByteReader::finish(std::string_view what) const {
  if (failed_) return error(Code::corrupt, "{} is cut short or damaged", what);
  if (!rest_.empty()) return error(Code::corrupt, "{} has {} bytes too many", what, rest_.size());
  return {};
}

namespace {

// Eight tables: eight bytes a step (slicing-by-8).
using CrcTables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr CrcTables make_tables() {
  CrcTables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    tables[0][i] = crc;
  }
  for (std::uint32_t i = 0; i < 256; ++i) {
    for (std::size_t t = 1; t < 8; ++t) {
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
    }
  }
  return tables;
}

constexpr CrcTables crc_tables = make_tables();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous) {
  std::uint32_t crc = ~previous;
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    word ^= crc;
    crc = 0;
    for (std::size_t t = 0; t < 8; ++t) crc ^= crc_tables[7 - t][(word >> (8 * t)) & 0xff];
  }
  for (; left > 0; --left, ++p) {
    crc = (crc >> 8) ^ crc_tables[0][(crc ^ static_cast<std::uint32_t>(*p)) & 0xff];
  }
  return ~crc;
}

}  // namespace castor

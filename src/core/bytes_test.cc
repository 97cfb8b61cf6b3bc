#include "core/bytes.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "core/property.h"

namespace castor {
namespace {

enum class Colour : std::uint8_t { red, green };

// One of everything a message may hold, in an order drawn from the seed.
struct Message {
  std::vector<int> order;
  bool flag = false;
  std::int64_t whole = 0;
  std::uint16_t small = 0;
  double real = 0;
  Colour colour = Colour::red;
  std::string word;
  std::vector<float> floats;
  std::vector<std::uint32_t> numbers;
};

Message drawn(Rng& rng) {
  Message m;
  for (std::uint64_t left = rng.below(12); left > 0; --left) {
    m.order.push_back(static_cast<int>(rng.below(8)));
  }
  m.flag = rng.below(2) == 1;
  m.whole = static_cast<std::int64_t>(rng.next());
  m.small = static_cast<std::uint16_t>(rng.next());
  m.real = rng.normal();
  m.colour = rng.below(2) == 0 ? Colour::red : Colour::green;
  for (std::uint64_t left = rng.below(20); left > 0; --left) {
    m.word += static_cast<char>(rng.below(256));
    m.floats.push_back(rng.uniform_float());
    m.numbers.push_back(static_cast<std::uint32_t>(rng.next()));
  }
  return m;
}

std::vector<std::byte> encoded(const Message& m) {
  ByteWriter out;
  for (const int kind : m.order) {
    switch (kind) {
      case 0: out.put(m.flag); break;
      case 1: out.put(m.whole); break;
      case 2: out.put(m.small); break;
      case 3: out.put(m.real); break;
      case 4: out.put(m.colour); break;
      case 5: out.put(m.word); break;
      case 6: out.put_array<float>(m.floats); break;
      default: out.put_array<std::uint32_t>(m.numbers); break;
    }
  }
  return out.take();
}

// Whether everything read equals what `m` holds; reads on after a failure, as a decoder would.
bool reads_back(const Message& m, ByteReader& in) {
  bool same = true;
  for (const int kind : m.order) {
    switch (kind) {
      case 0: same &= in.get<bool>() == m.flag; break;
      case 1: same &= in.get<std::int64_t>() == m.whole; break;
      case 2: same &= in.get<std::uint16_t>() == m.small; break;
      case 3: same &= in.get<double>() == m.real; break;
      case 4: same &= in.get<Colour>() == m.colour; break;
      case 5: same &= in.get_string() == m.word; break;
      case 6: {
        const auto floats = in.get_aligned<float>();
        same &= std::vector<float>(floats.begin(), floats.end()) == m.floats;
        break;
      }
      default: same &= in.get_array<std::uint32_t>() == m.numbers; break;
    }
  }
  return same;
}

TEST(ByteWriter, WritesLittleEndianWithoutPadding) {
  ByteWriter out;
  out.put<std::uint8_t>(1);
  out.put<std::uint32_t>(0x05040302);
  out.put("ab");
  const std::vector<std::byte> bytes = out.take();
  const std::vector<std::uint8_t> expected = {1, 2, 3, 4, 5, 2, 0, 0, 0, 'a', 'b'};
  ASSERT_EQ(bytes.size(), expected.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(static_cast<std::uint8_t>(bytes[i]), expected[i]) << i;
  }
}

TEST(ByteReader, ReadsBackWhatWasWritten) {
  for_seeds(300, [](Rng& rng) {
    const Message m = drawn(rng);
    const std::vector<std::byte> bytes = encoded(m);
    ByteReader in(bytes);
    EXPECT_TRUE(reads_back(m, in));
    EXPECT_TRUE(in.finish("message"));
  });
}

TEST(ByteReader, NeverReadsPastItsSpan) {  // the sanitizer build watches the end of each copy
  for_seeds(100, [](Rng& rng) {
    const Message m = drawn(rng);
    const std::vector<std::byte> bytes = encoded(m);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::vector<std::byte> cut(bytes.begin(),
                                       bytes.begin() + static_cast<std::ptrdiff_t>(size));
      ByteReader in(cut);
      static_cast<void>(reads_back(m, in));
      const Status status = in.finish("message");
      ASSERT_FALSE(status.has_value()) << "cut to " << size << " of " << bytes.size();
      ASSERT_EQ(status.error().code(), Code::corrupt);
    }
  });
}

TEST(ByteReader, SaysWhenBytesAreLeftOver) {
  const std::vector<std::byte> bytes(3);
  ByteReader in(bytes);
  static_cast<void>(in.get<std::uint8_t>());
  EXPECT_EQ(in.finish("a head").error().message(), "a head has 2 bytes too many");
}

TEST(ByteReader, GarbageYieldsNoMoreThanItsOwnSize) {
  for_seeds(300, [](Rng& rng) {
    std::vector<std::byte> garbage(rng.below(200));
    for (std::byte& b : garbage) b = static_cast<std::byte>(rng.next());
    // Half the time a plausible count in front, so that reading goes on.
    if (garbage.size() >= 8 && rng.below(2) == 0) {
      for (std::size_t i = 1; i < 8; ++i) garbage[i] = std::byte{0};
    }
    ByteReader in(garbage);
    for (int step = 0; step < 20; ++step) {
      switch (rng.below(5)) {
        case 0: ASSERT_LE(in.get_string().size(), garbage.size()); break;
        case 1: ASSERT_LE(in.get_array<double>().capacity() * 8, garbage.size()); break;
        case 2: ASSERT_LE(in.get_aligned<float>().size() * 4, garbage.size()); break;
        case 3: ASSERT_LE(in.view(rng.next() >> rng.below(64)).size(), garbage.size()); break;
        default: static_cast<void>(in.get<std::uint32_t>()); break;
      }
    }
  });
}

TEST(ByteReader, StaysFailedAndYieldsZeros) {
  const std::vector<std::byte> bytes(16, std::byte{0xff});
  ByteReader in(bytes);
  EXPECT_TRUE(in.get_array<std::uint64_t>().empty());  // a count of 2^64 - 1
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(in.get<std::uint64_t>(), 0u);
  EXPECT_EQ(in.get_string(), "");
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_FALSE(in.finish("it"));
}

TEST(ByteReader, RefusesABooleanThatIsNeitherZeroNorOne) {
  const std::vector<std::byte> bytes(1, std::byte{2});
  ByteReader in(bytes);
  EXPECT_FALSE(in.get<bool>());
  EXPECT_TRUE(in.failed());
}

TEST(Crc32c, HasTheValueOfTheStandard) {
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c({}), 0u);
  // RFC 3720, appendix B.4.
  EXPECT_EQ(crc32c(std::vector<std::byte>(32)), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43u);
}

TEST(Crc32c, AnySplitEqualsTheWhole) {
  Rng rng(StreamKey{});
  std::vector<std::byte> bytes(83);
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng.next());
  const std::span<const std::byte> all = bytes;
  for (std::size_t from = 0; from < 9; ++from) {  // every alignment
    const auto part = all.subspan(from);
    for (std::size_t at = 0; at <= part.size(); ++at) {
      ASSERT_EQ(crc32c(part.subspan(at), crc32c(part.first(at))), crc32c(part))
          << from << ' ' << at;
    }
  }
}

TEST(Crc32c, NoticesEveryFlippedBit) {
  std::vector<std::byte> bytes(40, std::byte{0x5a});
  const std::uint32_t before = crc32c(bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    ASSERT_NE(crc32c(bytes), before) << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
}

}  // namespace
}  // namespace castor

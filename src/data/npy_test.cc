#include "data/npy.h"

#include <gtest/gtest.h>

#include "core/property.h"
#include "data/fixture.h"

namespace castor::data {
namespace {

template <class T>
std::vector<T> counting(std::size_t n) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<T>(i * 3 + 1);
  return values;
}

template <class T>
void expect_round_trip(std::string_view type) {
  Disk disk;
  const std::vector<T> values = counting<T>(15);
  ASSERT_TRUE(write_npy<T>(disk.files, "v.npy", values).has_value());
  const auto vector = read_npy<T>(disk.files, "v.npy");
  ASSERT_TRUE(vector.has_value()) << vector.error().message();
  EXPECT_EQ(vector->values, values);
  EXPECT_EQ(vector->shape, (NpyShape{npy_type<T>(), 1, 15, 1}));
  EXPECT_NE(disk.get("v.npy").find(type), std::string::npos);
  EXPECT_EQ(disk.get("v.npy").size(), 128 + 15 * sizeof(T));
  ASSERT_TRUE(write_npy<T>(disk.files, "m.npy", values, {.rows = 3, .cols = 4, .stride = 5}, true)
                  .has_value());
  const auto matrix = read_npy<T>(disk.files, "m.npy");
  ASSERT_TRUE(matrix.has_value());
  EXPECT_EQ(matrix->shape, (NpyShape{npy_type<T>(), 2, 3, 4}));
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(matrix->values[r * 4 + c], values[r * 5 + c]);
  }
}

TEST(Npy, EveryTypeReadsBackAsWritten) {
  expect_round_trip<float>("<f4");
  expect_round_trip<double>("<f8");
  expect_round_trip<std::int32_t>("<i4");
  expect_round_trip<std::int64_t>("<i8");
  expect_round_trip<std::uint32_t>("<u4");
}

TEST(Npy, AnyShapeAndStrideInAnyPiecesReadsBack) {
  for_seeds(100, [](Rng& rng) {
    const std::uint64_t rows = rng.below(40), cols = rng.below(9);
    const std::uint64_t stride = cols + rng.below(5), stride_back = cols + rng.below(5);
    const std::vector<float> values = counting<float>(rows * stride);
    Disk disk;
    auto writer = NpyWriter::open(disk.files, "a", {NpyType::f32, 2, rows, cols});
    ASSERT_TRUE(writer.has_value());
    for (std::uint64_t row = 0; row < rows;) {
      const std::uint64_t count = 1 + rng.below(rows - row);
      ASSERT_TRUE(
          writer->add_rows(std::span(values).subspan(row * stride), count, stride).has_value());
      row += count;
    }
    ASSERT_TRUE(writer->finish().has_value());
    auto reader = NpyReader::open(disk.files, "a");
    ASSERT_TRUE(reader.has_value()) << reader.error().message();
    std::vector<float> back(rows * stride_back, -1);
    for (std::uint64_t row = 0; row < rows;) {
      const std::uint64_t count = 1 + rng.below(rows - row);
      ASSERT_TRUE(reader->read_rows(std::span(back).subspan(row * stride_back), count, stride_back)
                      .has_value());
      row += count;
    }
    for (std::uint64_t i = 0; i < back.size(); ++i) {
      const std::uint64_t row = i / stride_back, col = i % stride_back;
      EXPECT_EQ(back[i], col < cols ? values[row * stride + col] : -1);
    }
  });
}

std::string npy_of(std::string_view header, std::size_t data_bytes) {
  std::string out("\x93NUMPY\1\0", 8);
  out += {static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  return out + std::string(header) + std::string(data_bytes, '\0');
}

Code code_of(std::string_view content) {
  Disk disk;
  disk.put("a", content);
  const auto result = read_npy<float>(disk.files, "a");
  CHECK(!result.has_value(), "{}", printable(content));
  return result.error().code();
}

TEST(Npy, WhatNumpyWritesIsRead) {
  Disk disk;
  for (const char* header :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n",
        "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}\n",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (6,), }\n"}) {
    disk.put("a", npy_of(header, 24));
    EXPECT_TRUE(read_npy<float>(disk.files, "a").has_value()) << header;
  }
}

TEST(Npy, MalformedFilesAreErrorsNotCrashes) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
  EXPECT_EQ(code_of(""), Code::corrupt);
  EXPECT_EQ(code_of("\x93NUMPX\1\0aaaa"), Code::corrupt);
  EXPECT_EQ(code_of(npy_of(good, 23)), Code::corrupt);
  EXPECT_EQ(code_of(npy_of(good, 25)), Code::corrupt);
  EXPECT_EQ(code_of(npy_of("{'descr': '<f4', 'fortran_order': False}\n", 0)), Code::corrupt);
  EXPECT_EQ(code_of(npy_of(good + "x", 24)), Code::corrupt);
  EXPECT_EQ(code_of(npy_of("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}\n", 4)),
            Code::corrupt);
  EXPECT_EQ(code_of(npy_of("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}\n", 4)),
            Code::corrupt);
  EXPECT_EQ(code_of(npy_of("{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}\n", 4)), Code::corrupt);
  EXPECT_EQ(code_of(npy_of("{'descr': '<f4', 'fortran_order': False, "
                           "'shape': (4294967296, 4294967296)}\n",
                           4)),
            Code::corrupt);
  EXPECT_EQ(code_of(npy_of("{'descr': '<f4', 'fortran_order': False, "
                           "'shape': (4611686018427387904, 4)}\n",
                           0)),
            Code::corrupt);
  EXPECT_EQ(code_of(npy_of("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}\n", 4)),
            Code::unsupported);
  EXPECT_EQ(code_of(npy_of("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}\n", 24)),
            Code::unsupported);
  EXPECT_EQ(code_of(npy_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1)}\n", 4)),
            Code::unsupported);
  EXPECT_EQ(code_of(npy_of("{'descr': '<f4', 'fortran_order': False, 'shape': ()}\n", 4)),
            Code::unsupported);
  EXPECT_EQ(code_of(npy_of("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}\n", 8)),
            Code::invalid);
}

TEST(Npy, DamagedHeadersNeverCrash) {
  const std::string good =
      npy_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
  for_seeds(2000, [&](Rng& rng) {
    std::string bytes = good;
    for (std::uint64_t i = 0, n = 1 + rng.below(4); i < n; ++i) {
      bytes[rng.below(bytes.size() - 24)] = static_cast<char>(rng.below(256));
    }
    Disk disk;
    disk.put("a", bytes);
    const auto result = read_npy<float>(disk.files, "a");
    if (result.has_value()) {
      EXPECT_EQ(result->values.size(), 6u);
    }
  });
}

TEST(Npy, TooLargeIsRefusedBeforeAllocating) {
  Disk disk;
  const std::vector<float> values(100);
  ASSERT_TRUE(write_npy<float>(disk.files, "a", values).has_value());
  EXPECT_EQ(read_npy<float>(disk.files, "a", 399).error().code(), Code::exhausted);
  EXPECT_TRUE(read_npy<float>(disk.files, "a", 400).has_value());
}

}  // namespace
}  // namespace castor::data

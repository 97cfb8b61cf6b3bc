#include "ps/block.h"

#include <gtest/gtest.h>

#include "core/property.h"

namespace castor::ps {
namespace {

constexpr Element elements[] = {Element::f32, Element::f64, Element::i32, Element::i64};
constexpr RowKind kinds[] = {RowKind::dense, RowKind::sparse, RowKind::scalar};

// f(R{}) for the row type of the shape.
template <class F>
void with_row(const BlockShape& shape, F&& f) {
  auto with_value = [&](auto zero) {
    using T = decltype(zero);
    switch (shape.kind) {
      case RowKind::dense: return f(Dense<T>{});
      case RowKind::sparse: return f(Sparse<T>{});
      case RowKind::scalar: return f(Scalar<T>{});
    }
  };
  switch (shape.element) {
    case Element::f32: return with_value(float{});
    case Element::f64: return with_value(double{});
    case Element::i32: return with_value(std::int32_t{});
    case Element::i64: return with_value(std::int64_t{});
  }
}

template <class R>
auto value_at(const Block& block, RowId row, std::uint32_t column) {
  const auto view = block.view<R>();
  if constexpr (R::kind == RowKind::dense) {
    return view[row][column];
  } else if constexpr (R::kind == RowKind::sparse) {
    return view[row].get(column);
  } else {
    return view[row];
  }
}

template <class R>
void set_at(Block& block, RowId row, std::uint32_t column, typename R::Value value) {
  const auto view = block.view<R>();
  if constexpr (R::kind == RowKind::dense) {
    view[row][column] = value;
  } else if constexpr (R::kind == RowKind::sparse) {
    view[row].set(column, value);
  } else {
    view[row] = value;
  }
}

void fill(Rng& rng, Block& block) {
  const BlockShape shape = block.shape();
  with_row(shape, [&](auto tag) {
    using R = decltype(tag);
    const std::uint64_t writes = rng.below(std::uint64_t{shape.rows} * shape.width * 2 + 1);
    for (std::uint64_t i = 0; i < writes; ++i) {
      const RowId row = shape.first + rng.below(shape.rows);
      const auto column = static_cast<std::uint32_t>(rng.below(shape.width));
      set_at<R>(block, row, column, static_cast<typename R::Value>(rng.below(5)));
    }
  });
}

BlockShape random_shape(Rng& rng) {
  BlockShape shape;
  shape.kind = kinds[rng.below(3)];
  shape.element = elements[rng.below(4)];
  shape.first = rng.below(1000);
  shape.rows = static_cast<std::uint32_t>(1 + rng.below(6));
  shape.width = shape.kind == RowKind::scalar ? 1 : static_cast<std::uint32_t>(1 + rng.below(40));
  return shape;
}

void expect_equal(const Block& a, const Block& b) {
  ASSERT_TRUE(a.shape() == b.shape());
  with_row(a.shape(), [&](auto tag) {
    using R = decltype(tag);
    for (RowId row = a.shape().first; row < a.shape().first + a.shape().rows; ++row) {
      for (std::uint32_t column = 0; column < a.shape().width; ++column) {
        ASSERT_EQ(value_at<R>(a, row, column), value_at<R>(b, row, column));
      }
    }
  });
}

std::vector<std::byte> encoded(const Block& block) {
  ByteWriter out;
  block.encode(out);
  return out.take();
}

TEST(Block, DecodesWhatItEncodes) {
  for_seeds(400, [](Rng& rng) {
    Block block(random_shape(rng));
    fill(rng, block);
    const std::vector<std::byte> bytes = encoded(block);
    EXPECT_EQ(block.encoded_bytes(), bytes.size());
    Block again(block.shape());
    fill(rng, again);  // what was there before does not matter
    ByteReader in(bytes);
    ASSERT_TRUE(again.decode(in));
    EXPECT_EQ(in.remaining(), 0U);
    expect_equal(block, again);
    EXPECT_EQ(encoded(again), bytes);
  });
}

TEST(Block, EveryTruncationIsAnError) {
  for_seeds(60, [](Rng& rng) {
    Block block(random_shape(rng));
    fill(rng, block);
    const std::vector<std::byte> bytes = encoded(block);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      Block again(block.shape());
      ByteReader in({bytes.data(), size});
      const Status status = again.decode(in);
      ASSERT_FALSE(status) << size << " of " << bytes.size();
      ASSERT_EQ(status.error().code(), Code::corrupt);
    }
  });
}

TEST(Block, GarbageDecodesToAnErrorOrToABlockThatEncodesToIt) {
  for_seeds(2000, [](Rng& rng) {
    Block block(random_shape(rng));
    std::vector<std::byte> bytes(rng.below(300));
    const bool small = rng.below(2) == 0;  // small numbers get further
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(small ? rng.below(4) : rng.below(256));
    ByteReader in(bytes);
    if (!block.decode(in) || block.shape().element == Element::f32 ||
        block.shape().element == Element::f64) {
      return;
    }
    bytes.resize(bytes.size() - in.remaining());
    EXPECT_EQ(encoded(block), bytes);
  });
}

TEST(Block, ChangedBytesOfASparseBlockNeverCrash) {
  for_seeds(100, [](Rng& rng) {
    BlockShape shape = random_shape(rng);
    shape.kind = RowKind::sparse;
    Block block(shape);
    fill(rng, block);
    std::vector<std::byte> bytes = encoded(block);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const std::byte before = bytes[at];
      bytes[at] = static_cast<std::byte>(rng.below(256));
      Block again(shape);
      ByteReader in(bytes);
      if (again.decode(in)) {
        EXPECT_LE(encoded(again).size(), bytes.size());
      }
      bytes[at] = before;
    }
  });
}

// The encoding is part of the checkpoint format: docs/formats/checkpoint.md.
TEST(Block, EncodesToTheseBytes) {
  const auto hex = [](const Block& block) {
    std::string text_of;
    for (const std::byte byte : encoded(block)) {
      constexpr std::string_view digits = "0123456789abcdef";
      text_of += digits[static_cast<unsigned>(byte) >> 4];
      text_of += digits[static_cast<unsigned>(byte) & 15];
    }
    return text_of;
  };
  Block dense({RowKind::dense, Element::f32, 4, 2, 2});
  dense.view<Dense<float>>()[4][1] = 1;
  dense.view<Dense<float>>()[5][0] = -2;
  EXPECT_EQ(hex(dense), "000000000000803f000000c000000000");
  Block scalar({RowKind::scalar, Element::i64, 0, 1, 1});
  scalar.view<Scalar<std::int64_t>>()[0] = 258;
  EXPECT_EQ(hex(scalar), "0201000000000000");
  Block sparse({RowKind::sparse, Element::i32, 0, 3, 100});
  sparse.view<Sparse<std::int32_t>>()[1].set(7, -1);
  sparse.view<Sparse<std::int32_t>>()[1].set(3, 5);
  for (std::uint32_t c = 0; c < 60; ++c) sparse.view<Sparse<std::int32_t>>()[2].set(c, 1);
  EXPECT_EQ(hex(sparse).substr(0, 62),
            "0000000000"  // row 0: nothing
            "0200000002"
            "0300000005000000"
            "07000000ffffffff"  // row 1: 2 values in 4 slots
            "3c000000ff");      // row 2: 60 values in a plain array
}

TEST(Block, RowsOfALineOrMoreArePaddedToWholeLinesAndNarrowerOnesPacked) {
  for (const Element element : elements) {
    const std::uint32_t line = element_bytes(element) == 4 ? 16 : 8;
    for (std::uint32_t width = 1; width < 100; ++width) {
      const std::uint32_t stride = stride_of(element, width);
      EXPECT_EQ(stride, width < line ? width : (width + line - 1) / line * line);
    }
  }
}

TEST(Block, RowsAreAlignedAndPaddingStaysZero) {
  for_seeds(50, [](Rng& rng) {
    BlockShape shape = random_shape(rng);
    shape.kind = RowKind::dense, shape.element = Element::f32;
    Block block(shape), other(shape);
    fill(rng, block);
    fill(rng, other);
    block.add(other);
    const auto view = block.view<Dense<float>>();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data()) % cache_line_bytes, 0U);
    for (std::uint32_t row = 0; row < shape.rows; ++row) {
      for (std::uint32_t column = shape.width; column < view.stride(); ++column) {
        EXPECT_EQ(view.data()[row * view.stride() + column], 0);
      }
    }
  });
}

TEST(Block, AddChangesExactlyTheRowsTouched) {
  for_seeds(300, [](Rng& rng) {
    const BlockShape shape = random_shape(rng);
    Block block(shape), change(shape);
    fill(rng, block);
    fill(rng, change);
    const Block before = block.copy();
    std::vector<std::uint8_t> touched(shape.rows);
    for (std::uint8_t& row : touched) row = static_cast<std::uint8_t>(rng.below(2));
    block.add_rows(change, touched);
    with_row(shape, [&](auto tag) {
      using R = decltype(tag);
      for (RowId row = shape.first; row < shape.first + shape.rows; ++row) {
        for (std::uint32_t column = 0; column < shape.width; ++column) {
          const auto added = touched[row - shape.first] != 0 ? value_at<R>(change, row, column) : 0;
          ASSERT_EQ(value_at<R>(block, row, column), value_at<R>(before, row, column) + added);
        }
      }
    });
    block.set_zero();
    expect_equal(block, Block(shape));
  });
}

TEST(BlockDeath, AViewOfAnotherRowTypeIsABug) {
  Block block({RowKind::dense, Element::f32, 0, 1, 4});
  EXPECT_DEATH(block.view<Dense<double>>(), "another row type");
  EXPECT_DEATH(block.view<Sparse<float>>(), "another row type");
}

}  // namespace
}  // namespace castor::ps

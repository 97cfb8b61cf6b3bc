#include "ps/sparse_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "core/property.h"

namespace castor {
namespace {

template <class T>
void expect_equal(const SparseRow<T>& row, const std::map<std::uint32_t, T>& model) {
  ASSERT_EQ(row.count(), model.size());
  const auto found = row.sorted();
  ASSERT_EQ(found.size(), model.size());
  auto expected = model.begin();
  for (const auto& [column, value] : found) {
    ASSERT_EQ(column, expected->first);
    ASSERT_EQ(value, expected->second);
    ++expected;
  }
  for (std::uint32_t column = 0; column < std::min(row.width(), 70U); ++column) {
    const auto at = model.find(column);
    ASSERT_EQ(row.get(column), at == model.end() ? T{} : at->second);
  }
}

template <class T>
void set_model(std::map<std::uint32_t, T>& model, std::uint32_t column, T value) {
  if (value == T{}) {
    model.erase(column);
  } else {
    model[column] = value;
  }
}

// One random operation on both.
template <class T>
void operate(Rng& rng, SparseRow<T>& row, std::map<std::uint32_t, T>& model, bool prefers_zero) {
  const auto column = static_cast<std::uint32_t>(rng.below(row.width()));
  const auto value = static_cast<T>(static_cast<int>(rng.below(7)) - 3);
  const std::uint64_t kind = rng.below(prefers_zero ? 10 : 20);
  if (kind == 0 && rng.below(20) == 0) {
    row.clear();
    model.clear();
  } else if (kind <= 5) {
    row.set(column, T{});
    model.erase(column);
  } else if (kind <= 8) {
    row.set(column, value);
    set_model(model, column, value);
  } else {
    row.add(column, value);
    set_model(model, column,
              static_cast<T>((model.contains(column) ? model[column] : T{}) + value));
  }
}

template <class T>
void random_operations(Rng& rng) {
  const std::uint32_t widths[] = {1, 2, 3, 5, 16, 40, 64, 200, 5000};
  SparseRow<T> row(widths[rng.below(std::size(widths))]);
  std::map<std::uint32_t, T> model;
  for (int step = 0; step < 600; ++step) {
    operate(rng, row, model, (step / 150) % 2 == 1);
    if (step % 7 == 0) expect_equal(row, model);
    if (testing::Test::HasFatalFailure()) return;
  }
  expect_equal(row, model);
}

TEST(SparseRow, IsAMapFromColumnsToNonZeros) {
  for_seeds(60, [](Rng& rng) {
    random_operations<float>(rng);
    random_operations<double>(rng);
    random_operations<std::int32_t>(rng);
    random_operations<std::int64_t>(rng);
  });
}

// A table of four slots: every set of at most three columns, every deletion, with runs that wrap
// around.
TEST(SparseRow, DeletingKeepsTheRestReachableForAllSmallSets) {
  constexpr std::uint32_t width = 64;
  for (std::uint32_t a = 0; a < width; ++a) {
    for (std::uint32_t b = 0; b < width; ++b) {
      for (std::uint32_t c = 0; c < width; ++c) {
        if (a == b || b == c || a == c) continue;
        SparseRow<double> row(width);
        row.set(a, 1), row.set(b, 2), row.set(c, 3);
        row.set(a, 0);
        ASSERT_EQ(row.count(), 2U);
        ASSERT_EQ(row.get(a), 0);
        ASSERT_EQ(row.get(b), 2);
        ASSERT_EQ(row.get(c), 3);
      }
    }
  }
}

TEST(SparseRow, TurnsIntoAnArrayWhenFullAndBackWhenNearlyEmpty) {
  SparseRow<float> row(1000);
  for (std::uint32_t column = 0; column < 1000; ++column) row.set(column, 1);
  EXPECT_TRUE(row.is_dense());
  EXPECT_EQ(row.count(), 1000U);
  for (std::uint32_t column = 0; column < 990; ++column) row.set(column, 0);
  EXPECT_FALSE(row.is_dense());
  EXPECT_EQ(row.sorted().size(), 10U);
  EXPECT_EQ(row.get(995), 1);
}

TEST(SparseRow, NegativeZeroIsNoValueInEitherForm) {
  for (const std::uint32_t width : {1U, 1000U}) {
    SparseRow<double> row(width);
    row.set(0, 1);
    row.set(0, -0.0);
    EXPECT_EQ(row.count(), 0U);
    EXPECT_FALSE(std::signbit(row.get(0)));
  }
}

TEST(SparseRow, NotANumberIsAValueAndStaysOne) {
  SparseRow<float> row(100);
  row.set(3, std::nanf(""));
  EXPECT_EQ(row.count(), 1U);
  row.add(3, 1);
  EXPECT_TRUE(std::isnan(row.get(3)));
}

TEST(SparseRow, IntegersWrapAround) {
  SparseRow<std::int32_t> row(10);
  row.set(1, std::numeric_limits<std::int32_t>::max());
  row.add(1, 1);
  EXPECT_EQ(row.get(1), std::numeric_limits<std::int32_t>::min());
}

TEST(SparseRow, ApplyAddsEveryValueOfTheDelta) {
  for_seeds(50, [](Rng& rng) {
    SparseRow<std::int64_t> row(300), delta(300);
    std::map<std::uint32_t, std::int64_t> model, change;
    for (int i = 0; i < 100; ++i) operate(rng, row, model, false);
    for (int i = 0; i < 100; ++i) operate(rng, delta, change, false);
    row.apply(delta);
    for (const auto& [column, value] : change) {
      set_model(model, column, (model.contains(column) ? model[column] : 0) + value);
    }
    expect_equal(row, model);
  });
}

template <class T>
std::vector<std::uint32_t> order_of(const SparseRow<T>& row) {
  std::vector<std::uint32_t> columns;
  row.for_each([&columns](std::uint32_t column, T) { columns.push_back(column); });
  return columns;
}

// What makes a checkpoint exact for a program that goes over a row: the order is that of a row into
// which the same values came once, in increasing order.
TEST(SparseRow, OrderOfVisitsDependsOnValuesAndLayoutAlone) {
  for_seeds(300, [](Rng& rng) {
    SparseRow<float> row(static_cast<std::uint32_t>(1 + rng.below(400)));
    std::map<std::uint32_t, float> model;
    for (int i = 0; i < 300; ++i) operate(rng, row, model, i % 100 > 60);
    SparseRow<float> again(row.width());
    ASSERT_TRUE(again.set_layout(row.layout(), row.count()));
    for (const auto& [column, value] : model) again.set(column, value);
    EXPECT_EQ(again.layout(), row.layout());
    EXPECT_EQ(order_of(again), order_of(row));
  });
}

TEST(SparseRow, OrderOfVisitsIsFreeOfHistoryForEveryOrderOfArrival) {
  std::vector<std::uint32_t> columns = {3, 8, 13, 21, 34, 61};
  std::vector<std::uint32_t> expected;
  do {
    SparseRow<double> row(64);
    for (const std::uint32_t column : columns) row.set(column, 1);
    if (expected.empty()) expected = order_of(row);
    ASSERT_EQ(order_of(row), expected);
  } while (std::next_permutation(columns.begin(), columns.end()));
}

TEST(SparseRow, RefusesLayoutsThatNoRowHas) {
  for (const std::uint32_t width : {1U, 7U, 64U, 1000U}) {
    for (unsigned layout = 0; layout < 256; ++layout) {
      for (std::uint32_t count = 0; count <= width + 1; ++count) {
        SparseRow<float> row(width);
        if (!row.set_layout(static_cast<std::uint8_t>(layout), count)) continue;
        ASSERT_LE(count, width);
        ASSERT_EQ(row.layout(), layout);
        for (std::uint32_t column = 0; column < count; ++column) row.set(column, 1);
        ASSERT_EQ(row.layout(), layout) << "width " << width << " count " << count;
      }
    }
  }
}

}  // namespace
}  // namespace castor

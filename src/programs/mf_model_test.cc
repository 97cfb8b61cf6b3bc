#include "programs/mf_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels/mf_sgd.h"
#include "programs/mf_errors.h"
#include "programs/mf_fixture.h"

namespace castor::programs {
namespace {

class MfModelFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/castor-model-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    ASSERT_TRUE(files_->remove_tree(folder_).has_value());
  }
  void TearDown() override { ASSERT_TRUE(files_->remove_tree(folder_).has_value()); }

  static MfModel model(std::uint32_t rank, bool biases) {
    MfModel model;
    Rng rng({7, 0, 0, 0});
    MfFactors& factors = model.factors;
    factors.rank = rank;
    factors.mean = 3.25F;
    const std::size_t stride = kernels::mf_stride(rank);
    factors.user_rows = AlignedVector<float>(3 * stride);
    factors.item_rows = AlignedVector<float>(4 * stride);
    for (AlignedVector<float>* rows : {&factors.user_rows, &factors.item_rows}) {
      for (std::size_t i = 0; i < rows->size(); ++i) {
        if (i % stride < rank) (*rows)[i] = static_cast<float>(rng.normal());
      }
    }
    if (biases) {
      for (int i = 0; i < 3; ++i) factors.user_biases.push_back({0.5F * static_cast<float>(i), 1});
      for (int i = 0; i < 4; ++i)
        factors.item_biases.push_back({-0.25F * static_cast<float>(i), 1});
    }
    for (const char* id : {"anna", "4294967297", "with,comma"}) model.users.add(id);
    for (const char* id : {"x", "y", "007", "7"}) model.items.add(id);
    model.seen.offsets = {0, 2, 2, 3};
    model.seen.items = {0, 3, 1};
    model.ratings = 3;
    model.value_least = 1;
    model.value_most = 5;
    model.options.set("rank", rank);
    model.metrics.set("test_rmse", 0.5);
    return model;
  }

  void overwrite_byte(const std::string& name, std::size_t at, std::byte change) {
    const std::string path = world::joined_path(folder_, name);
    auto bytes = world::read_whole(*files_, path, 1u << 20);
    ASSERT_TRUE(bytes.has_value());
    ASSERT_LT(at, bytes->size());
    (*bytes)[at] ^= change;
    ASSERT_TRUE(world::write_atomically(*files_, path, *bytes).has_value());
  }

  std::unique_ptr<world::Files> files_ = world::real_files();
  std::string folder_;
};

TEST_F(MfModelFolder, ComesBackAsItWasSaved) {
  for (const std::uint32_t rank : {1U, 16U, 20U}) {
    for (const bool biases : {false, true}) {
      const MfModel saved = model(rank, biases);
      ASSERT_TRUE(save_model(*files_, folder_, saved, "0").has_value());
      const auto loaded = load_model(*files_, folder_);
      ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
      EXPECT_EQ(loaded->factors.rank, rank);
      EXPECT_EQ(std::memcmp(loaded->factors.user_rows.data(), saved.factors.user_rows.data(),
                            saved.factors.user_rows.size() * sizeof(float)),
                0);
      EXPECT_EQ(loaded->factors.user_biases.size(), biases ? 3U : 0U);
      EXPECT_EQ(loaded->factors.mean, 3.25F);
      EXPECT_EQ(loaded->users.text(1), "4294967297");
      EXPECT_EQ(loaded->items.find("007"), 2U);
      EXPECT_EQ(loaded->items.find("7"), 3U);
      EXPECT_EQ(loaded->seen.items, saved.seen.items);
      for (std::uint32_t u = 0; u < 3; ++u) {
        for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(loaded->predict(u, i), saved.predict(u, i));
      }
    }
  }
}

TEST_F(MfModelFolder, LeavesNothingOfAnOlderModelBehind) {
  ASSERT_TRUE(save_model(*files_, folder_, model(4, true), "0").has_value());
  MfModel plain = model(4, false);
  plain.seen = {};
  ASSERT_TRUE(save_model(*files_, folder_, plain, "0").has_value());
  const auto names = files_->list(folder_);
  ASSERT_TRUE(names.has_value());
  const std::vector<std::string> expected = {"item_factors.npy", "items.txt", "model.json",
                                             "user_factors.npy", "users.txt"};
  EXPECT_EQ(*names, expected);
}

TEST_F(MfModelFolder, ADamagedArrayIsNoticedWhateverByteItIs) {
  ASSERT_TRUE(save_model(*files_, folder_, model(4, true), "0").has_value());
  for (const char* name : {"user_factors.npy", "item_factors.npy", "user_bias.npy", "item_bias.npy",
                           "seen_offsets.npy", "seen_items.npy"}) {
    const auto bytes = world::read_whole(*files_, world::joined_path(folder_, name), 1u << 20);
    ASSERT_TRUE(bytes.has_value());
    for (std::size_t at = 128; at < bytes->size(); ++at) {  // the payload
      overwrite_byte(name, at, std::byte{0x40});
      const auto loaded = load_model(*files_, folder_);
      ASSERT_FALSE(loaded.has_value()) << name << " byte " << at;
      EXPECT_EQ(loaded.error().code(), Code::corrupt);
      overwrite_byte(name, at, std::byte{0x40});
    }
  }
  EXPECT_TRUE(load_model(*files_, folder_).has_value());
}

TEST_F(MfModelFolder, ArraysOfTwoModelsAreNotTakenForOne) {
  ASSERT_TRUE(save_model(*files_, folder_, model(4, false), "0").has_value());
  const auto old_array =
      world::read_whole(*files_, world::joined_path(folder_, "item_factors.npy"), 1u << 20);
  MfModel other = model(4, false);
  for (float& value : other.factors.item_rows) value *= 2;
  ASSERT_TRUE(save_model(*files_, folder_, other, "0").has_value());
  ASSERT_TRUE(
      world::write_atomically(*files_, world::joined_path(folder_, "item_factors.npy"), *old_array)
          .has_value());
  EXPECT_FALSE(load_model(*files_, folder_).has_value());
}

TEST_F(MfModelFolder, AFolderWithoutModelSaysSo) {
  ASSERT_TRUE(files_->make_folders(folder_).has_value());
  const auto loaded = load_model(*files_, folder_);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code(), Code::not_found);
}

TEST_F(MfModelFolder, UnknownIdsArePredictedByWhatIsKnown) {
  constexpr std::uint32_t unknown = data::IdMap::npos;
  const MfModel with = model(4, true), without = model(4, false);
  EXPECT_EQ(without.predict(unknown, 1), 3.25F);
  EXPECT_EQ(without.predict(1, unknown), 3.25F);
  EXPECT_FLOAT_EQ(with.predict(unknown, 2), 3.25F - 0.5F);
  EXPECT_FLOAT_EQ(with.predict(2, unknown), 3.25F + 1.0F);
  EXPECT_FLOAT_EQ(with.predict(unknown, unknown), 3.25F);
}

TEST_F(MfModelFolder, AWarmStartMatchesIdsAndRefusesAnotherRank) {
  const MfModel saved = model(4, false);
  data::IdMap users, items;
  for (const char* id : {"new", "with,comma"}) users.add(id);
  for (const char* id : {"7", "z"}) items.add(id);
  MfOptions options;
  options.rank = 4;
  const auto factors = factors_for(saved, users, items, options);
  ASSERT_TRUE(factors.has_value());
  const std::size_t stride = kernels::mf_stride(4);
  EXPECT_EQ(factors->user_rows[0], 0);
  EXPECT_EQ(factors->user_rows[stride], saved.factors.user_rows[2 * stride]);
  EXPECT_EQ(factors->item_rows[0], saved.factors.item_rows[3 * stride]);
  options.rank = 8;
  EXPECT_FALSE(factors_for(saved, users, items, options).has_value());
}

// Every rating, one at a time, in double.
TEST(MfErrorsOf, EqualsTheSumOverRatingsForAnyNumberOfThreads) {
  const auto ratings = testing::planted({.noise = 0.5});
  std::vector<data::Rating> test = ratings;
  test.push_back({data::IdMap::npos, 0, 2});
  test.push_back({0, data::IdMap::npos, 2});
  const MfInput input = testing::input_of(ratings, {60, 40}, 4, 1, test);
  MfFactors factors;
  factors.rank = 3;
  factors.mean = 3;
  Rng rng({3, 0, 0, 0});
  factors.user_rows = AlignedVector<float>(60 * 16);
  factors.item_rows = AlignedVector<float>(40 * 16);
  for (std::size_t i = 0; i < 60 * 16; ++i) {
    if (i % 16 < 3) factors.user_rows[i] = static_cast<float>(rng.normal());
  }
  for (std::size_t i = 0; i < 40 * 16; ++i) {
    if (i % 16 < 3) factors.item_rows[i] = static_cast<float>(rng.normal());
  }
  double squared = 0;
  for (const data::Rating& rating : test) {
    double value = 3;
    if (rating.user != data::IdMap::npos && rating.item != data::IdMap::npos) {
      value = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        value += double{factors.user_rows[rating.user * 16 + k]} *
                 factors.item_rows[rating.item * 16 + k];
      }
    }
    squared += (rating.value - value) * (rating.value - value);
  }
  for (const unsigned threads : {1U, 3U}) {
    world::Pool pool(threads);
    const Errors errors = errors_of(factors, input.test, input, pool);
    EXPECT_NEAR(errors.squared, squared, 1e-4 * squared);
    EXPECT_EQ(errors.count, test.size());
    EXPECT_EQ(errors.unknown, 2U);
  }
}

}  // namespace
}  // namespace castor::programs

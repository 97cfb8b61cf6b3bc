#include <gtest/gtest.h>

#include "data/ratings_case.h"

namespace castor::data {
namespace {

// The folder, looked for from the present one upwards; "" when this is not run inside the checkout.
std::string corpus_folder(world::Files& files) {
  std::string up;
  for (int level = 0; level < 6; ++level, up += "../") {
    const std::string folder = up + "tests/corpus/ratings";
    if (files.exists(folder)) return folder;
  }
  return "";
}

TEST(RatingsCorpus, EveryKeptInputIsReadTheSameInOnePieceAndInMany) {
  const auto files = world::real_files();
  const std::string folder = corpus_folder(*files);
  if (folder.empty()) GTEST_SKIP() << "tests/corpus/ratings is not above the present folder";
  const auto names = files->list(folder);
  ASSERT_TRUE(names.has_value());
  EXPECT_GE(names->size(), 20u);
  for (const std::string& name : *names) {
    SCOPED_TRACE(name);
    const auto bytes =
        world::read_whole(*files, world::joined_path(folder, name), std::uint64_t{1} << 24);
    ASSERT_TRUE(bytes.has_value());
    check_ratings_case({reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()});
  }
}

}  // namespace
}  // namespace castor::data

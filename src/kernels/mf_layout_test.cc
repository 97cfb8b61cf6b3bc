#include "kernels/mf_layout.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/rng.h"

namespace castor::kernels {
namespace {

using Triplet = std::tuple<std::uint32_t, std::uint32_t, float>;

struct Shard {
  std::vector<MfRating> ratings;
  std::vector<std::uint32_t> starts;
  std::uint32_t users = 0;

  MfLayoutShape shape() const { return {.users = users, .item_starts = starts}; }
};

// Blocks of uneven sizes, some empty; few items, so that pairs repeat.
Shard random_shard(std::uint64_t seed) {
  Rng rng({.seed = seed});
  Shard shard;
  shard.users = static_cast<std::uint32_t>(1 + rng.below(9));
  shard.starts = {0};
  const std::uint64_t blocks = 1 + rng.below(5);
  for (std::uint64_t b = 0; b < blocks; ++b) {
    shard.starts.push_back(shard.starts.back() + static_cast<std::uint32_t>(rng.below(12)));
  }
  const std::uint64_t items = shard.starts.back();
  const std::uint64_t count = items == 0 ? 0 : rng.below(300);
  for (std::uint64_t i = 0; i < count; ++i) {
    shard.ratings.push_back({.user = static_cast<std::uint32_t>(rng.below(shard.users)),
                             .item = static_cast<std::uint32_t>(rng.below(items)),
                             .rating = static_cast<float>(rng.below(5))});
  }
  return shard;
}

MfRandom stream(std::uint64_t seed) {
  return [seed](std::uint64_t i) { return mix64(mix64(seed) + i); };
}

std::vector<Triplet> sorted_triplets(const std::vector<MfRating>& ratings) {
  std::vector<Triplet> result;
  for (const MfRating& r : ratings) result.emplace_back(r.user, r.item, r.rating);
  std::ranges::sort(result);
  return result;
}

std::vector<MfRating> ratings_of(const MfLayout& layout, const Shard& shard) {
  std::vector<MfRating> result;
  for (BlockId b = 0; b < layout.blocks.size(); ++b) {
    const MfBlock block = layout.block(b);
    std::uint32_t i = 0;
    for (const MfRun& run : block.runs) {
      for (; i < run.end; ++i) {
        result.push_back({.user = run.user,
                          .item = shard.starts[b] + block.items[i],
                          .rating = block.ratings[i]});
      }
    }
  }
  return result;
}

bool same(const MfLayout& a, const MfLayout& b) {
  const auto runs_equal = [](const MfRun& x, const MfRun& y) {
    return x.user == y.user && x.end == y.end;
  };
  return std::ranges::equal(a.runs, b.runs, runs_equal) && a.items == b.items &&
         a.ratings == b.ratings;
}

TEST(MfLayout, HoldsEveryRatingOnce) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Shard shard = random_shard(seed);
    const MfLayout layout = build_layout(shard.ratings, shard.shape(), stream(seed));
    EXPECT_EQ(sorted_triplets(ratings_of(layout, shard)), sorted_triplets(shard.ratings));
    EXPECT_TRUE(check_layout(layout, shard.shape()));
  }
}

TEST(MfLayout, ItemsOfARunAreDistinct) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Shard shard = random_shard(seed);
    const MfLayout layout = build_layout(shard.ratings, shard.shape(), stream(seed));
    for (BlockId b = 0; b < layout.blocks.size(); ++b) {
      const MfBlock block = layout.block(b);
      std::uint32_t begin = 0;
      for (const MfRun& run : block.runs) {
        const auto items = block.items.subspan(begin, run.end - begin);
        EXPECT_EQ(std::set(items.begin(), items.end()).size(), items.size());
        begin = run.end;
      }
    }
  }
}

TEST(MfLayout, DoesNotDependOnTheOrderOfTheInput) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Shard shard = random_shard(seed);
    const MfLayout layout = build_layout(shard.ratings, shard.shape(), stream(seed));
    Rng rng({.seed = seed, .shard = 1});
    for (std::size_t left = shard.ratings.size(); left > 0; --left) {
      std::swap(shard.ratings[left - 1], shard.ratings[rng.below(left)]);
    }
    EXPECT_TRUE(same(layout, build_layout(shard.ratings, shard.shape(), stream(seed))));
  }
}

TEST(MfLayout, RunsAreSortedWithoutARandomFunction) {
  const Shard shard = random_shard(7);
  const MfLayout layout = build_layout(shard.ratings, shard.shape(), {});
  for (BlockId b = 0; b < layout.blocks.size(); ++b) {
    const MfBlock block = layout.block(b);
    std::uint32_t begin = 0;
    for (const MfRun& run : block.runs) {
      EXPECT_TRUE(std::ranges::is_sorted(block.items.subspan(begin, run.end - begin)));
      begin = run.end;
    }
  }
}

TEST(MfLayout, TheRandomFunctionIsCalledOnceForEachPosition) {
  const Shard shard = random_shard(11);
  ASSERT_FALSE(shard.ratings.empty());
  std::vector<std::uint64_t> calls;
  build_layout(shard.ratings, shard.shape(), [&](std::uint64_t i) {
    calls.push_back(i);
    return i;
  });
  std::ranges::sort(calls);
  ASSERT_EQ(calls.size(), shard.ratings.size());
  for (std::size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i], i);
}

TEST(MfLayout, ARandomFunctionChangesTheOrderInsideRunsOnly) {
  Shard shard{.ratings = {}, .starts = {0, 100}, .users = 2};
  for (std::uint32_t i = 0; i < 100; ++i) {
    shard.ratings.push_back({.user = i % 2, .item = i, .rating = 1});
  }
  const MfLayout sorted = build_layout(shard.ratings, shard.shape(), {});
  const MfLayout shuffled = build_layout(shard.ratings, shard.shape(), stream(3));
  EXPECT_NE(sorted.items, shuffled.items);
  EXPECT_FALSE(same(shuffled, build_layout(shard.ratings, shard.shape(), stream(4))));
  ASSERT_EQ(shuffled.runs.size(), 2U);
  EXPECT_EQ(shuffled.runs[0].end, 50U);
  EXPECT_EQ(shuffled.runs[1].end, 100U);
}

TEST(MfLayout, APairObservedOftenIsSpreadOverAsManyRuns) {
  Shard shard{.ratings = {}, .starts = {0, 3}, .users = 1};
  for (int i = 0; i < 20; ++i) {
    shard.ratings.push_back({.user = 0, .item = 1, .rating = static_cast<float>(i)});
  }
  shard.ratings.push_back({.user = 0, .item = 2, .rating = 1});
  const MfLayout layout = build_layout(shard.ratings, shard.shape(), stream(1));
  ASSERT_EQ(layout.runs.size(), 20U);
  EXPECT_EQ(layout.runs[0].end, 2U);
  EXPECT_EQ(layout.runs[19].end, 21U);
}

TEST(MfLayout, AShardWithoutRatingsHasEmptyBlocks) {
  const Shard shard{.ratings = {}, .starts = {0, 5, 5, 9}, .users = 4};
  const MfLayout layout = build_layout(shard.ratings, shard.shape(), stream(1));
  ASSERT_EQ(layout.blocks.size(), 3U);
  for (BlockId b = 0; b < 3; ++b) EXPECT_TRUE(layout.block(b).runs.empty());
  EXPECT_TRUE(check_layout(layout, shard.shape()));
}

TEST(MfLayout, TheWidestBlockIsAllowed) {
  const Shard shard{.ratings = {{.user = 0, .item = 65535, .rating = 2}},
                    .starts = {0, mf_block_rows_max},
                    .users = 1};
  const MfLayout layout = build_layout(shard.ratings, shard.shape(), {});
  EXPECT_EQ(layout.items, (std::vector<std::uint16_t>{65535}));
}

TEST(MfLayoutDeathTest, AnItemOutsideTheBlocksIsABug) {
  const Shard shard{.ratings = {{.user = 0, .item = 5, .rating = 2}}, .starts = {0, 5}, .users = 1};
  EXPECT_DEATH(build_layout(shard.ratings, shard.shape(), {}), "item 5 of 5");
}

TEST(MfLayoutDeathTest, AUserOutsideTheShardIsABug) {
  const Shard shard{.ratings = {{.user = 1, .item = 0, .rating = 2}}, .starts = {0, 5}, .users = 1};
  EXPECT_DEATH(build_layout(shard.ratings, shard.shape(), {}), "user 1 of 1");
}

// Two blocks; user 0 rates items 0 and 1 of the first and item 2 of the second, user 1 item 0.
struct Sound {
  Shard shard{
      .ratings = {{0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {1, 0, 1}}, .starts = {0, 2, 4}, .users = 2};
  MfLayout layout = build_layout(shard.ratings, shard.shape(), {});

  Code checked() const {
    const Status status = check_layout(layout, shard.shape());
    return status ? Code::exists : status.error().code();
  }
};

TEST(MfLayout, ASoundLayoutPasses) { EXPECT_EQ(Sound().checked(), Code::exists); }

TEST(MfLayout, DamageIsNoticed) {
  const std::vector<void (*)(MfLayout&)> damages = {
      [](MfLayout& l) { l.blocks.pop_back(); },
      [](MfLayout& l) { l.blocks[1].run_begin = 1; },
      [](MfLayout& l) { l.blocks[0].run_end = 3; },
      [](MfLayout& l) { l.blocks[1].rating_end = 9; },
      [](MfLayout& l) { l.blocks[1].rating_begin = 0; },
      [](MfLayout& l) { l.ratings.pop_back(); },
      [](MfLayout& l) { l.runs[0].user = 2; },
      [](MfLayout& l) { std::swap(l.runs[0].user, l.runs[1].user); },
      [](MfLayout& l) { l.runs[0].end = 0; },
      [](MfLayout& l) { l.runs[0].end = 4000000000U; },
      [](MfLayout& l) { l.runs[1].end = 2; },
      [](MfLayout& l) { l.runs[2].end = 2; },
      [](MfLayout& l) { l.items[0] = l.items[1]; },
      [](MfLayout& l) { l.items[3] = 2; },
      [](MfLayout& l) { l.blocks[1].rating_end = l.blocks[1].rating_begin; },
  };
  for (std::size_t i = 0; i < damages.size(); ++i) {
    SCOPED_TRACE(i);
    Sound sound;
    damages[i](sound.layout);
    EXPECT_EQ(sound.checked(), Code::corrupt);
  }
}

}  // namespace
}  // namespace castor::kernels

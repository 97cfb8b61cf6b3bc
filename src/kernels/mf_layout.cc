#include "kernels/mf_layout.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

namespace castor::kernels {
namespace {

// Item and rating in one word that sorts by item, then by the bits of the rating.
using Packed = std::uint64_t;

Packed pack(std::uint32_t item, float rating) {
  return Packed{item} << 32 | std::bit_cast<std::uint32_t>(rating);
}

std::uint32_t item_of(Packed packed) { return static_cast<std::uint32_t>(packed >> 32); }

float rating_of(Packed packed) { return std::bit_cast<float>(static_cast<std::uint32_t>(packed)); }

// Maps [0, 2^64) evenly on [0, bound). A run has at most mf_block_rows_max ratings: 32 bits are
// plenty.
std::size_t scaled(std::uint64_t random, std::size_t bound) {
  return static_cast<std::size_t>(((random >> 32) * bound) >> 32);
}

class Builder {
 public:
  Builder(std::span<const MfRating> ratings, const MfLayoutShape& shape, const MfRandom& random)
      : ratings_(ratings), shape_(shape), random_(random) {}

  MfLayout build() {
    CHECK(ratings_.size() <= std::numeric_limits<std::uint32_t>::max(), "{} ratings",
          ratings_.size());
    check_starts();
    group_by_block();
    layout_.items.resize(ratings_.size());
    layout_.ratings.resize(ratings_.size());
    for (std::size_t b = 0; b < layout_.blocks.size(); ++b) build_block(b);
    return std::move(layout_);
  }

 private:
  void check_starts() {
    const std::span starts = shape_.item_starts;
    CHECK(starts.size() >= 2 && starts[0] == 0, "{} starts", starts.size());
    for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
      CHECK(starts[b] <= starts[b + 1] && starts[b + 1] - starts[b] <= mf_block_rows_max,
            "block {} is rows {} to {}", b, starts[b], starts[b + 1]);
    }
  }

  std::size_t block_of(std::uint32_t item) const {
    const std::span starts = shape_.item_starts;
    CHECK(item < starts.back(), "item {} of {}", item, starts.back());
    return static_cast<std::size_t>(std::ranges::upper_bound(starts, item) - starts.begin()) - 1;
  }

  // by_block_: the indices of the ratings, block after block, each in input order.
  void group_by_block() {
    layout_.blocks.resize(shape_.item_starts.size() - 1);
    std::vector<std::uint64_t> next(layout_.blocks.size(), 0);
    for (const MfRating& rating : ratings_) ++next[block_of(rating.item)];
    std::uint64_t begin = 0;
    for (std::size_t b = 0; b < next.size(); ++b) {
      layout_.blocks[b].rating_begin = begin;
      begin += next[b];
      layout_.blocks[b].rating_end = begin;
      next[b] = layout_.blocks[b].rating_begin;
    }
    by_block_.resize(ratings_.size());
    for (std::size_t i = 0; i < ratings_.size(); ++i) {
      by_block_[next[block_of(ratings_[i].item)]++] = static_cast<std::uint32_t>(i);
    }
  }

  void build_block(std::size_t b) {
    MfExtent& extent = layout_.blocks[b];
    scatter_by_user(extent, shape_.item_starts[b]);
    extent.run_begin = layout_.runs.size();
    std::uint64_t begin = extent.rating_begin;
    for (std::uint32_t user = 0; user < shape_.users; ++user) {  // user_end_: set by the scatter
      const std::uint64_t end = extent.rating_begin + user_end_[user];
      if (begin < end) build_runs(user, begin, end, extent.rating_begin);
      begin = end;
    }
    extent.run_end = layout_.runs.size();
  }

  // Counting sort of the block's ratings by user into the result. Afterwards user_end_[u] is where
  // the ratings of u end, counted from the start of the block.
  void scatter_by_user(const MfExtent& extent, std::uint32_t first_item) {
    user_end_.assign(std::size_t{shape_.users} + 1, 0);
    const auto indices =
        std::span(by_block_).subspan(extent.rating_begin, extent.rating_end - extent.rating_begin);
    for (std::uint32_t i : indices) {
      CHECK(ratings_[i].user < shape_.users, "user {} of {}", ratings_[i].user, shape_.users);
      ++user_end_[ratings_[i].user + 1];
    }
    for (std::size_t u = 1; u < user_end_.size(); ++u) user_end_[u] += user_end_[u - 1];
    for (std::uint32_t i : indices) {
      const MfRating& rating = ratings_[i];
      const std::uint64_t to = extent.rating_begin + user_end_[rating.user]++;
      layout_.items[to] = static_cast<std::uint16_t>(rating.item - first_item);
      layout_.ratings[to] = rating.rating;
    }
  }

  // Ratings [begin, end) are all of one user in one block: order them and cut them into runs.
  void build_runs(std::uint32_t user, std::uint64_t begin, std::uint64_t end,
                  std::uint64_t block_begin) {
    packed_.clear();
    for (std::uint64_t i = begin; i < end; ++i) {
      packed_.push_back(pack(layout_.items[i], layout_.ratings[i]));
    }
    std::ranges::sort(packed_);
    std::span<Packed> left = packed_;
    while (!left.empty()) {
      const std::size_t size = move_first_observations_to_front(left);
      const std::uint64_t position = end - left.size();
      emit_run(left.first(size), position);
      layout_.runs.push_back(
          {.user = user, .end = static_cast<std::uint32_t>(position + size - block_begin)});
      left = left.subspan(size);
    }
  }

  // Of each item in the sorted span, one observation goes to the front; both parts stay sorted.
  // Returns how many went.
  std::size_t move_first_observations_to_front(std::span<Packed> sorted) {
    repeats_.clear();
    std::size_t kept = 1;
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      if (item_of(sorted[i]) == item_of(sorted[kept - 1])) {
        repeats_.push_back(sorted[i]);
      } else {
        sorted[kept++] = sorted[i];
      }
    }
    std::ranges::copy(repeats_, sorted.begin() + static_cast<std::ptrdiff_t>(kept));
    return kept;
  }

  void emit_run(std::span<Packed> run, std::uint64_t position) {
    for (std::size_t left = run.size(); random_ && left > 0; --left) {
      std::swap(run[left - 1], run[scaled(random_(position + left - 1), left)]);
    }
    for (std::size_t i = 0; i < run.size(); ++i) {
      layout_.items[position + i] = static_cast<std::uint16_t>(item_of(run[i]));
      layout_.ratings[position + i] = rating_of(run[i]);
    }
  }

  std::span<const MfRating> ratings_;
  const MfLayoutShape& shape_;
  const MfRandom& random_;
  MfLayout layout_;
  std::vector<std::uint32_t> by_block_;
  std::vector<std::uint32_t> user_end_;
  std::vector<Packed> packed_;
  std::vector<Packed> repeats_;
};

// Marks which run saw an item last, so that a run with a repeated item is noticed.
class DistinctItems {
 public:
  explicit DistinctItems(std::uint32_t rows) : seen_in_(rows, 0) {}

  bool accept(std::span<const std::uint16_t> items) {
    ++run_;
    for (std::uint16_t item : items) {
      if (item >= seen_in_.size() || seen_in_[item] == run_) return false;
      seen_in_[item] = run_;
    }
    return true;
  }

 private:
  std::vector<std::uint64_t> seen_in_;
  std::uint64_t run_ = 0;
};

Status check_block(const MfBlock& block, std::uint32_t users, std::uint32_t rows) {
  DistinctItems distinct(rows);
  std::uint32_t begin = 0;
  std::uint32_t user = 0;
  for (const MfRun& run : block.runs) {
    if (run.user >= users || run.user < user) {
      return error(Code::corrupt, "layout: user {} after {} of {}", run.user, user, users);
    }
    if (run.end <= begin || run.end > block.items.size()) {
      return error(Code::corrupt, "layout: a run from {} to {} of {}", begin, run.end,
                   block.items.size());
    }
    if (!distinct.accept(block.items.subspan(begin, run.end - begin))) {
      return error(Code::corrupt, "layout: an item of user {} is repeated or not below {}",
                   run.user, rows);
    }
    begin = run.end;
    user = run.user;
  }
  if (begin != block.items.size()) {
    return error(Code::corrupt, "layout: runs cover {} of {} ratings", begin, block.items.size());
  }
  return {};
}

Status check_extents(const MfLayout& layout) {
  MfExtent last;
  for (const MfExtent& extent : layout.blocks) {
    if (extent.run_begin != last.run_end || extent.run_end < extent.run_begin ||
        extent.rating_begin != last.rating_end || extent.rating_end < extent.rating_begin) {
      return error(Code::corrupt, "layout: blocks are not consecutive");
    }
    last = extent;
  }
  if (last.run_end != layout.runs.size() || last.rating_end != layout.items.size() ||
      layout.items.size() != layout.ratings.size()) {
    return error(Code::corrupt, "layout: blocks end at run {} and rating {}, of {} and {}",
                 last.run_end, last.rating_end, layout.runs.size(), layout.ratings.size());
  }
  return {};
}

}  // namespace

MfBlock MfLayout::block(BlockId id) const {
  CHECK(id < blocks.size(), "block {} of {}", id, blocks.size());
  const MfExtent& extent = blocks[id];
  const std::uint64_t count = extent.rating_end - extent.rating_begin;
  return {.runs = std::span(runs).subspan(extent.run_begin, extent.run_end - extent.run_begin),
          .items = std::span(items).subspan(extent.rating_begin, count),
          .ratings = std::span(ratings).subspan(extent.rating_begin, count)};
}

MfLayout build_layout(std::span<const MfRating> ratings, const MfLayoutShape& shape,
                      const MfRandom& random) {
  return Builder(ratings, shape, random).build();
}

Status check_layout(const MfLayout& layout, const MfLayoutShape& shape) {
  if (layout.blocks.size() + 1 != shape.item_starts.size()) {
    return error(Code::corrupt, "layout: {} blocks, expected {}", layout.blocks.size(),
                 shape.item_starts.size() - 1);
  }
  TRY(check_extents(layout));
  for (BlockId b = 0; b < layout.blocks.size(); ++b) {
    const std::uint32_t rows = shape.item_starts[b + 1] - shape.item_starts[b];
    TRY(check_block(layout.block(b), shape.users, rows));
  }
  return {};
}

}  // namespace castor::kernels

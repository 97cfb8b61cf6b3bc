#include "schedule/board.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "core/check.h"
#include "core/rng.h"

namespace castor::schedule {
namespace {

// Streams of the scheduler itself are apart from every shard's.
constexpr ShardId scheduler_stream = std::numeric_limits<ShardId>::max();

// The least of some counters that only go up, by one: kept up to date instead of searched for.
class LeastCount {
 public:
  LeastCount(std::size_t counters, Clock start) : counts_(counters, start), least_(start) {
    at_least_ = counters;
  }
  Clock operator[](std::size_t i) const { return counts_[i]; }
  std::size_t size() const { return counts_.size(); }
  Clock least() const { return least_; }
  void increment(std::size_t i) {
    if (counts_[i]++ != least_ || --at_least_ > 0) return;
    least_ = *std::ranges::min_element(counts_);
    at_least_ = static_cast<std::size_t>(std::ranges::count(counts_, least_));
  }

 private:
  std::vector<Clock> counts_;
  Clock least_;
  std::size_t at_least_;  // counters that have the least value
};

class SweepBoard final : public Board {
 public:
  explicit SweepBoard(const BoardOptions& options)
      : options_(options), next_(options.shards, options.first), busy_(options.shards, 0) {}

  void allow_until(Clock limit) override { limit_ = limit; }

  std::optional<Task> take(Fresh is_fresh) override {
    for (ShardId i = 0; i < options_.shards; ++i) {
      const ShardId shard = (start_ + i) % options_.shards;
      if (busy_[shard] != 0 || next_[shard] >= limit_) continue;
      const Task task{0, next_[shard], shard, 0, options_.phase};
      if (!is_fresh(task)) continue;
      busy_[shard] = 1;
      start_ = (shard + 1) % options_.shards;
      begun_ = std::max(begun_, task.clock + 1);
      return task;
    }
    return std::nullopt;
  }

  void done(const Task& task) override {
    CHECK(busy_[task.shard] != 0 && next_[task.shard] == task.clock);
    busy_[task.shard] = 0;
    next_.increment(task.shard);
  }

  Clock closed() const override { return next_.least(); }
  Clock begun() const override { return std::max(begun_, options_.first); }

 private:
  const BoardOptions options_;
  LeastCount next_;                 // by shard: the clock it has not done yet
  std::vector<std::uint8_t> busy_;  // by shard
  ShardId start_ = 0;               // where the search begins: shards take turns
  Clock limit_ = 0, begun_ = 0;
};

// With n = max(shards, blocks), at step k of a clock the shard at place p meets the block at place
// (p + k) mod n, if both exist. Places are a random relabelling of the clock. A shard takes its
// steps in order, and so does a block: that fixes, for every task, the one before it on its shard
// and on its block.
class RotateBoard final : public Board {
 public:
  RotateBoard(const Rotate& rule, const Phase& phase, const BoardOptions& options)
      : rule_(rule),
        options_(options),
        blocks_(phase.blocks),
        places_(std::max<std::uint32_t>(options.shards, phase.blocks)),
        shard_done_(options.shards, 0),
        block_done_(phase.blocks, 0),
        busy_(options.shards, 0) {
    for (Relabelling& relabelling : relabellings_) relabelling.clock = -1;
  }

  void allow_until(Clock limit) override { limit_ = limit; }

  // A task is ready when it is the next one of both its shard and its block: looking along the
  // shorter side finds all of them.
  std::optional<Task> take(Fresh is_fresh) override {
    std::optional<Task> best;
    Clock best_rank = std::numeric_limits<Clock>::max();
    const std::uint32_t candidates = std::min(blocks_, options_.shards);
    for (std::uint32_t i = 0; i < candidates; ++i) {
      const std::optional<ShardId> shard = blocks_ < options_.shards ? next_shard(i) : i;
      if (!shard || busy_[*shard] != 0 || shard_done_[*shard] >= best_rank) continue;
      const Next next = next_of(*shard);
      if (next.task.clock >= limit_ || block_done_[next.task.block] != next.block_rank) continue;
      if (is_fresh(next.task)) best = next.task, best_rank = shard_done_[*shard];
    }
    if (!best) return best;
    busy_[best->shard] = 1;
    begun_ = std::max(begun_, best->clock + 1);
    return best;
  }

  void done(const Task& task) override {
    CHECK(busy_[task.shard] != 0);
    busy_[task.shard] = 0;
    shard_done_.increment(task.shard);
    ++block_done_[task.block];
  }

  Clock closed() const override { return options_.first + shard_done_.least() / blocks_; }
  Clock begun() const override { return std::max(begun_, options_.first); }

 private:
  struct Relabelling {
    Clock clock;
    std::vector<std::uint32_t> place_of_shard, shard_at_place;
    std::vector<std::uint32_t> block_at_place, place_of_block;
  };
  struct Next {
    Task task;
    Clock block_rank = 0;  // tasks the block has to have done before, since the board began
  };

  // The shard whose turn it is at a block; none when that is beyond the limit. A block meets the
  // places below its own going down, then those above, from the last one that has a shard.
  std::optional<ShardId> next_shard(BlockId block) {
    const Clock clock = options_.first + block_done_[block] / options_.shards;
    if (clock >= limit_) return std::nullopt;
    const Relabelling& labels = relabelling(clock);
    const auto rank = static_cast<std::uint32_t>(block_done_[block] % options_.shards);
    const std::uint32_t place = labels.place_of_block[block];
    if (place >= options_.shards) return labels.shard_at_place[options_.shards - 1 - rank];
    const std::uint32_t at = rank <= place ? place - rank : options_.shards + place - rank;
    return labels.shard_at_place[at];
  }

  // A shard does `blocks_` tasks a clock, a block `shards` tasks a clock.
  Next next_of(ShardId shard) {
    const Clock turn = shard_done_[shard] / blocks_;
    const Clock clock = options_.first + turn;
    const Relabelling& labels = relabelling(clock);
    const std::uint32_t place = labels.place_of_shard[shard];
    // The (done % blocks)-th step of this shard at which there is a block: blocks sit at places
    // [0, blocks_) before relabelling, so from place p the existing ones come in cyclic order.
    const auto nth = static_cast<std::uint32_t>(shard_done_[shard] % blocks_);
    const std::uint32_t step = nth_step(place, nth);
    const std::uint32_t block_place = (place + step) % places_;
    const std::uint32_t rank = rank_in_block(block_place, step);
    return {{0, clock, shard, labels.block_at_place[block_place], options_.phase},
            turn * options_.shards + rank};
  }

  // The step at which the shard at `place` meets its nth block; block places are [0, blocks_).
  std::uint32_t nth_step(std::uint32_t place, std::uint32_t nth) const {
    if (place >= blocks_) return places_ - place + nth;
    const std::uint32_t before_gap = blocks_ - place;  // met before the places without a block
    return nth < before_gap ? nth : nth + places_ - blocks_;
  }
  // How many shards the block at `block_place` meets before step `step`; shard places are [0,
  // shards). At step k it meets place (block_place - k) mod n.
  std::uint32_t rank_in_block(std::uint32_t block_place, std::uint32_t step) const {
    std::uint32_t below =
        std::min(step, block_place + 1);  // places block_place .. block_place-step+1
    const std::uint32_t gap = places_ - options_.shards;  // places without a shard, at the top
    std::uint32_t count = 0;
    // Going down from block_place: those at or above `shards` do not exist.
    const std::uint32_t missing =
        block_place >= options_.shards ? std::min(below, block_place - options_.shards + 1) : 0;
    count += below - missing;
    const std::uint32_t wrapped = step - below;  // going down from n - 1
    count += wrapped > gap ? wrapped - gap : 0;
    return count;
  }

  const Relabelling& relabelling(Clock clock) {
    Relabelling& labels = relabellings_[static_cast<std::size_t>(clock) % relabellings_.size()];
    if (labels.clock == clock) return labels;
    labels.clock = clock;
    labels.place_of_shard.resize(options_.shards);
    labels.block_at_place.resize(blocks_);
    std::iota(labels.place_of_shard.begin(), labels.place_of_shard.end(), 0);
    std::iota(labels.block_at_place.begin(), labels.block_at_place.end(), 0);
    if (rule_.reshuffle) {
      Rng rng({options_.seed, scheduler_stream, clock, 0});
      rng.shuffle(labels.place_of_shard);
      rng.shuffle(labels.block_at_place);
    }
    labels.shard_at_place.resize(options_.shards);
    labels.place_of_block.resize(blocks_);
    for (ShardId shard = 0; shard < options_.shards; ++shard) {
      labels.shard_at_place[labels.place_of_shard[shard]] = shard;
    }
    for (std::uint32_t place = 0; place < blocks_; ++place) {
      labels.place_of_block[labels.block_at_place[place]] = place;
    }
    return labels;
  }

  const Rotate rule_;
  const BoardOptions options_;
  const std::uint32_t blocks_, places_;
  LeastCount shard_done_;          // tasks since the board began
  std::vector<Clock> block_done_;  // the same
  std::vector<std::uint8_t> busy_;
  // Tasks of at most two clocks are ever open: a shard ends a clock only when all blocks have begun
  // it.
  std::array<Relabelling, 2> relabellings_;
  Clock limit_ = 0, begun_ = 0;
};

class GridBoard final : public Board {
 public:
  GridBoard(const Grid& rule, const Phase& phase, const BoardOptions& options)
      : rule_(rule),
        options_(options),
        blocks_(phase.blocks),
        visits_(std::size_t{options.shards} * phase.blocks, options.first),
        shard_busy_(options.shards, 0),
        block_busy_(phase.blocks, 0),
        rng_({options.seed, scheduler_stream, options.first, 1}) {}

  void allow_until(Clock limit) override { limit_ = limit; }

  std::optional<Task> take(Fresh is_fresh) override {
    const Clock most = std::min(limit_, closed() + rule_.slack + 1);
    std::optional<Task> best;
    // From a random pair on, so that ties are broken at random. A pair at closed() is the least
    // there is: of n left at it, the search meets one after about total / n.
    const std::size_t start = rng_.below(visits_.size());
    for (std::size_t i = 0; i < visits_.size(); ++i) {
      const std::size_t pair = start + i < visits_.size() ? start + i : start + i - visits_.size();
      const Clock clock = visits_[pair];
      if (clock >= most || (best && clock >= best->clock)) continue;
      const auto shard = static_cast<ShardId>(pair / blocks_);
      const auto block = static_cast<BlockId>(pair % blocks_);
      if (shard_busy_[shard] != 0 || block_busy_[block] != 0) continue;
      const Task task{0, clock, shard, block, options_.phase};
      if (!is_fresh(task)) continue;
      best = task;
      if (clock == closed()) break;
    }
    if (!best) return best;
    shard_busy_[best->shard] = 1;
    block_busy_[best->block] = 1;
    begun_ = std::max(begun_, best->clock + 1);
    return best;
  }

  void done(const Task& task) override {
    CHECK(shard_busy_[task.shard] != 0 && block_busy_[task.block] != 0);
    shard_busy_[task.shard] = 0;
    block_busy_[task.block] = 0;
    visits_.increment(at(task.shard, task.block));
  }

  Clock closed() const override { return visits_.least(); }
  Clock begun() const override { return std::max(begun_, options_.first); }

 private:
  std::size_t at(ShardId shard, BlockId block) const {
    return std::size_t{shard} * blocks_ + block;
  }

  const Grid rule_;
  const BoardOptions options_;
  const BlockId blocks_;
  LeastCount visits_;  // by pair: the clock of its next visit
  std::vector<std::uint8_t> shard_busy_, block_busy_;
  Rng rng_;
  Clock limit_ = 0, begun_ = 0;
};

}  // namespace

std::unique_ptr<Board> make_board(const Phase& phase, const BoardOptions& options) {
  CHECK(options.shards >= 1 && phase.blocks >= 1);
  if (const auto* rotate = std::get_if<Rotate>(&phase.rule)) {
    return std::make_unique<RotateBoard>(*rotate, phase, options);
  }
  if (const auto* grid = std::get_if<Grid>(&phase.rule)) {
    return std::make_unique<GridBoard>(*grid, phase, options);
  }
  return std::make_unique<SweepBoard>(options);
}

}  // namespace castor::schedule

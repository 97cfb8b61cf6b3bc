#include "programs/mf_sides.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "kernels/mf_sgd.h"

namespace castor::programs {
namespace {

// Moves places [0, keys) of counts to running begins: begin of key k is at k, the end of all at the
// back.
void to_begins(std::vector<std::uint64_t>& counts) {
  std::exclusive_scan(counts.begin(), counts.end(), counts.begin(), std::uint64_t{0});
}

// Positions of the ratings in order of item; equal items as they come.
std::vector<std::uint32_t> order_by_item(std::span<const kernels::MfRating> ratings,
                                         std::uint32_t items) {
  std::vector<std::uint64_t> next(items + 1, 0);
  for (const kernels::MfRating& rating : ratings) ++next[rating.item];
  to_begins(next);
  std::vector<std::uint32_t> order(ratings.size());
  for (std::size_t i = 0; i < ratings.size(); ++i) {
    order[next[ratings[i].item]++] = static_cast<std::uint32_t>(i);
  }
  return order;
}

SidePiece piece_of_users(const MfInput& input, ShardId shard, float scale) {
  const Band band = band_of(input.users.count(), input.shards, shard);
  const std::span<const kernels::MfRating> ratings = input.train.of(shard);
  CHECK(ratings.size() <= UINT32_MAX, "{} ratings in a shard", ratings.size());
  SidePiece piece;
  piece.begin.assign(band.count + 1, 0);
  for (const kernels::MfRating& rating : ratings) ++piece.begin[rating.user - band.first];
  to_begins(piece.begin);
  piece.columns = AlignedVector<std::int32_t>(ratings.size());
  piece.values = AlignedVector<float>(ratings.size());
  std::vector<std::uint64_t> next = piece.begin;
  for (const std::uint32_t i : order_by_item(ratings, input.items.count())) {
    const kernels::MfRating& rating = ratings[i];
    const std::uint64_t at = next[rating.user - band.first]++;
    piece.columns[at] = static_cast<std::int32_t>(rating.item);
    piece.values[at] = rating.rating / scale;
  }
  return piece;
}

void merge_pairs(SidePiece& piece) {
  std::uint64_t kept = 0, first = 0;
  for (std::uint32_t row = 0; row < piece.rows(); ++row) {
    const std::uint64_t end = piece.begin[row + 1], begin = kept;
    for (std::uint64_t i = first; i < end; ++i) {
      if (kept > begin && piece.columns[kept - 1] == piece.columns[i]) {
        piece.values[kept - 1] += piece.values[i];
      } else {
        piece.columns[kept] = piece.columns[i];
        piece.values[kept++] = piece.values[i];
      }
    }
    first = end;
    piece.begin[row + 1] = kept;
  }
  AlignedVector<std::int32_t> columns(kept);
  AlignedVector<float> values(kept);
  std::copy_n(piece.columns.begin(), kept, columns.begin());
  std::copy_n(piece.values.begin(), kept, values.begin());
  piece.columns = std::move(columns);
  piece.values = std::move(values);
}

// Where the next rating of an item goes.
struct Cursor {
  std::int32_t* column;
  float* value;
};

std::vector<SidePiece> pieces_of_items(const MfInput& input, const std::vector<SidePiece>& users) {
  std::vector<std::uint32_t> degrees(input.items.count(), 0);
  for (const SidePiece& piece : users) {
    for (const std::int32_t item : piece.columns) ++degrees[static_cast<std::size_t>(item)];
  }
  std::vector<SidePiece> pieces(input.shards);
  std::vector<Cursor> next(input.items.count());
  for (ShardId shard = 0; shard < input.shards; ++shard) {
    const Band band = band_of(input.items.count(), input.shards, shard);
    SidePiece& piece = pieces[shard];
    piece.begin.assign(degrees.begin() + band.first, degrees.begin() + band.first + band.count);
    piece.begin.push_back(0);
    to_begins(piece.begin);
    piece.columns = AlignedVector<std::int32_t>(piece.begin.back());
    piece.values = AlignedVector<float>(piece.begin.back());
    for (std::uint32_t i = 0; i < band.count; ++i) {
      next[band.first + i] = {piece.columns.data() + piece.begin[i],
                              piece.values.data() + piece.begin[i]};
    }
  }
  std::int32_t user = 0;
  for (const SidePiece& piece : users) {
    for (std::uint32_t row = 0; row < piece.rows(); ++row, ++user) {
      for (std::uint64_t i = piece.begin[row]; i < piece.begin[row + 1]; ++i) {
        Cursor& cursor = next[static_cast<std::size_t>(piece.columns[i])];
        *cursor.column++ = user;
        *cursor.value++ = piece.values[i];
      }
    }
  }
  return pieces;
}

}  // namespace

SidePieces side_pieces(const MfInput& input, const SideRule& rule, world::Pool& pool) {
  SidePieces pieces;
  pieces.users.resize(input.shards);
  pool.run(input.shards, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t shard = first; shard < last; ++shard) {
      pieces.users[shard] = piece_of_users(input, static_cast<ShardId>(shard), rule.scale);
      if (rule.merge) merge_pairs(pieces.users[shard]);
    }
  });
  pieces.items = pieces_of_items(input, pieces.users);
  return pieces;
}

std::span<const float> given_row(const MfInput& input, const MfFactors* start, SideRole role,
                                 std::uint32_t position) {
  if (start == nullptr) return {};
  const std::size_t stride = kernels::mf_stride(start->rank);
  const AlignedVector<float>& rows = role == SideRole::users ? start->user_rows : start->item_rows;
  const std::uint32_t index = side_of(input, role).index_at[position];
  const std::span<const float> given = rows.span().subspan(index * stride, start->rank);
  if (std::ranges::all_of(given, [](float value) { return value == 0; })) return {};
  return given;
}

double penalty_of(std::span<const float> rows, std::size_t stride,
                  std::span<const std::uint32_t> degrees, bool by_degree) {
  double total = 0;
  for (std::size_t row = 0; row < degrees.size(); ++row) {
    double sum = 0;
    for (const float value : rows.subspan(row * stride, stride)) sum += double{value} * value;
    total += by_degree ? sum * degrees[row] : sum;
  }
  return total;
}

Probe probe_of(const MfInput& input, const ShardedRatings& ratings, ShardId shard) {
  Probe probe;
  probe.bands.resize(input.shards);
  if (ratings.size() == 0) return probe;
  const Band users = band_of(input.users.count(), input.shards, shard);
  const std::uint32_t size = std::max(1U, band_of(input.items.count(), input.shards, 0).count);
  for (const kernels::MfRating& rating : ratings.of(shard)) {
    if (rating.user == data::IdMap::npos || rating.item == data::IdMap::npos) {
      probe.unknown.push_back(rating.rating);
    } else {
      probe.bands[rating.item / size].push_back(
          {rating.user - users.first, rating.item % size, rating.rating});
    }
  }
  return probe;
}

MetricPart probe_error(const Probe& probe, const MfInput& input, std::uint32_t rank, float scale,
                       std::span<const float> users,
                       FunctionRef<std::span<const float>(std::uint32_t band)> items) {
  MetricPart part;
  kernels::MfModel model;
  model.rank = rank;
  model.user_rows = users;
  model.scale = scale;
  model.absent = static_cast<float>(input.mean) / scale;
  for (std::uint32_t band = 0; band < probe.bands.size(); ++band) {
    const auto& ratings = probe.bands[band];
    if (ratings.empty()) continue;
    model.item_rows = items(band);
    part.sum += kernels::mf_errors(ratings, model).squared;
    part.weight += static_cast<double>(ratings.size());
  }
  for (const float value : probe.unknown) {  // nothing is known: the mean is all there is to say
    part.sum += (value - input.mean) * (value - input.mean);
    part.weight += 1;
  }
  return part;
}

void copy_by_index(const Side& side, std::uint32_t first, std::span<const float> rows,
                   std::size_t stride, float scale, std::span<float> out) {
  const float factor = std::sqrt(scale);
  for (std::size_t row = 0; row * stride < rows.size(); ++row) {
    const std::uint32_t index = side.index_at[first + row];
    for (std::size_t k = 0; k < stride; ++k)
      out[index * stride + k] = rows[row * stride + k] * factor;
  }
}

RunOptions in_clocks(RunOptions options, Clock clocks_per_pass) {
  options.clocks *= clocks_per_pass;
  options.metric_every *= clocks_per_pass;
  if (options.on_metric) {
    options.on_metric = [told = std::move(options.on_metric),
                         clocks_per_pass](const MetricPoint& point) {
      MetricPoint passes = point;
      passes.clock /= clocks_per_pass;
      told(passes);
    };
  }
  return options;
}

Report in_passes(Report report, Clock clocks_per_pass) {
  for (MetricPoint& point : report.curve) point.clock /= clocks_per_pass;
  report.clock /= clocks_per_pass;
  report.best_clock /= clocks_per_pass;
  if (report.resumed_clock > 0) report.resumed_clock /= clocks_per_pass;
  return report;
}

}  // namespace castor::programs

#include "data/ratings.h"

#include <algorithm>
#include <array>

#include "data/chunk_parser.h"
#include "data/duplicates.h"
#include "data/line_batches.h"
#include "data/line_format.h"
#include "data/rating_store.h"

namespace castor::data {
namespace {

constexpr std::uint64_t ratings_max = 0xfffffffe;
constexpr std::int64_t column_max = 1000;

Status check_options(const ReadOptions& options) {
  ReadOptions copy = options;
  for (const Field& field : fields(copy)) TRY(assign(field, std::string_view(value_text(field))));
  if (options.paths.empty()) return error(Code::invalid, "no file of ratings is named");
  const bool same = options.user_column == options.item_column ||
                    (!options.no_value && (options.value_column == options.user_column ||
                                           options.value_column == options.item_column));
  if (same) return error(Code::invalid, "user, item and value columns must be different ones");
  return {};
}

std::string name_of_path(const std::string& path) { return path == "-" ? "standard input" : path; }

// 0 when it cannot be known.
std::uint64_t stored_bytes_in_all(world::Files& files, const std::vector<std::string>& paths) {
  std::uint64_t total = 0;
  for (const std::string& path : paths) {
    if (path == "-") return 0;
    const auto info = files.info(path);
    if (!info.has_value() || info->kind != world::FileKind::regular) return 0;
    total += info->size;
  }
  return total;
}

// What one column of ids is looked up in, and added to if it grows.
struct ColumnTarget {
  const IdMap* ids = nullptr;
  IdMap* growing = nullptr;  // the same one, or null

  IdColumn column() const { return {ids, growing != nullptr}; }
};

class Reader {
 public:
  Reader(world::Files& files, world::Pool& pool, const ReadOptions& options, ColumnTarget users,
         ColumnTarget items)
      : files_(files), pool_(pool), options_(options), users_(users), items_(items) {}

  Status read_all();
  std::vector<Rating> take() { return store_.take(); }
  ReadStats& stats() { return stats_; }

 private:
  struct OpenFile {
    std::unique_ptr<InflatedFile> file;
    LineBatches batches;
    DetectedFormat detected = {};
    std::uint64_t lines = 0;  // in the batches done
    std::uint64_t ratings = 0;
  };

  Status read_file(const std::string& path, FileStats& stats);
  Status begin(OpenFile& open, FileStats& stats, unsigned* turn, std::string_view* text);
  void cut(std::string_view text);
  Status parse_and_read_next(OpenFile& open, Batch& next);
  Status parse_again_as_text(OpenFile& open);
  Status check_errors(OpenFile& open, const FileStats& stats);
  Status add_new_ids(const ColumnTarget& target, NewIds ParsedChunk::* list,
                     std::vector<std::vector<std::uint32_t>>& indices);
  Status place(const Batch& batch, bool last);
  Status finish(const OpenFile& open, FileStats& stats);
  std::size_t expected_ratings(const Batch& batch, std::size_t in_batch, bool last) const;

  world::Files& files_;
  world::Pool& pool_;
  const ReadOptions& options_;
  const ColumnTarget users_, items_;

  std::array<Batch, 2> batches_;
  std::vector<ParsedChunk> chunks_;  // the first chunk_count_ are of the present batch
  std::size_t chunk_count_ = 0;
  std::vector<std::vector<std::uint32_t>> user_indices_, item_indices_;  // of new ids, by chunk
  RatingStore store_;
  ReadStats stats_;
  std::uint64_t stored_total_ = 0;
  std::uint64_t stored_before_ = 0;  // in the files before the present one
};

Status Reader::read_all() {
  stored_total_ = stored_bytes_in_all(files_, options_.paths);
  for (const std::string& path : options_.paths) {
    FileStats file{.name = name_of_path(path)};
    TRY(read_file(path, file));
    stored_before_ += file.stored_bytes;
    stats_.files.push_back(std::move(file));
  }
  if (store_.size() == 0) {
    return error(Code::invalid, "{}: expected ratings, found none",
                 stats_.files.size() == 1 ? stats_.files[0].name : "all files");
  }
  return {};
}

Status Reader::read_file(const std::string& path, FileStats& stats) {
  TRY_AS(auto file, InflatedFile::open(files_, path));
  InflatedFile& inflated = *file;
  OpenFile open{std::move(file), LineBatches(inflated, options_.batch_bytes)};
  std::string_view text;
  unsigned turn = 0;
  TRY(begin(open, stats, &turn, &text));
  for (; !text.empty(); turn ^= 1) {
    cut(text);
    Batch& next = batches_[turn ^ 1];
    const Status read = parse_and_read_next(open, next);
    TRY(parse_again_as_text(open));
    TRY(check_errors(open, stats));  // the text before a place that cannot be read comes first
    TRY(read);
    TRY(place(batches_[turn], next.text.empty()));
    text = next.text;
    if (options_.progress) {
      options_.progress(stored_before_ + inflated.stored_bytes(), stored_total_);
    }
  }
  return finish(open, stats);
}

// The format, and the first batch, which is batches_[*turn]. `text` is what follows the header.
Status Reader::begin(OpenFile& open, FileStats& stats, unsigned* turn, std::string_view* text) {
  stats.compression = open.file->compression();
  TRY_AS(const std::string_view head, open.batches.head());
  if (head.empty()) return {};
  TRY_AS(open.detected, detect_format(head, options_, stats.name));
  stats.format = open.detected.lines.format;
  stats.header = open.detected.header;
  open.lines = open.detected.skip_lines;
  if (!open.detected.warning.empty()) stats_.warnings.push_back(open.detected.warning);
  std::size_t skip = open.detected.skip_bytes;
  for (*turn = 1; text->empty();) {
    *turn ^= 1;
    TRY(open.batches.next(batches_[*turn]));
    *text = batches_[*turn].text;
    if (text->empty()) break;
    const std::size_t skipped = std::min(skip, text->size());
    text->remove_prefix(skipped);
    skip -= skipped;
  }
  return {};
}

// Chunks of whole lines, each of chunk_bytes and the rest of a line.
void Reader::cut(std::string_view text) {
  chunk_count_ = 0;
  while (!text.empty()) {
    const std::size_t least = std::min(options_.chunk_bytes, text.size());
    const std::size_t size = text.find('\n', least - 1) + 1;
    if (chunk_count_ == chunks_.size()) chunks_.emplace_back();
    chunks_[chunk_count_++].text = text.substr(0, size);
    text.remove_prefix(size);
  }
}

// One of the threads reads on while the others parse.
Status Reader::parse_and_read_next(OpenFile& open, Batch& next) {
  Status read;
  const IdColumn users = users_.column(), items = items_.column();
  pool_.run(chunk_count_ + 1, 1, [&](std::size_t first, std::size_t) {
    if (first == 0) {
      read = open.batches.next(next);
    } else {
      parse_chunk(open.detected.lines, users, items, chunks_[first - 1]);
    }
  });
  return read;
}

// Once a column holds anything but plain numbers, it is text from the beginning.
Status Reader::parse_again_as_text(OpenFile& open) {
  for (;;) {
    bool again = false;
    for (std::size_t i = 0; i < chunk_count_; ++i) {
      const ParsedChunk& chunk = chunks_[i];
      if (chunk.users_need_text) users_.growing->become_text();
      if (chunk.items_need_text) items_.growing->become_text();
      again = again || chunk.users_need_text || chunk.items_need_text;
    }
    if (!again) return {};
    const IdColumn users = users_.column(), items = items_.column();
    pool_.run(chunk_count_, 1, [&](std::size_t first, std::size_t) {
      parse_chunk(open.detected.lines, users, items, chunks_[first]);
    });
  }
}

Status Reader::check_errors(OpenFile& open, const FileStats& stats) {
  for (std::size_t i = 0; i < chunk_count_; ++i) {
    const ParsedChunk& chunk = chunks_[i];
    if (chunk.error.has_value()) {
      const std::uint64_t line = open.lines + chunk.error->line + 1;
      if (chunk.error->column == 0) {
        return error(Code::invalid, "{}:{}: {}", stats.name, line, chunk.error->message);
      }
      return error(Code::invalid, "{}:{}:{}: {}", stats.name, line, chunk.error->column,
                   chunk.error->message);
    }
    open.lines += chunk.lines;
  }
  return {};
}

// Gives new ids their indices, chunk by chunk in input order.
Status Reader::add_new_ids(const ColumnTarget& target, NewIds ParsedChunk::* list,
                           std::vector<std::vector<std::uint32_t>>& indices) {
  indices.resize(std::max(indices.size(), chunk_count_));
  if (target.growing == nullptr) return {};
  for (std::size_t i = 0; i < chunk_count_; ++i) {
    const NewIds& fresh = chunks_[i].*list;
    std::vector<std::uint32_t>& index = indices[i];
    index.clear();
    if (fresh.size() > IdMap::size_max - target.ids->size()) {
      return error(Code::exhausted, "there are more than {} different ids", IdMap::size_max);
    }
    for (const std::uint32_t number : fresh.numbers) {
      index.push_back(target.growing->add_number(number));
    }
    for (const std::string_view id : fresh.texts) index.push_back(target.growing->add_text(id));
  }
  return {};
}

std::size_t Reader::expected_ratings(const Batch& batch, std::size_t in_batch, bool last) const {
  const std::uint64_t read = stored_before_ + batch.stored_bytes;
  if (last && options_.paths.size() == stats_.files.size() + 1) return in_batch;
  if (read == 0 || stored_total_ == 0) return 0;
  if (stored_total_ <= read) return in_batch;
  const double share = static_cast<double>(store_.size() + in_batch) / static_cast<double>(read);
  const double rest = share * static_cast<double>(stored_total_ - read);
  // More than likely needed: room that is not used takes no memory.
  return in_batch + static_cast<std::size_t>(std::min(1.5 * rest, 4e9)) + 4096;
}

Status Reader::place(const Batch& batch, bool last) {
  TRY(add_new_ids(users_, &ParsedChunk::users, user_indices_));
  TRY(add_new_ids(items_, &ParsedChunk::items, item_indices_));
  std::vector<std::size_t> begins(chunk_count_ + 1);
  for (std::size_t i = 0; i < chunk_count_; ++i) begins[i + 1] = begins[i] + chunks_[i].count;
  const std::size_t count = begins[chunk_count_];
  if (count > ratings_max - store_.size()) {
    return error(Code::exhausted, "there are more than {} ratings", grouped(ratings_max));
  }
  const std::span<Rating> room = store_.grow(count, expected_ratings(batch, count, last));
  const bool grow_users = users_.growing != nullptr, grow_items = items_.growing != nullptr;
  pool_.run(chunk_count_, 1, [&](std::size_t i, std::size_t) {
    const std::span<Rating> parsed = std::span(chunks_[i].storage).first(chunks_[i].count);
    if (grow_users && chunks_[i].users.size() > 0) {
      for (Rating& rating : parsed) {
        if (rating.user & new_id_bit) rating.user = user_indices_[i][rating.user & ~new_id_bit];
      }
    }
    if (grow_items && chunks_[i].items.size() > 0) {
      for (Rating& rating : parsed) {
        if (rating.item & new_id_bit) rating.item = item_indices_[i][rating.item & ~new_id_bit];
      }
    }
    std::ranges::copy(parsed, room.begin() + static_cast<std::ptrdiff_t>(begins[i]));
  });
  return {};
}

Status Reader::finish(const OpenFile& open, FileStats& stats) {
  std::uint64_t before = 0;
  for (const FileStats& file : stats_.files) before += file.ratings;
  stats.lines = open.lines;
  stats.ratings = store_.size() - before;
  stats.bytes = open.batches.text_bytes();
  stats.stored_bytes = open.file->stored_bytes();
  if (open.detected.lines.format == RatingsFormat::matrix_market &&
      stats.ratings != open.detected.entries) {
    return error(Code::invalid, "{}: expected {} entries as its size line says, found {}",
                 stats.name, open.detected.entries, stats.ratings);
  }
  if (stats.ratings == 0) stats_.warnings.push_back(stats.name + " holds no ratings");
  return {};
}

}  // namespace

std::vector<Field> fields(ReadOptions& options) {
  const auto column = [](std::string name, std::int64_t* target, std::string what) {
    return Field{.name = std::move(name),
                 .target = target,
                 .help = "column of the " + what + ", counted from 1",
                 .minimum = 1,
                 .maximum = static_cast<double>(column_max)};
  };
  return {
      {.name = "format",
       .target = &options.format,
       .help = "how the ratings file is laid out",
       .choices = {"auto", "tsv", "csv", "semicolon", "colons", "space", "mtx"}},
      {.name = "header",
       .target = &options.header,
       .help = "whether the first line names the columns",
       .choices = {"auto", "yes", "no"}},
      {.name = "duplicates",
       .target = &options.duplicates,
       .help = "what becomes of several ratings of one item by one user",
       .choices = {"keep", "last", "mean"}},
      {.name = "no_value",
       .target = &options.no_value,
       .help = "lines hold no rating: every one counts as 1"},
      column("user_column", &options.user_column, "user"),
      column("item_column", &options.item_column, "item"),
      column("value_column", &options.value_column, "rating"),
  };
}

Result<Ratings> read_ratings(world::Files& files, world::Pool& pool, const ReadOptions& options) {
  TRY(check_options(options));
  TRY_AS(const Duplicates rule, parse_duplicates(options.duplicates));
  Ratings result;
  Reader reader(files, pool, options, {&result.users, &result.users},
                {&result.items, &result.items});
  TRY(reader.read_all());
  result.ratings = reader.take();
  result.stats = std::move(reader.stats());
  const DuplicateCounts counts =
      handle_duplicates(result.ratings, result.users.size(), result.items.size(), rule);
  result.stats.duplicates = counts.found;
  result.stats.duplicates_removed = counts.removed;
  return result;
}

Result<KnownRatings> read_ratings_known(world::Files& files, world::Pool& pool,
                                        const ReadOptions& options, const IdMap& users,
                                        const IdMap& items) {
  TRY(check_options(options));
  TRY_AS(const Duplicates rule, parse_duplicates(options.duplicates));
  KnownRatings result;
  Reader reader(files, pool, options, {&users, nullptr}, {&items, nullptr});
  TRY(reader.read_all());
  result.ratings = reader.take();
  result.stats = std::move(reader.stats());
  const DuplicateCounts counts =
      handle_duplicates(result.ratings, users.size(), items.size(), rule);
  result.stats.duplicates = counts.found;
  result.stats.duplicates_removed = counts.removed;
  for (const Rating& rating : result.ratings) {
    const bool user = rating.user != IdMap::npos, item = rating.item != IdMap::npos;
    result.unknown_users += user ? 0 : 1;
    result.unknown_items += item ? 0 : 1;
    result.known += user && item ? 1 : 0;
  }
  return result;
}

}  // namespace castor::data

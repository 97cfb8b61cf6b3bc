#pragma once
// Ratings (user, item, value), and reading them from text: one rating a line, separated by tab,
// comma, semicolon, '::' or spaces, or Matrix Market; plain, gzip or zstd; from files or standard
// input. Parsing is parallel, and what is read does not depend on the number of threads or the
// sizes of pieces. Peak memory: 12 bytes a rating, the id maps, and about 64 MiB of buffers.
//
// The first error in input order is reported, as "file:line:column: expected ..., found ...".
//
// Thread: one at a time per pool.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.h"
#include "core/result.h"
#include "data/ids.h"
#include "data/inflate.h"
#include "world/files.h"
#include "world/pool.h"

namespace castor::data {

struct Rating {
  static constexpr bool has_no_padding = true;

  std::uint32_t user = 0;  // index in the map of users
  std::uint32_t item = 0;
  float value = 0;

  bool operator==(const Rating&) const = default;
};
static_assert(sizeof(Rating) == 12);

enum class RatingsFormat : unsigned char { tab, comma, semicolon, colons, space, matrix_market };

// "tsv", "csv", "semicolon", "colons", "space", "mtx": also the values of ReadOptions::format.
std::string_view name_of(RatingsFormat format);

struct ReadOptions {
  std::vector<std::string> paths = {};  // read in this order as one data set; "-" is standard input
  std::string format = "auto";          // or one of the names above
  std::string header = "auto";          // auto, yes, no: the first line names the columns
  std::string duplicates = "keep";      // keep, last, mean: see duplicates.h
  bool no_value = false;                // lines need no rating: every value is 1
  std::int64_t user_column = 1;         // counted from 1; further columns are ignored
  std::int64_t item_column = 2;
  std::int64_t value_column = 3;

  // Called between batches on the calling thread with stored bytes read and in all (0 = unknown).
  std::function<void(std::uint64_t read, std::uint64_t total)> progress = {};

  // Sizes of the pieces work is cut into; changing them changes nothing but speed and memory.
  std::size_t chunk_bytes = std::size_t{64} << 10;  // parsed by one thread at a time
  std::size_t batch_bytes = std::size_t{4} << 20;   // read at once; REQUIRES: >= chunk_bytes
};

// All but paths, progress and sizes.
std::vector<Field> fields(ReadOptions& options);

struct FileStats {
  std::string name;  // the path, or "standard input"
  RatingsFormat format = RatingsFormat::space;
  Compression compression = Compression::none;
  bool header = false;
  std::uint64_t lines = 0;
  std::uint64_t ratings = 0;
  std::uint64_t bytes = 0;         // of text
  std::uint64_t stored_bytes = 0;  // as stored, perhaps compressed
};

struct ReadStats {
  std::vector<FileStats> files = {};
  std::uint64_t duplicates = 0;            // ratings whose (user, item) had occurred before
  std::uint64_t duplicates_removed = 0;    // by the rule asked for; 0 for "keep"
  std::vector<std::string> warnings = {};  // sentences: what looks wrong though it could be read
};

struct Ratings {
  std::vector<Rating> ratings;  // in input order
  IdMap users, items;
  ReadStats stats;
};

// At least one rating, or an error. At most 2^32 - 1 ratings.
Result<Ratings> read_ratings(world::Files& files, world::Pool& pool, const ReadOptions& options);

// Ratings whose ids are looked up in maps made before, as those of a test set in the training
// set's.
struct KnownRatings {
  std::vector<Rating> ratings;      // an id not in its map has index IdMap::npos
  std::uint64_t unknown_users = 0;  // ratings by a user who is not in the map
  std::uint64_t unknown_items = 0;  // ratings of an item that is not in the map
  std::uint64_t known = 0;          // ratings with both known
  ReadStats stats;
};

Result<KnownRatings> read_ratings_known(world::Files& files, world::Pool& pool,
                                        const ReadOptions& options, const IdMap& users,
                                        const IdMap& items);

}  // namespace castor::data

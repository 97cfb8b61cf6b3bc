#pragma once
// One arbitrary input for the readers of ratings: whatever it is, reading ends with ratings or an
// error, in the same way in one piece and in many; what was read can be written and is then read
// back the same. The fuzzer looks for inputs that break this, and a test replays those it has kept.
//
// Thread: one at a time.
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "data/fixture.h"
#include "data/ratings_writer.h"

namespace castor::data {

// The first byte chooses options; the rest is the file.
inline ReadOptions case_options(std::uint8_t choice) {
  static constexpr const char* formats[] = {"auto",   "tsv",   "csv", "semicolon",
                                            "colons", "space", "mtx", "auto"};
  static constexpr const char* headers[] = {"auto", "yes", "no", "auto"};
  ReadOptions options;
  options.paths = {"r"};
  options.format = formats[choice & 7];
  options.header = headers[choice >> 3 & 3];
  options.no_value = (choice & 32) != 0;
  if ((choice & 64) != 0) options.user_column = 2, options.item_column = 1;
  if ((choice & 128) != 0) options.duplicates = "mean";
  return options;
}

inline void check_round_trip(Disk& disk, world::Pool& pool, const Ratings& ratings) {
  const Status written =
      write_ratings(disk.files, "w.csv", ratings, {.format = RatingsFormat::comma}).has_value()
          ? Status()
          : Status(Error(Code::io, "not written"));
  CHECK(written.has_value());
  ReadOptions options;
  options.paths = {"w.csv"};
  options.format = "csv";
  options.header = "no";
  const auto back = read_ratings(disk.files, pool, options);
  CHECK(back.has_value(), "{}", back.has_value() ? "" : back.error().message());
  CHECK(plain(*back) == plain(ratings));
}

inline void check_ratings_case(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;
  Disk disk;
  disk.put("r", as_text(std::as_bytes(bytes.subspan(1))));
  static world::Pool pool(1);
  ReadOptions options = case_options(bytes[0]);
  const auto whole = read_ratings(disk.files, pool, options);
  options.chunk_bytes = 1 + bytes.size() % 7;
  options.batch_bytes = 4 * options.chunk_bytes;
  const auto pieces = read_ratings(disk.files, pool, options);
  CHECK(whole.has_value() == pieces.has_value());
  if (whole.has_value()) {
    CHECK(whole->ratings == pieces->ratings);
    CHECK(plain(*whole) == plain(*pieces));
    for (const Rating& rating : whole->ratings) CHECK(std::isfinite(rating.value));
    check_round_trip(disk, pool, *whole);
    const auto known = read_ratings_known(disk.files, pool, options, whole->users, whole->items);
    CHECK(known.has_value() && known->ratings == whole->ratings);
  } else {
    CHECK(whole.error().message() == pieces.error().message(), "{}\n{}", whole.error().message(),
          pieces.error().message());
  }
}

}  // namespace castor::data

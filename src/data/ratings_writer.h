#pragma once
// Ratings as text, one a line: what read_ratings() reads back as the same ratings under the same
// ids. The file appears whole or not at all.
//
// Thread: one at a time.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "data/atomic_file.h"
#include "data/ids.h"
#include "data/ratings.h"
#include "world/files.h"

namespace castor::data {

struct WriteOptions {
  RatingsFormat format = RatingsFormat::tab;  // any but matrix_market
  bool header = false;                        // a first line: user, item, rating
  bool sync = false;                          // return only when the file survives a power cut
};

// Format by the end of the name: .csv is comma; anything else tab.
RatingsFormat format_for(std::string_view path);

class RatingsWriter {
 public:
  static Result<RatingsWriter> open(world::Files& files, const std::string& path,
                                    const WriteOptions& options);

  // Code::invalid for an id this format cannot hold (one with a newline; one with a separator or
  // outer spaces where there is no quoting: all but csv and semicolon), and for a value that is not
  // finite.
  Status add(std::string_view user, std::string_view item, float value);
  Status add(std::uint32_t user, std::uint32_t item, float value);  // decimal ids
  // Publishes the file. Without it nothing appears under the name.
  Status finish();

  std::uint64_t written() const { return written_; }

 private:
  RatingsWriter(AtomicFile file, const WriteOptions& options);
  Status append_id(std::string_view id);
  void append_value(float value);

  AtomicFile file_;
  WriteOptions options_;
  std::string_view separator_;
  std::uint64_t written_ = 0;
  std::string line_;
};

// The ratings whose `selected` byte equals `wanted`; all when `selected` is empty.
struct Selection {
  std::span<const std::uint8_t> selected = {};
  std::uint8_t wanted = 1;
};

// Gives the number of ratings written.
Result<std::uint64_t> write_ratings(world::Files& files, const std::string& path,
                                    const Ratings& ratings, const WriteOptions& options,
                                    Selection selection = {});

}  // namespace castor::data

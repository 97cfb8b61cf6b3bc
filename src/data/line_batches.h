#pragma once
// Text cut into batches of whole lines, each in one buffer.
//
// Thread: one at a time.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "data/inflate.h"

namespace castor::data {

// A line longer than this is an error.
inline constexpr std::size_t line_bytes_max = std::size_t{1} << 20;

struct Batch {
  std::vector<char> buffer;
  std::string_view text;  // in buffer; empty at the end of the file, else ends with a newline
  std::uint64_t stored_bytes = 0;  // of the file, to the end of this batch, as near as can be told
};

class LineBatches {
 public:
  // `file` must outlive this.
  LineBatches(InflatedFile& file, std::size_t batch_bytes)
      : file_(&file), batch_bytes_(batch_bytes) {}

  // The first lines of the file, those of its first quarter of a MiB, before any call of next(); of
  // a first line that is longer, the beginning. What next() gives begins with them all the same.
  Result<std::string_view> head();

  // The next lines, about batch_bytes of them; readable_beyond bytes behind the text may be read. A
  // newline is added to a last line without. A line that goes on and on ends the batch unfinished,
  // above line_bytes_max, for the parser to complain about. When the file cannot be read on, the
  // lines before that place come first, and the error with the next call. REQUIRES: the batch
  // filled by the call before is untouched.
  Status next(Batch& into);

  // Bytes of text given out, without an added newline.
  std::uint64_t text_bytes() const { return text_bytes_; }

 private:
  // As InflatedFile::read(), but what head() has read comes first and errors are put off.
  std::size_t read(std::span<char> into);
  std::uint64_t stored_share() const;

  InflatedFile* file_;
  std::size_t batch_bytes_;
  std::vector<char> head_;        // read by head()
  std::size_t head_given_ = 0;    // and of that, read again by read()
  std::optional<Error> failure_;  // nothing can be read after it
  std::string_view carry_;        // the beginning of a line, in the batch before
  std::uint64_t text_bytes_ = 0;  // given out by next()
  std::uint64_t text_read_ = 0;   // from file_
  bool at_end_ = false;
};

}  // namespace castor::data

#pragma once
// Parsing a piece of text, on one of several threads: ids that the maps already know become their
// indices, new ones become the place in a list of new ids, to be added by one thread, piece by
// piece, so that indices follow the order of the input.
//
// Thread: a ParsedChunk belongs to one at a time; parse_chunk() only reads the maps.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/ids.h"
#include "data/line_format.h"
#include "data/ratings.h"

namespace castor::data {

// Where ids of one column are looked up.
struct IdColumn {
  const IdMap* ids = nullptr;
  bool grows = true;  // else an id that is not in the map becomes IdMap::npos
};

// Marks, in Rating::user and item, a place in the list of new ids.
inline constexpr std::uint32_t new_id_bit = 0x80000000;

// Ids that are not in the map, in order of appearance; an id may occur several times.
struct NewIds {
  std::vector<std::uint32_t> numbers;   // when the map is numeric
  std::vector<std::string_view> texts;  // else; into the text of the chunk, or its `unquoted`

  std::size_t size() const { return numbers.size() + texts.size(); }
  void clear() { numbers.clear(), texts.clear(); }
};

struct LineError {
  std::uint64_t line = 0;    // counted from 0 in the chunk
  std::uint64_t column = 0;  // bytes, counted from 1; 0 = the whole line
  std::string message;
};

struct ParsedChunk {
  std::string_view text;        // whole lines; readable_beyond bytes behind them may be read
  std::vector<Rating> storage;  // kept from one use to the next; the first `count` are the ratings
  std::size_t count = 0;
  std::uint64_t lines = 0;
  NewIds users, items;
  std::deque<std::string> unquoted;
  // The map is numeric and an id is not: make the map hold text and parse again.
  bool users_need_text = false, items_need_text = false;
  std::optional<LineError> error;  // parsing ended there
};

// Fills everything but `text`.
void parse_chunk(const LineFormat& format, const IdColumn& users, const IdColumn& items,
                 ParsedChunk& chunk);

}  // namespace castor::data

#pragma once
// IdMap: external ids (any text without NUL) <-> dense indices 0, 1, 2, ... in order of first
// addition. While every id is a canonical decimal integer below 2^32 ("0", "17", not "007") the map
// holds numbers and no text; the first other id turns it into text, which nobody can see but
// through is_numeric().
//
// Thread: const members from any; the others one at a time.
// Invariant: find(text(i)) == i for every i < size().
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "world/files.h"

namespace castor::data {

class IdMap {
 public:
  static constexpr std::uint32_t npos = 0xffffffff;
  static constexpr std::uint32_t size_max = 0x7fffffff;

  std::uint32_t size() const { return size_; }
  bool is_numeric() const { return numeric_; }

  // REQUIRES: index < size().
  std::string text(std::uint32_t index) const;
  void append_text(std::uint32_t index, std::string& out) const;

  // npos when absent.
  std::uint32_t find(std::string_view id) const;
  // REQUIRES: is_numeric(). As find(std::to_string(number)).
  std::uint32_t find_number(std::uint32_t number) const {
    if (number < direct_.size()) return direct_[number] - 1;  // 0 - 1 is npos
    return number < direct_size_max ? npos : find_large(number);
  }
  // REQUIRES: !is_numeric().
  std::uint32_t find_text(std::string_view id) const;

  // The index of the id, which is new when it was absent. REQUIRES: size() < size_max.
  std::uint32_t add(std::string_view id);
  // REQUIRES: is_numeric().
  std::uint32_t add_number(std::uint32_t number);
  // REQUIRES: !is_numeric().
  std::uint32_t add_text(std::string_view id);
  // From now on ids are held as text. Indices do not change.
  void become_text();

  std::size_t memory_bytes() const;

  // A text file, one id a line in order of index. Backslash, newline, carriage return, tab and
  // other control characters are written as \\ \n \r \t \xNN; everything else stands as it is.
  // Replaces the file in one step.
  Status save(world::Files& files, const std::string& path) const;
  // Code::corrupt for a malformed escape, an empty line, or an id that occurs twice.
  static Result<IdMap> load(world::Files& files, const std::string& path);

 private:
  // Numbers below this are looked up in a plain array, the others in the hash table.
  static constexpr std::uint32_t direct_size_max = 1u << 22;

  struct Slot {
    std::uint32_t index_plus_1 = 0;  // 0 = free
    std::uint32_t key = 0;           // the number, or the low half of the hash of the text
  };

  std::uint32_t find_large(std::uint32_t number) const;
  std::string_view stored(std::uint32_t index) const;
  void insert_slot(std::uint32_t key, std::uint32_t index);
  void rehash(std::size_t slots);
  std::size_t home(std::uint32_t key) const;

  bool numeric_ = true;
  std::uint32_t size_ = 0;
  std::vector<std::uint32_t> numbers_;  // numeric: (size)
  std::vector<std::uint32_t> direct_;   // numeric: index + 1 by number, 0 = absent
  std::vector<char> arena_;             // text: all ids, one after another
  std::vector<std::uint64_t> ends_;     // text: (size), where each ends in arena_
  std::vector<Slot> slots_;             // open addressing, a power of two
  std::size_t slots_used_ = 0;
};

// True when `id` is a canonical decimal integer below 2^32, which is then in *number.
bool parse_canonical(std::string_view id, std::uint32_t* number);

}  // namespace castor::data

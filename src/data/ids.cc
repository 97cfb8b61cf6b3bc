#include "data/ids.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "core/bytes.h"
#include "core/rng.h"
#include "data/atomic_file.h"
#include "data/inflate.h"

namespace castor::data {
namespace {

constexpr std::size_t slots_min = 64;
constexpr std::size_t id_bytes_max = std::size_t{1} << 20;

template <class Word>
Word loaded(const char* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Up to eight bytes as a number that differs when they do (of the same size).
std::uint64_t short_word(const char* at, std::size_t size) {
  if (size == 8) return loaded<std::uint64_t>(at);
  if (size >= 4) {
    const std::uint64_t high = loaded<std::uint32_t>(at + size - 4);
    return high << 32 | loaded<std::uint32_t>(at);
  }
  const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(at[i])}; };
  return size == 0 ? 0 : byte(0) << 16 | byte(size / 2) << 8 | byte(size - 1);
}

std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
  __extension__ using uint128 = unsigned __int128;
  const uint128 product = uint128{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Ids are short: most take one or two multiplications.
std::uint32_t key_of(std::string_view id) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u, other = 0xe7037ed1a0b428dbu;
  std::uint64_t hash = odd ^ id.size();
  const char* at = id.data();
  std::size_t left = id.size();
  for (; left > 8; at += 8, left -= 8) {
    hash = folded_product(hash ^ loaded<std::uint64_t>(at), other);
  }
  hash = folded_product(hash ^ short_word(at, left), odd);
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

bool are_equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  std::size_t at = 0;
  for (; a.size() - at > 8; at += 8) {
    if (loaded<std::uint64_t>(a.data() + at) != loaded<std::uint64_t>(b.data() + at)) return false;
  }
  const std::size_t left = a.size() - at;
  return short_word(a.data() + at, left) == short_word(b.data() + at, left);
}

struct Digits {
  explicit Digits(std::uint32_t number)
      : size(static_cast<std::size_t>(std::to_chars(text, text + sizeof text, number).ptr - text)) {
  }
  std::string_view view() const { return {text, size}; }

  char text[10];
  std::size_t size;
};

}  // namespace

bool parse_canonical(std::string_view id, std::uint32_t* number) {
  if (id.empty() || id.size() > 10 || (id[0] == '0' && id.size() > 1)) return false;
  std::uint64_t value = 0;
  for (const char c : id) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (value > 0xffffffff) return false;
  *number = static_cast<std::uint32_t>(value);
  return true;
}

std::string_view IdMap::stored(std::uint32_t index) const {
  const std::uint64_t begin = index == 0 ? 0 : ends_[index - 1];
  return {arena_.data() + begin, ends_[index] - begin};
}

void IdMap::append_text(std::uint32_t index, std::string& out) const {
  DCHECK(index < size_);
  if (numeric_) {
    out += Digits(numbers_[index]).view();
  } else {
    out += stored(index);
  }
}

std::string IdMap::text(std::uint32_t index) const {
  std::string out;
  append_text(index, out);
  return out;
}

std::size_t IdMap::home(std::uint32_t key) const {
  const std::uint64_t spread = numeric_ ? mix64(key) : key;  // the key of a text is mixed already
  return static_cast<std::size_t>(spread) & (slots_.size() - 1);
}

std::uint32_t IdMap::find_large(std::uint32_t number) const {
  if (slots_.empty()) return npos;
  for (std::size_t at = home(number);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot slot = slots_[at];
    if (slot.index_plus_1 == 0) return npos;
    if (slot.key == number) return slot.index_plus_1 - 1;
  }
}

std::uint32_t IdMap::find_text(std::string_view id) const {
  if (slots_.empty()) return npos;
  const std::uint32_t key = key_of(id);
  for (std::size_t at = home(key);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot slot = slots_[at];
    if (slot.index_plus_1 == 0) return npos;
    if (slot.key == key && are_equal(stored(slot.index_plus_1 - 1), id))
      return slot.index_plus_1 - 1;
  }
}

std::uint32_t IdMap::find(std::string_view id) const {
  if (!numeric_) return find_text(id);
  std::uint32_t number = 0;
  return parse_canonical(id, &number) ? find_number(number) : npos;
}

void IdMap::rehash(std::size_t slots) {
  const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(slots));
  for (const Slot slot : before) {
    if (slot.index_plus_1 == 0) continue;
    std::size_t at = home(slot.key);
    while (slots_[at].index_plus_1 != 0) at = (at + 1) & (slots - 1);
    slots_[at] = slot;
  }
}

void IdMap::insert_slot(std::uint32_t key, std::uint32_t index) {
  if (slots_used_ * 3 >= slots_.size() * 2) rehash(std::max(slots_min, slots_.size() * 2));
  std::size_t at = home(key);
  while (slots_[at].index_plus_1 != 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {index + 1, key};
  ++slots_used_;
}

std::uint32_t IdMap::add_number(std::uint32_t number) {
  DCHECK(numeric_);
  if (const std::uint32_t found = find_number(number); found != npos) return found;
  CHECK(size_ < size_max);
  const std::uint32_t index = size_++;
  numbers_.push_back(number);
  if (number >= direct_size_max) {
    insert_slot(number, index);
    return index;
  }
  if (number >= direct_.size()) {
    direct_.resize(std::min<std::size_t>(direct_size_max, std::bit_ceil(std::size_t{number} + 1)));
  }
  direct_[number] = index + 1;
  return index;
}

std::uint32_t IdMap::add_text(std::string_view id) {
  DCHECK(!numeric_);
  if (const std::uint32_t found = find_text(id); found != npos) return found;
  CHECK(size_ < size_max);
  const std::uint32_t index = size_++;
  arena_.insert(arena_.end(), id.begin(), id.end());
  ends_.push_back(arena_.size());
  insert_slot(key_of(id), index);
  return index;
}

std::uint32_t IdMap::add(std::string_view id) {
  std::uint32_t number = 0;
  if (numeric_ && parse_canonical(id, &number)) return add_number(number);
  if (numeric_) become_text();
  return add_text(id);
}

void IdMap::become_text() {
  if (!numeric_) return;
  const std::vector<std::uint32_t> numbers = std::exchange(numbers_, {});
  std::vector<std::uint32_t>().swap(direct_);
  std::vector<Slot>().swap(slots_);
  slots_used_ = 0;
  numeric_ = false;
  size_ = 0;
  for (const std::uint32_t number : numbers) add_text(Digits(number).view());
}

std::size_t IdMap::memory_bytes() const {
  return sizeof *this + numbers_.capacity() * 4 + direct_.capacity() * 4 + arena_.capacity() +
         ends_.capacity() * 8 + slots_.capacity() * sizeof(Slot);
}

namespace {

void append_escaped(std::string_view id, std::string& out) {
  static constexpr char hex[] = "0123456789abcdef";
  for (const char c : id) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    } else {
      out += c;
    }
  }
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// False when the line is not what append_escaped() writes.
bool unescape(std::string_view line, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      out += line[i];
      continue;
    }
    if (++i == line.size()) return false;
    switch (line[i]) {
      case '\\': out += '\\'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'x': {
        if (i + 2 >= line.size()) return false;
        const int high = hex_digit(line[i + 1]), low = hex_digit(line[i + 2]);
        if (high < 0 || low < 0) return false;
        out += static_cast<char>(high * 16 + low);
        i += 2;
        break;
      }
      default: return false;
    }
  }
  return !out.empty();
}

// Adds one line of a saved map. `scratch` spares allocations.
Status add_line(std::string_view line, const std::string& path, IdMap& map, std::string& scratch) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);  // a map edited elsewhere
  const std::uint32_t number = map.size();
  if (number == IdMap::size_max) return error(Code::exhausted, "{}: too many ids", path);
  if (!unescape(line, scratch)) {
    return error(Code::corrupt, "{}:{}: not an id: '{}'", path, number + 1, printable(line));
  }
  if (map.add(scratch) != number) {
    return error(Code::corrupt, "{}:{}: the id '{}' occurs twice", path, number + 1,
                 printable(line));
  }
  return {};
}

}  // namespace

Status IdMap::save(world::Files& files, const std::string& path) const {
  TRY_AS(AtomicFile file, AtomicFile::open(files, path));
  std::string id, line;
  for (std::uint32_t index = 0; index < size_; ++index) {
    id.clear();
    append_text(index, id);
    line.clear();
    append_escaped(id, line);
    line += '\n';
    TRY(file.append(line));
  }
  return file.commit(true);
}

Result<IdMap> IdMap::load(world::Files& files, const std::string& path) {
  TRY_AS(auto file, InflatedFile::open(files, path));
  IdMap map;
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  std::string rest, scratch;  // rest: a line whose end has not been read
  for (;;) {
    TRY_AS(const std::size_t got, file->read(buffer));
    if (got == 0) break;
    std::string_view text = as_text(std::span(buffer).first(got));
    for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
      rest += text.substr(0, end);
      text.remove_prefix(end + 1);
      TRY(add_line(rest, path, map, scratch));
      rest.clear();
    }
    rest += text;
    if (rest.size() > 4 * id_bytes_max) {
      return error(Code::corrupt, "{}:{}: a line is too long", path, map.size() + 1);
    }
  }
  if (!rest.empty()) TRY(add_line(rest, path, map, scratch));
  return map;
}

}  // namespace castor::data

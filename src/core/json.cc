#include "core/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/limits.h"

namespace castor {
namespace {

// Builds our value from the parser's events; refuses documents nested too deep before they are
// built.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(std::string_view where) : where_(where) {}

  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(std::int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > INT64_MAX) return add(static_cast<double>(value));
    return add(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::Object{}); }
  bool end_object() override {
    if (const std::string* twice = repeated_key(std::get<Json::Object>(stack_.back()))) {
      message_ = text("{}: '{}' is there twice", where_, printable(*twice));
      return false;
    }
    return close();
  }
  bool start_array(std::size_t) override { return open(Json::Array{}); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    std::get<Json::Object>(stack_.back()).emplace_back(std::move(value), Json());
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& problem) override {
    // The library's text begins with its own class name and number in brackets, and may quote any
    // amount of the document.
    const std::string_view whole = problem.what();
    const auto bracket = whole.find("] ");
    const auto useful = bracket == std::string_view::npos ? whole : whole.substr(bracket + 2);
    message_ = text("{}: byte {}: {}", where_, position, printable(useful, 300));
    return false;
  }

  Json root;
  std::string message_;

 private:
  using Container = std::variant<Json::Array, Json::Object>;

  // By sorting: comparing each with each would take hours on a document made to be slow.
  static const std::string* repeated_key(const Json::Object& object) {
    std::vector<const std::string*> names;
    names.reserve(object.size());
    for (const auto& member : object) names.push_back(&member.first);
    std::ranges::sort(names, [](const auto* a, const auto* b) { return *a < *b; });
    const auto twice =
        std::ranges::adjacent_find(names, [](const auto* a, const auto* b) { return *a == *b; });
    return twice == names.end() ? nullptr : *twice;
  }

  bool add(Json value) {
    if (stack_.empty()) {
      root = std::move(value);
    } else if (auto* array = std::get_if<Json::Array>(&stack_.back())) {
      array->push_back(std::move(value));
    } else {
      std::get<Json::Object>(stack_.back()).back().second = std::move(value);
    }
    return true;
  }
  bool open(Container container) {
    if (stack_.size() >= limits::json_depth_max) {
      message_ = text("{}: nested more than {} levels deep", where_, limits::json_depth_max);
      return false;
    }
    stack_.push_back(std::move(container));
    return true;
  }
  bool close() {
    Container done = std::move(stack_.back());
    stack_.pop_back();
    if (auto* array = std::get_if<Json::Array>(&done)) return add(std::move(*array));
    return add(std::move(std::get<Json::Object>(done)));
  }

  std::string_view where_;
  std::vector<Container> stack_;
};

void write_string(std::string& out, const std::string& value) {
  static constexpr char hex[] = "0123456789abcdef";
  out += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20) {
      out += {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
    } else {
      out += c;
    }
  }
  out += '"';
}

void new_line(std::string& out, int indent, bool pretty) {
  if (!pretty) return;
  out += '\n';
  out.append(static_cast<std::size_t>(indent) * 2, ' ');
}

// As JSON; with a mark that it is not an integer.
std::string real_text(double value) {
  if (!std::isfinite(value)) return "null";
  std::string digits = shortest(value);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return digits;
}

Error missing(std::string_view key, std::string_view kind) {
  return error(Code::corrupt, "'{}' should be {}", key, kind);
}

}  // namespace

Result<double> Json::number(std::string_view key) const {
  const Json* member = find(key);
  if (member != nullptr && member->as_int() != nullptr)
    return static_cast<double>(*member->as_int());
  if (member != nullptr && member->as_real() != nullptr) return *member->as_real();
  return missing(key, "a number");
}

Result<std::int64_t> Json::integer(std::string_view key) const {
  const Json* member = find(key);
  if (member != nullptr && member->as_int() != nullptr) return *member->as_int();
  return missing(key, "an integer");
}

Result<std::string> Json::string(std::string_view key) const {
  const Json* member = find(key);
  if (member != nullptr && member->as_string() != nullptr) return *member->as_string();
  return missing(key, "a string");
}

const Json* Json::find(std::string_view key) const {
  const Object* object = as_object();
  if (object == nullptr) return nullptr;
  for (const auto& [name, value] : *object) {
    if (name == key) return &value;
  }
  return nullptr;
}

Json& Json::set(std::string key, Json value) {
  if (is_null()) value_ = Object{};
  auto* object = std::get_if<Object>(&value_);
  CHECK(object != nullptr, "set('{}') on a value that is not an object", key);
  for (auto& [name, member] : *object) {
    if (name == key) {
      member = std::move(value);
      return *this;
    }
  }
  object->emplace_back(std::move(key), std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  if (is_null()) value_ = Array{};
  auto* array = std::get_if<Array>(&value_);
  CHECK(array != nullptr, "push on a value that is not an array");
  array->push_back(std::move(value));
  return *this;
}

void Json::write(std::string& out, int indent, bool pretty) const {
  if (is_null()) {
    out += "null";
  } else if (const bool* flag = as_bool()) {
    out += *flag ? "true" : "false";
  } else if (const std::int64_t* integer_value = as_int()) {
    out += std::to_string(*integer_value);
  } else if (const double* real = as_real()) {
    out += real_text(*real);
  } else if (const std::string* string_value = as_string()) {
    write_string(out, *string_value);
  } else if (const Array* array = as_array()) {
    out += '[';
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (i > 0) out += pretty ? ", " : ",";
      (*array)[i].write(out, indent + 1, pretty);
    }
    out += ']';
  } else if (const Object* object = as_object()) {
    out += '{';
    for (std::size_t i = 0; i < object->size(); ++i) {
      if (i > 0) out += ',';
      new_line(out, indent + 1, pretty);
      write_string(out, (*object)[i].first);
      out += pretty ? ": " : ":";
      (*object)[i].second.write(out, indent + 1, pretty);
    }
    if (!object->empty()) new_line(out, indent, pretty);
    out += '}';
  }
}

std::string Json::dump(bool pretty) const {
  std::string out;
  write(out, 0, pretty);
  if (pretty) out += '\n';
  return out;
}

Result<Json> Json::parse(std::string_view document, std::string_view where) {
  Builder builder(where);
  if (!nlohmann::json::sax_parse(document, &builder)) {
    return Error(Code::corrupt,
                 builder.message_.empty() ? text("{}: not JSON", where) : builder.message_);
  }
  return std::move(builder.root);
}

}  // namespace castor

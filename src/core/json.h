#pragma once
// A small JSON value: what programs exchange, and the neutral form configuration files are read
// into. Objects keep the order in which members were set. Integers and reals are kept apart. Not
// for hot paths.
//
// Thread: as a plain value.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"

namespace castor {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;
  Json(bool value) : value_(value) {}               // NOLINT(google-explicit-constructor)
  Json(int value) : value_(std::int64_t{value}) {}  // NOLINT
  Json(std::int64_t value) : value_(value) {}       // NOLINT
  // Above 2^63 - 1 it becomes a real, as in parse().
  Json(std::uint64_t value) {  // NOLINT
    if (value > INT64_MAX) {
      value_ = static_cast<double>(value);
    } else {
      value_ = static_cast<std::int64_t>(value);
    }
  }
  Json(std::uint32_t value) : value_(std::int64_t{value}) {}    // NOLINT
  Json(double value) : value_(value) {}                         // NOLINT
  Json(const char* value) : value_(std::string(value)) {}       // NOLINT
  Json(std::string_view value) : value_(std::string(value)) {}  // NOLINT
  Json(std::string value) : value_(std::move(value)) {}         // NOLINT
  Json(Array value) : value_(std::move(value)) {}               // NOLINT
  Json(Object value) : value_(std::move(value)) {}              // NOLINT

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_number() const { return as_int() != nullptr || as_real() != nullptr; }

  // Null when the value is of another kind.
  const bool* as_bool() const { return std::get_if<bool>(&value_); }
  const std::int64_t* as_int() const { return std::get_if<std::int64_t>(&value_); }
  const double* as_real() const { return std::get_if<double>(&value_); }
  const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  const Array* as_array() const { return std::get_if<Array>(&value_); }
  const Object* as_object() const { return std::get_if<Object>(&value_); }

  // Typed access for documents with a known shape; the error names the key.
  Result<double> number(std::string_view key) const;  // integer or real
  Result<std::int64_t> integer(std::string_view key) const;
  Result<std::string> string(std::string_view key) const;
  // The member, or null when absent or when this is not an object.
  const Json* find(std::string_view key) const;

  // Makes this an object if it is null; replaces a member of the same name. Returns *this.
  Json& set(std::string key, Json value);
  Json& push(Json value);

  // One line, or indented. Numbers read back equal and of the same kind: a real always has a point
  // or an exponent. NaN and infinities become null.
  std::string dump(bool pretty = false) const;

  // `where` names the source in errors ("model.json"). At most limits::json_depth_max levels deep.
  // Two members of one name are an error.
  static Result<Json> parse(std::string_view document, std::string_view where);

 private:
  void write(std::string& out, int indent, bool pretty) const;

  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

}  // namespace castor

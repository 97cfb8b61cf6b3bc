#pragma once
// One description per option. Each options struct has one function
//     std::vector<Field> fields(MfOptions& options);
// giving name, help and range of every member; from it come the command line, TOML files, the
// effective configuration as JSON, the reference page and the form in which options travel.
// Defaults live in the struct and nowhere else.
//
// Thread: as plain values; a Field points into the struct it was made for.
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace castor {

using FieldTarget =
    std::variant<bool*, std::int64_t*, double*, std::string*, std::vector<std::string>*>;

struct Field {
  std::string name;  // lower case, words joined by '_'; '--checkpoint-every' on the command line
  FieldTarget target;
  std::string help;                                           // a phrase, without a final stop
  double minimum = -std::numeric_limits<double>::infinity();  // inclusive
  double maximum = std::numeric_limits<double>::infinity();   // inclusive
  std::vector<std::string> choices = {};                      // legal strings; empty = any
  std::string unit = {};                                      // "seconds", "bytes"; shown in help
  bool positive = false;                                      // reals: 0 itself is not legal
  bool required = false;  // an empty string or list is not legal
};

// The kind of value in words: "true or false", "a whole number from 1 to 2048", "one of sgd, als,
// ccd".
std::string expected(const Field& field);
// The present value as text; lists joined by ','.
std::string value_text(const Field& field);

// Sets the target from text (command line) or from JSON (TOML file, model.json). The error has
// Code::invalid, and names the field, what was given and what is legal. On error nothing is
// changed.
Status assign(const Field& field, std::string_view value);
Status assign(const Field& field, const Json& value);
inline Status assign(const Field& field, const char* value) {
  return assign(field, std::string_view(value));
}

// Code::invalid when a required field is still empty.
Status check_required(std::span<const Field> fields);

Json to_json(std::span<const Field> fields);
// Every member of `object` must be a field: unknown names are errors that suggest the nearest one.
// On error nothing is changed.
Status from_json(std::span<const Field> fields, const Json& object, std::string_view where);

}  // namespace castor

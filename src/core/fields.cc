#include "core/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace castor {
namespace {

std::string range_text(const Field& field, bool whole) {
  const bool low = std::isfinite(field.minimum), high = std::isfinite(field.maximum);
  auto number = [whole](double x) {
    return whole ? std::to_string(static_cast<std::int64_t>(x)) : shortest(x);
  };
  std::string kind = whole ? "a whole number" : "a number";
  if (field.positive && high) return kind + " above 0, at most " + number(field.maximum);
  if (field.positive) return kind + " above 0";
  if (low && high)
    return text("{} from {} to {}", kind, number(field.minimum), number(field.maximum));
  if (low) return text("{} of at least {}", kind, number(field.minimum));
  if (high) return text("{} of at most {}", kind, number(field.maximum));
  return kind;
}

std::string joined(std::span<const std::string> words, std::string_view separator) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += separator;
    out += word;
  }
  return out;
}

Error illegal(const Field& field, std::string_view given) {
  return error(Code::invalid, "{} is '{}': it must be {}", field.name, printable(given),
               expected(field));
}

bool in_range(const Field& field, double value) {
  return value >= field.minimum && value <= field.maximum && !(field.positive && value <= 0);
}

template <class T>
bool parse_whole(std::string_view from, T& value) {
  const auto [end, problem] = std::from_chars(from.data(), from.data() + from.size(), value);
  return problem == std::errc{} && end == from.data() + from.size();
}

// Accepts 1000000 and, for people, 1e6, when the value is whole.
bool parse_integer(std::string_view from, std::int64_t& value) {
  if (parse_whole(from, value)) return true;
  double real = 0;
  if (!parse_whole(from, real) || std::trunc(real) != real || std::abs(real) > 9e15) return false;
  value = static_cast<std::int64_t>(real);
  return true;
}

std::vector<std::string> split_list(std::string_view from) {
  std::vector<std::string> parts;
  while (!from.empty()) {
    const auto comma = from.find(',');
    parts.emplace_back(from.substr(0, comma));
    from = comma == std::string_view::npos ? std::string_view{} : from.substr(comma + 1);
  }
  return parts;
}

bool is_choice(const Field& field, const std::string& value) {
  if (field.choices.empty()) return true;
  for (const std::string& choice : field.choices) {
    if (choice == value) return true;
  }
  return false;
}

bool are_choices(const Field& field, std::span<const std::string> values) {
  return std::ranges::all_of(values, [&](const auto& value) { return is_choice(field, value); });
}

using FieldValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

FieldValue value_of(const Field& field) {
  return std::visit([](const auto* target) { return FieldValue(*target); }, field.target);
}

void restore(const Field& field, FieldValue value) {
  std::visit(
      [&](auto* target) { *target = std::move(std::get<std::decay_t<decltype(*target)>>(value)); },
      field.target);
}

Status assign_all(std::span<const Field> fields, const Json::Object& members,
                  std::string_view where) {
  for (const auto& [key, value] : members) {
    const auto found = std::ranges::find(fields, key, &Field::name);
    if (found == fields.end()) {
      std::vector<std::string> names;
      for (const Field& field : fields) names.push_back(field.name);
      const std::string guess = nearest(key, names);
      return error(Code::invalid, "{}: unknown option '{}'{}", where, printable(key),
                   guess.empty() ? "" : text(", did you mean '{}'?", guess));
    }
    if (Status status = assign(*found, value); !status) {
      return std::move(status).error().with(where);
    }
  }
  return {};
}

}  // namespace

std::string expected(const Field& field) {
  const bool list = std::holds_alternative<std::vector<std::string>*>(field.target);
  if (list && !field.choices.empty()) return "a list of " + joined(field.choices, ", ");
  if (!field.choices.empty()) return "one of " + joined(field.choices, ", ");
  if (std::holds_alternative<bool*>(field.target)) return "true or false";
  if (std::holds_alternative<std::int64_t*>(field.target)) return range_text(field, true);
  if (std::holds_alternative<double*>(field.target)) return range_text(field, false);
  if (std::holds_alternative<std::string*>(field.target)) return "text";
  return "a list of texts";
}

std::string value_text(const Field& field) {
  if (auto* const* flag = std::get_if<bool*>(&field.target)) return **flag ? "true" : "false";
  if (auto* const* whole = std::get_if<std::int64_t*>(&field.target))
    return std::to_string(**whole);
  if (auto* const* real = std::get_if<double*>(&field.target)) return shortest(**real);
  if (auto* const* string = std::get_if<std::string*>(&field.target)) return **string;
  return joined(*std::get<std::vector<std::string>*>(field.target), ",");
}

Status assign(const Field& field, std::string_view value) {
  if (auto* const* flag = std::get_if<bool*>(&field.target)) {
    if (value != "true" && value != "false") return illegal(field, value);
    **flag = value == "true";
  } else if (auto* const* whole = std::get_if<std::int64_t*>(&field.target)) {
    std::int64_t parsed = 0;
    if (!parse_integer(value, parsed) || !in_range(field, static_cast<double>(parsed))) {
      return illegal(field, value);
    }
    **whole = parsed;
  } else if (auto* const* real = std::get_if<double*>(&field.target)) {
    double parsed = 0;
    if (!parse_whole(value, parsed) || !std::isfinite(parsed) || !in_range(field, parsed)) {
      return illegal(field, value);
    }
    **real = parsed;
  } else if (auto* const* string = std::get_if<std::string*>(&field.target)) {
    if (!is_choice(field, std::string(value))) return illegal(field, value);
    **string = value;
  } else {
    std::vector<std::string> parsed = split_list(value);
    if (!are_choices(field, parsed)) return illegal(field, value);
    *std::get<std::vector<std::string>*>(field.target) = std::move(parsed);
  }
  return {};
}

Status assign(const Field& field, const Json& value) {
  const bool wants_flag = std::holds_alternative<bool*>(field.target);
  const bool wants_text = std::holds_alternative<std::string*>(field.target);
  if (auto* const* list = std::get_if<std::vector<std::string>*>(&field.target)) {
    if (value.as_array() == nullptr) return illegal(field, value.dump());
    std::vector<std::string> parsed;
    for (const Json& item : *value.as_array()) {
      if (item.as_string() == nullptr) return illegal(field, value.dump());
      parsed.push_back(*item.as_string());
    }
    if (!are_choices(field, parsed)) return illegal(field, value.dump());
    **list = std::move(parsed);
    return {};
  }
  if (const bool* flag = value.as_bool(); flag != nullptr && wants_flag) {
    return assign(field, std::string_view(*flag ? "true" : "false"));
  }
  if (const std::string* string = value.as_string(); string != nullptr && wants_text) {
    return assign(field, std::string_view(*string));
  }
  if (value.is_number() && !wants_flag && !wants_text) {
    return assign(field, std::string_view(value.dump()));
  }
  return illegal(field, value.dump());
}

Status check_required(std::span<const Field> fields) {
  for (const Field& field : fields) {
    if (field.required && value_text(field).empty()) {
      return error(Code::invalid, "{} is missing: {}", field.name, field.help);
    }
  }
  return {};
}

Json to_json(std::span<const Field> fields) {
  Json object{Json::Object{}};
  for (const Field& field : fields) {
    if (auto* const* flag = std::get_if<bool*>(&field.target)) {
      object.set(field.name, **flag);
    } else if (auto* const* whole = std::get_if<std::int64_t*>(&field.target)) {
      object.set(field.name, **whole);
    } else if (auto* const* real = std::get_if<double*>(&field.target)) {
      object.set(field.name, **real);
    } else if (auto* const* string = std::get_if<std::string*>(&field.target)) {
      object.set(field.name, **string);
    } else {
      Json list{Json::Array{}};
      for (const auto& item : *std::get<std::vector<std::string>*>(field.target)) list.push(item);
      object.set(field.name, std::move(list));
    }
  }
  return object;
}

Status from_json(std::span<const Field> fields, const Json& object, std::string_view where) {
  const Json::Object* members = object.as_object();
  if (members == nullptr) return error(Code::invalid, "{}: expected a table of options", where);
  std::vector<FieldValue> before;
  for (const Field& field : fields) before.push_back(value_of(field));
  Status status = assign_all(fields, *members, where);
  if (!status) {
    for (std::size_t i = 0; i < fields.size(); ++i) restore(fields[i], std::move(before[i]));
  }
  return status;
}

}  // namespace castor

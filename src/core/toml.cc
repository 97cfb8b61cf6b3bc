#include "core/toml.h"

#include <toml++/toml.h>

#include <sstream>

namespace castor {
namespace {

Json converted(const toml::node& node);

Json converted_table(const toml::table& table) {
  Json::Object object;
  for (const auto& [key, value] : table) object.emplace_back(key.str(), converted(value));
  return object;
}

Json converted(const toml::node& node) {
  if (const auto* table = node.as_table()) return converted_table(*table);
  if (const auto* array = node.as_array()) {
    Json list{Json::Array{}};
    for (const auto& item : *array) list.push(converted(item));
    return list;
  }
  if (const auto* string = node.as_string()) return Json(string->get());
  if (const auto* integer = node.as_integer()) return Json(std::int64_t{integer->get()});
  if (const auto* real = node.as_floating_point()) return Json(real->get());
  if (const auto* flag = node.as_boolean()) return Json(flag->get());
  std::ostringstream out;  // a date or a time
  node.visit([&out](const auto& value) {
    if constexpr (toml::is_date<decltype(value)> || toml::is_time<decltype(value)> ||
                  toml::is_date_time<decltype(value)>) {
      out << value.get();
    }
  });
  return Json(out.str());
}

}  // namespace

Result<Json> parse_toml(std::string_view document, std::string_view where) {
  try {
    return converted_table(toml::parse(document, where));
  } catch (const toml::parse_error& problem) {
    const auto& at = problem.source().begin;
    return error(Code::invalid, "{}:{}:{}: {}", where, at.line, at.column, problem.description());
  }
}

}  // namespace castor

#include "core/log.h"

namespace castor {

std::string_view name_of(Level level) {
  switch (level) {
    case Level::debug: return "debug";
    case Level::info: return "info";
    case Level::warn: return "warn";
    case Level::error: return "error";
  }
  return "unknown";
}

void Log::write(Level level, std::string_view event, Fields fields) const {
  if (!sink_ || level < least_) return;
  Json object{Json::Object{}};
  for (const auto& [key, value] : fields) object.set(std::string(key), value);
  sink_(level, event, object);
}

std::string log_line(Level level, std::string_view event, const Json& fields) {
  std::string line = text("{} {}", name_of(level), event);
  if (const auto* members = fields.as_object()) {
    for (const auto& [key, value] : *members) line += text(" {}={}", key, value.dump());
  }
  return line;
}

}  // namespace castor

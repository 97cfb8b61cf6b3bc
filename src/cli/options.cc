#include "cli/options.h"

#include <algorithm>
#include <cstdint>

#include "core/bytes.h"
#include "core/limits.h"
#include "core/text.h"
#include "core/toml.h"

namespace castor::cli {
namespace {

constexpr std::uint64_t config_bytes_max = limits::mib;

bool is_list(const Field& field) {
  return std::holds_alternative<std::vector<std::string>*>(field.target);
}
bool is_flag(const Field& field) { return std::holds_alternative<bool*>(field.target); }

// The field under the name that people typed, so that errors speak of that.
Field renamed(const Field& field, std::string name) {
  Field copy = field;
  copy.name = std::move(name);
  return copy;
}

struct Setting {
  const Field* field = nullptr;
  std::string shown;  // "--rank", "MODEL"
  std::string value;
};

// The command line in pieces; nothing is set yet.
class Words {
 public:
  Words(const Spec& spec, std::span<const Field> shared) : spec_(spec) {
    for (const Group& group : spec.groups) add(group.fields);
    add(shared);
  }

  Status read(std::span<const std::string> words);
  const std::vector<Setting>& settings() const { return settings_; }
  std::size_t positionals_filled() const { return filled_; }

 private:
  void add(std::span<const Field> fields) {
    for (const Field& field : fields) fields_.push_back(&field);
  }
  Status option(std::string_view word, std::span<const std::string>& rest);
  Status plain_word(const std::string& word);
  Error unknown(std::string_view flag) const;

  const Spec& spec_;
  std::vector<const Field*> fields_;
  std::vector<Setting> settings_;
  std::size_t filled_ = 0;            // positionals
  const Field* open_list_ = nullptr;  // the option that further words belong to
};

Status Words::read(std::span<const std::string> words) {
  bool may_be_options = true;
  while (!words.empty()) {
    const std::string& word = words.front();
    words = words.subspan(1);
    if (may_be_options && word == "--") {
      may_be_options = false;
      open_list_ = nullptr;
    } else if (may_be_options && word.size() > 1 && word[0] == '-') {
      TRY(option(word, words));
    } else {
      TRY(plain_word(word));
    }
  }
  return {};
}

Error Words::unknown(std::string_view flag) const {
  std::vector<std::string> names;
  for (const Field* field : fields_) names.push_back(flag_of(*field));
  const std::string guess = nearest(flag, names);
  return error(Code::invalid, "unknown option '{}'{}", printable(flag),
               guess.empty() ? "" : text(", did you mean '{}'?", guess));
}

Status Words::option(std::string_view word, std::span<const std::string>& rest) {
  const auto equals = word.find('=');
  const std::string_view flag = word.substr(0, equals);
  const auto found =
      std::ranges::find_if(fields_, [&](const Field* field) { return flag_of(*field) == flag; });
  if (found == fields_.end()) return unknown(flag);
  const Field& field = **found;
  open_list_ = is_list(field) ? &field : nullptr;
  if (equals != std::string_view::npos) {
    settings_.push_back({&field, std::string(flag), std::string(word.substr(equals + 1))});
  } else if (is_flag(field)) {
    settings_.push_back({&field, std::string(flag), "true"});
  } else if (rest.empty() || rest.front().starts_with("--")) {
    return error(Code::invalid, "{} needs a value: {}", flag, expected(field));
  } else {
    settings_.push_back({&field, std::string(flag), rest.front()});
    rest = rest.subspan(1);
  }
  return {};
}

Status Words::plain_word(const std::string& word) {
  const auto& places = spec_.positionals;
  const bool last_is_list = !places.empty() && is_list(places.back());
  if (filled_ < places.size()) {
    settings_.push_back({&places[filled_], places[filled_].name, word});
    filled_ += 1;
  } else if (open_list_ != nullptr) {
    settings_.push_back({open_list_, flag_of(*open_list_), word});
  } else if (last_is_list) {
    settings_.push_back({&places.back(), places.back().name, word});
  } else {
    return error(Code::invalid, "'{}' is one word too many", printable(word));
  }
  return {};
}

Status append(const Field& field, const std::string& value) {
  auto& list = *std::get<std::vector<std::string>*>(field.target);
  if (field.choices.empty()) {  // paths and ids may hold commas
    list.push_back(value);
    return {};
  }
  std::vector<std::string> before = std::move(list);
  Status status = assign(field, std::string_view(value));
  if (!status) return status;
  list.insert(list.begin(), before.begin(), before.end());
  return {};
}

Status apply(std::span<const Setting> settings) {
  std::vector<const Field*> begun;  // lists: what a file said is replaced, not added to
  for (const Setting& setting : settings) {
    const Field field = renamed(*setting.field, setting.shown);
    if (is_list(field)) {
      if (std::ranges::find(begun, setting.field) == begun.end()) {
        std::get<std::vector<std::string>*>(field.target)->clear();
        begun.push_back(setting.field);
      }
      TRY(append(field, setting.value));
    } else {
      TRY(assign(field, std::string_view(setting.value)));
    }
  }
  return {};
}

Status apply_config(const std::string& path, std::span<const Field> fields, world::Files& files) {
  TRY_AS(const auto bytes, world::read_whole(files, path, config_bytes_max));
  TRY_AS(const Json document, parse_toml(as_text(bytes), path));
  return from_json(fields, document, path);
}

Status apply_set(std::string_view assignment, std::span<const Field> fields) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return error(Code::invalid, "--set is '{}': it must be KEY=VALUE", printable(assignment));
  }
  const std::string_view key = assignment.substr(0, equals);
  std::vector<std::string> names;
  for (const Field& field : fields) {
    if (field.name == key) {
      TRY(apply(
          std::vector<Setting>{{&field, field.name, std::string(assignment.substr(equals + 1))}}));
      return {};
    }
    names.push_back(field.name);
  }
  const std::string guess = nearest(key, names);
  return error(Code::invalid, "--set: unknown option '{}'{}", printable(key),
               guess.empty() ? "" : text(", did you mean '{}'?", guess));
}

Status check_present(const Spec& spec, std::size_t filled) {
  for (std::size_t i = filled; i < spec.positionals.size(); ++i) {
    const Field& field = spec.positionals[i];
    if (field.required) return error(Code::invalid, "{} is missing: {}", field.name, field.help);
  }
  for (const Group& group : spec.groups) {
    for (const Field& field : group.fields) {
      TRY(check_required(std::vector<Field>{renamed(field, flag_of(field))}));
    }
  }
  return {};
}

}  // namespace

std::vector<Field> fields(SharedOptions& o) {
  return {
      {.name = "json", .target = &o.json, .help = "results as JSON, on standard output"},
      {.name = "quiet", .target = &o.quiet, .help = "nothing on standard error but errors"},
      {.name = "config",
       .target = &o.config,
       .help = "TOML file with options of this command: name_of_option = value",
       .unit = "file"},
      {.name = "set",
       .target = &o.set,
       .help = "an option by its name in the TOML file, over what that says",
       .unit = "key=value"},
      {.name = "log",
       .target = &o.log,
       .help = "form of the log, on standard error",
       .choices = {"text", "json"}},
      {.name = "log_level",
       .target = &o.log_level,
       .help = "least important events to log",
       .choices = {"debug", "info", "warn", "error"}},
  };
}

std::string flag_of(const Field& field) {
  std::string flag = "--" + field.name;
  std::ranges::replace(flag, '_', '-');
  return flag;
}

Status parse(const Spec& spec, SharedOptions& shared, std::span<const std::string> words,
             world::Files& files) {
  const std::vector<Field> shared_fields = fields(shared);
  Words line(spec, shared_fields);
  TRY(line.read(words));
  std::vector<Setting> own, of_shared;
  for (const Setting& setting : line.settings()) {
    const bool is_shared = std::ranges::any_of(
        shared_fields, [&](const Field& field) { return &field == setting.field; });
    (is_shared ? of_shared : own).push_back(setting);
  }
  TRY(apply(of_shared));
  std::vector<Field> configurable;
  for (const Group& group : spec.groups) {
    configurable.insert(configurable.end(), group.fields.begin(), group.fields.end());
  }
  if (!shared.config.empty()) TRY(apply_config(shared.config, configurable, files));
  for (const std::string& assignment : shared.set) TRY(apply_set(assignment, configurable));
  TRY(apply(own));
  return check_present(spec, line.positionals_filled());
}

bool wants_help(std::span<const std::string> words) {
  for (const std::string& word : words) {
    if (word == "--") return false;
    if (word == "--help" || word == "-h") return true;
  }
  return false;
}

}  // namespace castor::cli

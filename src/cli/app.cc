#include "cli/app.h"

#include <algorithm>
#include <optional>

#include "cli/catalog.h"
#include "cli/help.h"
#include "cli/signals.h"
#include "core/text.h"

namespace castor::cli {
namespace {

Level level_named(std::string_view name) {
  for (const Level level : {Level::debug, Level::info, Level::warn}) {
    if (name == name_of(level)) return level;
  }
  return Level::error;
}

std::string json_line(Level level, std::string_view event, const Json& event_fields) {
  Json line;
  line.set("level", name_of(level)).set("event", event);
  if (event_fields.as_object() != nullptr) {
    for (const auto& [key, value] : *event_fields.as_object()) line.set(key, value);
  }
  return line.dump();
}

Log make_log(const SharedOptions& shared, Output& output) {
  const bool json = shared.log == "json";
  return Log(level_named(shared.log_level),
             [json, &output](Level level, std::string_view event, const Json& event_fields) {
               output.line(json ? json_line(level, event, event_fields)
                                : log_line(level, event, event_fields));
             });
}

// One line; a message never brings its own line ends.
void say_error(Output& output, const SharedOptions& shared, const Error& error) {
  if (shared.log == "json") {
    Json event_fields;
    event_fields.set("code", name_of(error.code())).set("message", error.message());
    output.line(json_line(Level::error, "castor.failed", event_fields));
  } else {
    output.line("castor: " + error.message());
  }
}

struct Found {
  const CommandEntry* entry = nullptr;
  std::size_t words = 0;  // of its name
};

// The longest command that the words begin with.
Found find_command(std::span<const CommandEntry> all, std::span<const std::string> words) {
  Found best;
  std::string name;
  for (std::size_t count = 1; count <= words.size() && count <= 3; ++count) {
    name += (count > 1 ? " " : "") + words[count - 1];
    for (const CommandEntry& entry : all) {
      if (entry.name == name) best = {&entry, count};
    }
  }
  return best;
}

// The longest beginning of the words that is the beginning of a command: "data" of "data --help".
std::string known_prefix(std::span<const CommandEntry> all, std::span<const std::string> words) {
  std::string prefix, known;
  for (const std::string& word : words) {
    prefix += (prefix.empty() ? "" : " ") + word;
    const bool begins = std::ranges::any_of(
        all, [&](const CommandEntry& entry) { return entry.name.starts_with(prefix + " "); });
    if (!begins) break;
    known = prefix;
  }
  return known;
}

Error unknown_command(std::span<const CommandEntry> all, std::string_view prefix,
                      std::string_view word) {
  std::vector<std::string> candidates;
  for (const CommandEntry& entry : all) {
    std::string_view rest = entry.name;
    if (!prefix.empty()) {
      if (!rest.starts_with(std::string(prefix) + " ")) continue;
      rest.remove_prefix(prefix.size() + 1);
    }
    candidates.emplace_back(rest.substr(0, rest.find(' ')));
  }
  if (word.starts_with('-')) {
    return error(Code::invalid, "unknown option '{}' (see castor --help)", printable(word));
  }
  const std::string guess = nearest(word, candidates);
  const std::string whole = text("{}{}{}", prefix, prefix.empty() ? "" : " ", printable(word));
  return error(Code::invalid, "there is no command '{}'{} (see castor{}{} --help)", whole,
               guess.empty() ? "" : text(", did you mean '{}'?", guess), prefix.empty() ? "" : " ",
               prefix);
}

int show(const std::string& page) {
  Output output;
  output.result(page);
  const Status written = output.finish();
  if (!written && !written.error().message().empty()) say_error(output, {}, written.error());
  return written ? exit_done : exit_failed;
}

int run_command(const CommandEntry& entry, std::span<const std::string> line,
                std::span<const std::string> words) {
  const auto command = entry.make(entry.name);
  const Spec spec = spec_of(entry, *command);
  if (wants_help(words)) return show(help_page(spec));
  Output output;
  SharedOptions shared;
  const auto world = world::real_world();
  Status usage = parse(spec, shared, words, world->files());
  if (usage) usage = command->check();
  if (!usage) {
    say_error(output, shared,
              error(usage.error().code(), "{} (see castor {} --help)", usage.error().message(),
                    entry.name));
    return exit_usage;
  }
  output.set_quiet(shared.quiet);
  const Log log = make_log(shared, output);
  Status done = command->run({*world, log, output, shared, {line.begin(), line.end()}});
  if (done) done = output.finish();
  output.status("");
  if (!done && !done.error().message().empty()) say_error(output, shared, done.error());
  if (const int by_signal = exit_code_of_signal(); by_signal != 0 && !done) return by_signal;
  return done ? exit_done : exit_failed;
}

}  // namespace

int run(std::span<const std::string> line) {
  ignore_broken_pipes();
  const std::vector<CommandEntry> all = commands();
  std::vector<std::string> words(line.begin() + (line.empty() ? 0 : 1), line.end());
  if (!words.empty() && words[0] == "--version") return show(text("castor {}\n", castor_version()));
  if (!words.empty() && words[0] == "help") {  // castor help X is castor X --help
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  const Found found = find_command(all, words);
  if (found.entry != nullptr) {
    return run_command(*found.entry, line, std::span(words).subspan(found.words));
  }
  const std::string prefix = known_prefix(all, words);
  const auto depth = prefix.empty() ? 0 : std::ranges::count(prefix, ' ') + 1;
  const auto next = words.begin() + depth;
  if (next == words.end() || *next == "--help" || *next == "-h") {
    return show(command_list(all, prefix));
  }
  Output output;
  say_error(output, {}, unknown_command(all, prefix, *next));
  return exit_usage;
}

}  // namespace castor::cli

#include "cli/help.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "core/text.h"

namespace castor::cli {
namespace {

constexpr std::size_t page_width = 96, option_column = 30;
constexpr double boundless = 1e6;  // a larger maximum only keeps the arithmetic safe

bool is_list(const Field& field) {
  return std::holds_alternative<std::vector<std::string>*>(field.target);
}
bool is_flag(const Field& field) { return std::holds_alternative<bool*>(field.target); }
bool is_number(const Field& field) {
  return std::holds_alternative<std::int64_t*>(field.target) ||
         std::holds_alternative<double*>(field.target);
}

std::string joined_choices(const Field& field) {
  std::string all;
  for (const std::string& choice : field.choices) all += (all.empty() ? "" : "|") + choice;
  return all;
}

// Its values stand for themselves: --solver sgd|als|ccd.
bool is_short_choice(const Field& field) {
  return !field.choices.empty() && joined_choices(field).size() <= 24;
}

std::string upper(std::string_view word) {
  std::string result(word);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

std::string placeholder(const Field& field) {
  if (!field.choices.empty()) return is_short_choice(field) ? joined_choices(field) : "WORD";
  if (!field.unit.empty()) return upper(field.unit);
  if (std::holds_alternative<std::int64_t*>(field.target)) return "N";
  if (std::holds_alternative<double*>(field.target)) return "X";
  return "TEXT";
}

std::string positional_usage(const Field& field) {
  const std::string name = field.name + (is_list(field) ? "..." : "");
  return field.required ? name : "[" + name + "]";
}

std::string usage_line(const Spec& spec) {
  std::string line = "castor " + spec.name;
  for (const Field& field : spec.positionals) line += " " + positional_usage(field);
  for (const Group& group : spec.groups) {
    for (const Field& field : group.fields) {
      if (field.required) line += " " + usage_of(field);
    }
  }
  return line + " [options]";
}

std::string with_stop(std::string_view phrase) {
  return std::string(phrase) + (phrase.ends_with('.') ? "" : ".");
}

std::string option_entry(std::string_view usage, std::string_view about) {
  std::string entry = "  " + std::string(usage);
  std::string body = wrapped(about, option_column, page_width);
  if (entry.size() + 2 > option_column) return entry + "\n" + body;
  return entry + body.substr(entry.size());
}

std::string about(const Field& field) {
  const std::string legal = legal_values(field);
  return field.help + (legal.empty() ? "" : " (" + legal + ")");
}

std::string group_text(const std::string& title, std::span<const Field> fields) {
  std::string out = "\n" + title + ":\n";
  for (const Field& field : fields) out += option_entry(usage_of(field), about(field));
  return out;
}

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_table(std::string_view title, std::span<const Field> fields) {
  std::string out =
      text("\n{}\n\n| option | what it does | values |\n| --- | --- | --- |\n", title);
  for (const Field& field : fields) {
    out += text("| `{}` | {} | {} |\n", markdown_cell(usage_of(field)), markdown_cell(field.help),
                markdown_cell(legal_values(field)));
  }
  return out;
}

std::string markdown_command(const CommandEntry& entry) {
  const auto command = entry.make(entry.name);
  const Spec spec = spec_of(entry, *command);
  std::string out = text("\n## castor {}\n\n{}\n\n```\n{}\n```\n", entry.name,
                         with_stop(spec.description), usage_line(spec));
  if (!spec.positionals.empty()) {
    out += "\n";
    for (const Field& field : spec.positionals) {
      out += text("* `{}`: {}\n", positional_usage(field), about(field));
    }
  }
  for (const Group& group : spec.groups) {
    if (!group.fields.empty()) out += markdown_table(group.title, group.fields);
  }
  if (!spec.examples.empty()) {
    out += "\nExamples\n\n```\n";
    for (const std::string& example : spec.examples) out += example + "\n";
    out += "```\n";
  }
  return out;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out, line(indent, ' ');
  bool empty = true;
  auto flush = [&] {
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
    line.assign(indent, ' ');
    empty = true;
  };
  while (!text.empty()) {
    const auto end = text.find_first_of(" \n");
    const std::string_view word = text.substr(0, end);
    if (!word.empty()) {
      if (!empty && line.size() + 1 + word.size() > width) flush();
      if (!empty) line += ' ';
      line += word;
      empty = false;
    }
    if (end == std::string_view::npos) break;
    if (text[end] == '\n') flush();
    text.remove_prefix(end + 1);
  }
  if (!empty) flush();
  return out;
}

std::string usage_of(const Field& field) {
  if (is_flag(field)) return flag_of(field);
  return text("{} {}{}", flag_of(field), placeholder(field), is_list(field) ? "..." : "");
}

std::string legal_values(const Field& field) {
  std::string out;
  if (is_number(field) || (!field.choices.empty() && !is_short_choice(field))) {
    Field shown = field;
    if (shown.maximum >= boundless) shown.maximum = std::numeric_limits<double>::infinity();
    if (shown.maximum > boundless && shown.minimum == 0) shown.minimum = -shown.maximum;
    out = expected(shown);
    for (const std::string_view kind : {"a whole number", "a number"}) {
      if (!out.starts_with(kind)) continue;
      out.erase(0, kind.size());
      while (out.starts_with(' ')) out.erase(0, 1);
      if (out.starts_with("of ")) out.erase(0, 3);
    }
  }
  auto add = [&out](const std::string& part) { out += (out.empty() ? "" : "; ") + part; };
  if (is_number(field) && !field.unit.empty()) add(field.unit);
  if (field.required) add("required");
  const std::string value = value_text(field);
  if (!is_flag(field) && !value.empty()) add("default " + value);
  return out;
}

std::string help_page(const Spec& spec) {
  std::string out =
      text("castor {}: {}\n\nUsage: {}\n\n", spec.name, spec.summary, usage_line(spec));
  out += wrapped(with_stop(spec.description), 0, page_width);
  if (!spec.positionals.empty()) {
    out += "\nArguments:\n";
    for (const Field& field : spec.positionals) {
      out += option_entry(positional_usage(field), about(field));
    }
  }
  for (const Group& group : spec.groups) {
    if (!group.fields.empty()) out += group_text(group.title, group.fields);
  }
  SharedOptions shared;
  out += group_text("Of every command", fields(shared));
  if (!spec.examples.empty()) {
    out += "\nExamples:\n";
    for (const std::string& example : spec.examples) out += "  " + example + "\n";
  }
  return out;
}

std::string command_list(std::span<const CommandEntry> commands, std::string_view prefix) {
  std::size_t widest = 0;
  for (const CommandEntry& entry : commands) widest = std::max(widest, entry.name.size());
  std::string out;
  if (prefix.empty()) out += "castor trains machine-learning models.\n\n";
  out += text("Usage: castor {}{}COMMAND [options]\n\n", prefix, prefix.empty() ? "" : " ");
  for (const CommandEntry& entry : commands) {
    if (!prefix.empty() && !entry.name.starts_with(std::string(prefix) + " ")) continue;
    out += text("  {}{}  {}\n", entry.name, std::string(widest - entry.name.size(), ' '),
                entry.summary);
  }
  out += "\n'castor help COMMAND' says more about one";
  return out + (prefix.empty() ? "; 'castor --version' says which castor this is.\n" : ".\n");
}

std::string markdown_page(std::span<const CommandEntry> commands) {
  std::string out =
      "# Commands and options\n\nMade by `castor options --markdown`; `./dev docs` refreshes "
      "it.\n\n"
      "An option takes its value from the next word or after `=`. One that ends in `...` takes "
      "several "
      "words, or is given several times. `castor help COMMAND` shows the same on a terminal.\n\n"
      "Exit codes: 0 done; 1 it could not be done, and standard error says why; 2 the command line "
      "makes no sense; 130 stopped by Ctrl-C, 143 by SIGTERM.\n";
  for (const CommandEntry& entry : commands) out += markdown_command(entry);
  SharedOptions shared;
  out += "\n## Every command\n" +
         markdown_table("These options go with all of the above.", fields(shared));
  return out;
}

}  // namespace castor::cli

// castor options: the reference of all commands, from the same descriptions that parse them.
#include "cli/catalog.h"
#include "cli/help.h"
#include "core/text.h"

namespace castor::cli {
namespace {

class OptionsCommand final : public Command {
 public:
  Spec spec() override {
    return {.description =
                "Prints every command with its options, defaults and legal values. With a name, "
                "only that "
                "command, or all that begin with it.",
            .examples = {"castor options", "castor options train mf", "castor options --markdown"},
            .positionals = {{.name = "COMMAND",
                             .target = &names_,
                             .help = "a command, or the beginning of several"}},
            .groups = {{"Options",
                        {{.name = "markdown",
                          .target = &markdown_,
                          .help = "a page of the reference, in Markdown"}}}}};
  }

  Status run(const Context& context) override {
    std::string name;
    for (const std::string& word : names_) name += (name.empty() ? "" : " ") + word;
    std::vector<CommandEntry> chosen;
    for (const CommandEntry& entry : commands()) {
      const bool is_meant = name.empty() || entry.name == name ||
                            entry.name.starts_with(name + " ") || entry.name == "train " + name;
      if (is_meant) chosen.push_back(entry);
    }
    if (chosen.empty()) {
      return error(Code::not_found, "there is no command '{}': 'castor' lists them",
                   printable(name));
    }
    std::string page = markdown_ ? markdown_page(chosen) : "";
    if (!markdown_) {
      for (const CommandEntry& entry : chosen) {
        const auto command = entry.make(entry.name);
        page += (page.empty() ? "" : "\n\n") + help_page(spec_of(entry, *command));
      }
    }
    context.output.result(page);
    return {};
  }

 private:
  std::vector<std::string> names_;
  bool markdown_ = false;
};

}  // namespace

std::unique_ptr<Command> make_options(std::string_view) {
  return std::make_unique<OptionsCommand>();
}

}  // namespace castor::cli

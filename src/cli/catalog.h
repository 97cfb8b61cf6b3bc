#pragma once
// The subcommands of castor.
//
// Thread: any.
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace castor::cli {

struct CommandEntry {
  std::string name;  // one to three words: "data generate ratings"
  std::string summary;
  std::unique_ptr<Command> (*make)(std::string_view name);
};

// The whole list, with one `train` for every program.
std::vector<CommandEntry> commands();

// command.spec() with the name and summary of its entry.
Spec spec_of(const CommandEntry& entry, Command& command);

// One in each cmd_*.cc.
std::unique_ptr<Command> make_train(std::string_view name);
std::unique_ptr<Command> make_evaluate(std::string_view name);
std::unique_ptr<Command> make_predict(std::string_view name);
std::unique_ptr<Command> make_recommend(std::string_view name);
std::unique_ptr<Command> make_inspect(std::string_view name);
std::unique_ptr<Command> make_data_describe(std::string_view name);
std::unique_ptr<Command> make_data_split(std::string_view name);
std::unique_ptr<Command> make_data_generate(std::string_view name);
std::unique_ptr<Command> make_options(std::string_view name);

}  // namespace castor::cli

#include "cli/catalog.h"

#include "core/text.h"
#include "programs/catalog.h"

namespace castor::cli {
namespace {

struct Entry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Command> (*make)(std::string_view name);
};

constexpr Entry entries[] = {
    {"evaluate", "how good a model is on ratings it has not seen", make_evaluate},
    {"recommend", "the best items for users", make_recommend},
    {"predict", "the rating a model expects for pairs of user and item", make_predict},
    {"inspect", "what is in a model folder, and whether it is sound", make_inspect},
    {"data describe", "summary of ratings: sizes, values, how they spread", make_data_describe},
    {"data split", "ratings cut into a part to train on and a part to test on", make_data_split},
    {"data generate ratings", "synthetic ratings with a known structure", make_data_generate},
    {"options", "every command and option, as a reference page", make_options},
};

}  // namespace

std::vector<CommandEntry> commands() {
  std::vector<CommandEntry> all;
  for (const programs::ProgramEntry& program : programs::programs()) {
    all.push_back({text("train {}", program.name), std::string(program.summary), make_train});
  }
  for (const Entry& entry : entries) {
    all.push_back({std::string(entry.name), std::string(entry.summary), entry.make});
  }
  return all;
}

Spec spec_of(const CommandEntry& entry, Command& command) {
  Spec spec = command.spec();
  spec.name = entry.name;
  spec.summary = entry.summary;
  return spec;
}

}  // namespace castor::cli

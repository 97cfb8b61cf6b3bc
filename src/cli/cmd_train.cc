// castor train PROGRAM: any program of the catalogue, with its progress and its summary.
#include <algorithm>

#include "cli/app.h"
#include "cli/catalog.h"
#include "cli/signals.h"
#include "cli/train_report.h"
#include "core/text.h"
#include "programs/catalog.h"

namespace castor::cli {
namespace {

const programs::ProgramEntry& program_of(std::string_view command_name) {
  const std::string_view name = command_name.substr(command_name.find(' ') + 1);
  const auto all = programs::programs();
  const auto found = std::ranges::find(all, name, &programs::ProgramEntry::name);
  CHECK(found != all.end(), "no program '{}'", name);
  return *found;
}

class TrainCommand final : public Command {
 public:
  explicit TrainCommand(std::string_view name)
      : program_(program_of(name)), trainer_(program_.make()) {}

  Spec spec() override {
    Spec spec{.description = std::string(program_.description)};
    for (programs::OptionGroup& group : trainer_->options()) {
      spec.groups.push_back({std::move(group.title), std::move(group.fields)});
    }
    spec.examples.assign(program_.examples.begin(), program_.examples.end());
    return spec;
  }

  Status check() const override { return trainer_->check(); }

  Status run(const Context& context) override;

 private:
  std::string option(std::string_view name) const;
  bool flag(std::string_view name) const { return option(name) == "true"; }
  std::string resume_line(const Context& context) const;
  Error stopped(const Context& context, const Json& event) const;

  const programs::ProgramEntry& program_;
  std::unique_ptr<programs::Trainer> trainer_;
};

std::string TrainCommand::option(std::string_view name) const {
  for (const programs::OptionGroup& group : trainer_->options()) {
    for (const Field& field : group.fields) {
      if (field.name == name) return value_text(field);
    }
  }
  return {};
}

// The command line as it was given, so that it goes on where this one stops.
std::string TrainCommand::resume_line(const Context& context) const {
  std::string line;
  bool overwrites = flag("overwrite");
  for (const std::string& word : context.line) {
    if (word == "--overwrite" || word == "--overwrite=true") {
      overwrites = false;
      continue;
    }
    line += (line.empty() ? "" : " ") + shell_quoted(word);
  }
  if (overwrites) line += " --overwrite=false";  // a configuration file says otherwise
  return line + (flag("resume") ? "" : " --resume");
}

Error TrainCommand::stopped(const Context& context, const Json& event) const {
  const Result<std::int64_t> clock = event.integer("clock");
  const Result<std::string> checkpoint = event.string("checkpoint");
  const std::string at = text("stopped at clock {}", clock ? *clock : 0);
  if (!checkpoint || checkpoint->empty()) return Error(Code::cancelled, at + "; nothing was kept");
  return error(Code::cancelled, "{}; checkpoint {}; resume with:\n{}", at, *checkpoint,
               resume_line(context));
}

Status TrainCommand::run(const Context& context) {
  TrainReport report(context.world, context.output);
  programs::TrainerCalls calls;
  calls.castor_version = castor_version();
  calls.stop_requested = &catch_stop_signals();
  calls.on_read = [&](std::uint64_t read, std::uint64_t total) { report.on_read(read, total); };
  calls.on_event = [&](const Json& event) {
    report.on_event(event);
    const Json* kind = event.find("event");
    if (kind != nullptr && kind->as_string() != nullptr && *kind->as_string() == "start")
      set_may_stop(true);
    if (!context.shared.json) return;
    context.output.result(event.dump() + "\n");
    if (!context.output.flush()) request_stop();  // keep the work, nobody listens
  };
  world::Files& files = context.world.files();
  const std::string out = option("out");
  const bool existed = files.exists(out);
  const Result<Json> trained = trainer_->train(context.world, context.log, calls);
  context.output.status("");
  if (!trained) {
    const auto left = files.list(out);  // an empty folder says nothing but that something failed
    if (!existed && left && left->empty()) TRY(files.remove_tree(out));
    return trained.error();
  }
  const Json& last = *trained;
  TRY_AS(const std::string kind, last.string("event"));
  if (kind == "stopped") {
    if (context.shared.json) context.output.result(last.dump() + "\n");
    context.output.flush();  // whether or not anybody reads it, the work is in the checkpoint
    return stopped(context, last);
  }
  if (!context.shared.json) context.output.result(train_summary(last, program_.name));
  return {};
}

}  // namespace

std::unique_ptr<Command> make_train(std::string_view name) {
  return std::make_unique<TrainCommand>(name);
}

}  // namespace castor::cli

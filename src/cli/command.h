#pragma once
// What a subcommand is: a Spec that says what it can be told, and what it does. One cmd_*.cc each;
// the list of them is catalog.cc.
//
// Thread: main.
#include <memory>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/output.h"
#include "core/log.h"
#include "world/world.h"

namespace castor::cli {

struct Context {
  world::World& world;
  const Log& log;
  Output& output;
  const SharedOptions& shared;
  std::vector<std::string> line;  // the whole command line, with the name of the program
};

class Command {
 public:
  virtual ~Command() = default;
  // Its fields point into this. The name and the summary are those of the catalogue.
  virtual Spec spec() = 0;
  // Options that are legal alone and not together: an error of usage, found before run().
  virtual Status check() const { return {}; }
  // On error nothing has been written to standard output.
  virtual Status run(const Context& context) = 0;
};

}  // namespace castor::cli

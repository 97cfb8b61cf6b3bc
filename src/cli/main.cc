#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/app.h"

int main(int argc, char** argv) {
  try {
    return castor::cli::run(std::vector<std::string>(argv, argv + argc));
  } catch (const std::exception& problem) {  // memory, mostly
    std::fprintf(stderr, "castor: %s\n", problem.what());
    return castor::cli::exit_failed;
  }
}

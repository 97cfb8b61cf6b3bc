#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/app.h"

int main(int argc, char** argv) {
  try {
    return castor::cli::run(std::vector<std::string>(argv, argv + argc));
  } catch (const std::bad_alloc&) {
    std::fputs("castor: out of memory\n", stderr);
    return castor::cli::exit_failed;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "castor: %s\n", problem.what());
    return castor::cli::exit_failed;
  }
}

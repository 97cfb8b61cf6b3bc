#pragma once
// castor as a function: finds the command, parses its options, runs it, says what went wrong.
//
// Thread: main.
#include <span>
#include <string>
#include <string_view>

namespace castor::cli {

inline constexpr int exit_done = 0, exit_failed = 1, exit_usage = 2;

// "0.1.0".
std::string_view castor_version();

// `words` are those of main(), the name of the program first. Returns the exit code.
int run(std::span<const std::string> words);

}  // namespace castor::cli

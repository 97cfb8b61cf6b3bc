#pragma once
// Ctrl-C and SIGTERM ask a command to stop at the next good place; a second one ends the process at
// once. This is process-wide state, like signal handlers themselves.
//
// Thread: main.
#include <atomic>

namespace castor::cli {

// From now on a signal sets the flag that is returned, and says so on standard error. While
// set_may_stop(false), which is how it begins, there is nothing to save and a signal ends the
// process.
const std::atomic<bool>& catch_stop_signals();
void set_may_stop(bool may_stop);

// As if a signal had come, for a result nobody reads any more.
void request_stop();

// What a shell calls a process that a signal ended: 130 for Ctrl-C, 143 for SIGTERM; 0 without one.
int exit_code_of_signal();

// Writing to a pipe that nobody reads is an error of write(), not the end of the process.
void ignore_broken_pipes();

}  // namespace castor::cli

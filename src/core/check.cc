#include "core/check.h"

#include <execinfo.h>
#include <unistd.h>

#include <cstdlib>

namespace castor {

void check_failed(std::string_view condition, const std::string& context,
                  std::source_location where) {
  std::string message = text("\ncastor: this is a bug. CHECK({}) failed at {}:{} in {}", condition,
                             where.file_name(), where.line(), where.function_name());
  if (!context.empty()) message += ": " + context;
  message += '\n';
  // Straight to the descriptor: the process is about to end and must not depend on any buffer.
  [[maybe_unused]] const ssize_t written = ::write(2, message.data(), message.size());
  void* frames[48];
  ::backtrace_symbols_fd(frames, ::backtrace(frames, 48), 2);
  std::abort();
}

}  // namespace castor

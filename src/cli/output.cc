#include "cli/output.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "core/text.h"

namespace castor::cli {
namespace {

bool can_redraw() {
  if (::isatty(STDERR_FILENO) == 0) return false;
  const char* kind = std::getenv("TERM");
  return kind != nullptr && std::string_view(kind) != "dumb";
}

std::size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

Output::Output() : terminal_(can_redraw()) {}

Output::~Output() { status(""); }

void Output::result(std::string_view text) {
  if (failed_.load()) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    reason_ = errno;
    failed_ = true;
  }
}

bool Output::flush() {
  if (!failed_.load() && std::fflush(stdout) != 0) {
    reason_ = errno;
    failed_ = true;
  }
  return !failed_.load();
}

Status Output::finish() {
  if (flush()) return {};
  if (reason_.load() == EPIPE) return Error(Code::cancelled, "");  // as with `| head`
  return error(Code::io, "standard output: {}", ::strerror(reason_.load()));
}

void Output::note(std::string_view text) {
  if (!quiet_.load()) line(text);
}

void Output::line(std::string_view text) {
  const MutexLock lock(mutex_);
  clear_status();
  write_line(text);
  draw_status();
}

void Output::status(std::string_view text) {
  if (!has_status()) return;
  const MutexLock lock(mutex_);
  if (status_.empty() && text.empty()) return;
  clear_status();
  status_ = text.substr(0, terminal_columns() - 1);
  draw_status();
}

void Output::write_line(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fwrite("\n", 1, 1, stderr);
}

void Output::clear_status() {
  if (!status_.empty()) std::fputs("\r\x1b[K", stderr);
}

void Output::draw_status() {
  if (!status_.empty()) std::fwrite(status_.data(), 1, status_.size(), stderr);
}

}  // namespace castor::cli

#pragma once
// Where a command writes: results to standard output, everything for people to standard error,
// where on a terminal a status line is kept below what else is written and redrawn in place.
//
// Thread: any.
#include <atomic>
#include <string>
#include <string_view>

#include "core/mutex.h"
#include "core/result.h"

namespace castor::cli {

class Output {
 public:
  Output();
  ~Output();  // removes the status line

  // Results. Failures are remembered, and given by finish().
  void result(std::string_view text);
  // Code::io when not all results could be written; Code::cancelled without a message when their
  // reader went away.
  Status finish();
  // Sends results on now; false when that or anything before has failed.
  bool flush();

  // A line for people; left out when quiet.
  void note(std::string_view line);
  // A line of log or an error; never left out.
  void line(std::string_view line);
  // Replaces the status line; "" removes it. Nothing unless has_status().
  void status(std::string_view line);

  void set_quiet(bool quiet) { quiet_ = quiet; }
  bool is_quiet() const { return quiet_; }
  // Standard error is a terminal that can redraw a line, and not quiet.
  bool has_status() const { return terminal_ && !quiet_; }

 private:
  void write_line(std::string_view line) REQUIRES_LOCK(mutex_);
  void clear_status() REQUIRES_LOCK(mutex_);
  void draw_status() REQUIRES_LOCK(mutex_);

  std::atomic<bool> quiet_ = false;
  std::atomic<bool> failed_ = false;
  std::atomic<int> reason_ = 0;  // errno of the first failure
  bool terminal_ = false;
  Mutex mutex_;
  std::string status_ GUARDED_BY(mutex_);
};

}  // namespace castor::cli

#pragma once
// What several commands take: a model, ratings, a number of threads; and how reading shows on a
// terminal.
//
// Thread: main.
#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "core/time.h"
#include "data/ratings.h"

namespace castor::cli {

Field model_argument(std::string* target);
Field threads_option(std::int64_t* target);
// 0 = as many as there are processors.
unsigned thread_count(std::int64_t threads);

// The options of data::ReadOptions, without those that a command sets itself.
Group reading_group(data::ReadOptions& options, std::vector<std::string> without = {});

// Shows how far reading is, now and then.
class ReadProgress {
 public:
  ReadProgress(world::World& world, Output& output) : world_(world), output_(output) {}
  void operator()(std::uint64_t read, std::uint64_t total);

 private:
  world::World& world_;
  Output& output_;
  std::uint64_t read_before_ = 0;  // of the present file
  Instant began_{}, shown_{};
};

// What reading found to complain about, as notes.
void note_warnings(const data::ReadStats& stats, Output& output);

// The lines of a text file that may be compressed, "-" being standard input, without line ends and
// without blank lines; with their numbers, from 1.
struct NumberedLine {
  std::uint64_t number = 0;
  std::string text;
};
Result<std::vector<NumberedLine>> read_lines(world::Files& files, const std::string& path);

}  // namespace castor::cli

#pragma once
// Where rows of results go: standard output, or a file that appears whole or not at all. Fields are
// separated by tabs, or by commas and quoted where needed when the file's name ends in .csv.
//
// Thread: one at a time.
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "data/atomic_file.h"

namespace castor::cli {

class Rows {
 public:
  // `path` of "" is standard output.
  static Result<Rows> open(const Context& context, const std::string& path);

  // With tabs, a tab or line end in a field is written as \t, \n or \r.
  Status row(std::initializer_list<std::string_view> fields);
  // A line as it is: for JSON.
  Status line(std::string_view text);
  Status finish();

 private:
  Rows(Output& output, std::optional<data::AtomicFile> file, bool commas)
      : output_(&output), file_(std::move(file)), commas_(commas) {}
  void add_field(std::string_view field);
  Status send();

  Output* output_;
  std::optional<data::AtomicFile> file_;
  bool commas_ = false;
  std::string buffer_;
};

// The real whose shortest text is that of the float: 3.7 for 3.7f, not 3.7000000476837158.
double as_written(float value);

Field out_option(std::string* target);
// Code::invalid for names that promise a compressed file, which castor does not write.
Status check_plain_name(std::string_view flag, std::string_view path);

}  // namespace castor::cli

#include "cli/rows.h"

#include <charconv>

#include "core/text.h"

namespace castor::cli {
namespace {

constexpr std::size_t buffer_bytes = 1 << 16;

}  // namespace

Result<Rows> Rows::open(const Context& context, const std::string& path) {
  if (path.empty()) return Rows(context.output, std::nullopt, false);
  TRY_AS(data::AtomicFile file, data::AtomicFile::open(context.world.files(), path));
  return Rows(context.output, std::move(file), path.ends_with(".csv"));
}

void Rows::add_field(std::string_view field) {
  if (commas_) {
    if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
      buffer_ += field;
      return;
    }
    buffer_ += '"';
    for (const char c : field) {
      if (c == '"') buffer_ += '"';
      buffer_ += c;
    }
    buffer_ += '"';
    return;
  }
  for (const char c : field) {
    switch (c) {
      case '\t': buffer_ += "\\t"; break;
      case '\n': buffer_ += "\\n"; break;
      case '\r': buffer_ += "\\r"; break;
      default: buffer_ += c;
    }
  }
}

Status Rows::row(std::initializer_list<std::string_view> fields) {
  bool first = true;
  for (const std::string_view field : fields) {
    if (!first) buffer_ += commas_ ? ',' : '\t';
    first = false;
    add_field(field);
  }
  buffer_ += '\n';
  return buffer_.size() < buffer_bytes ? Status{} : send();
}

Status Rows::line(std::string_view text) {
  buffer_ += text;
  buffer_ += '\n';
  return buffer_.size() < buffer_bytes ? Status{} : send();
}

Status Rows::send() {
  if (file_) {
    TRY(file_->append(buffer_));
  } else {
    output_->result(buffer_);
  }
  buffer_.clear();
  return {};
}

Status Rows::finish() {
  TRY(send());
  return file_ ? file_->commit(false) : output_->finish();
}

double as_written(float value) {
  const std::string digits = shortest(value);
  double real = value;
  std::from_chars(digits.data(), digits.data() + digits.size(), real);
  return real;
}

Field out_option(std::string* target) {
  return {.name = "out",
          .target = target,
          .help =
              "file for the result, instead of standard output; .csv for commas and quotes, "
              "anything else for tabs",
          .unit = "file"};
}

Status check_plain_name(std::string_view flag, std::string_view path) {
  for (const std::string_view ending : {".gz", ".zst"}) {
    if (!path.ends_with(ending)) continue;
    return error(Code::invalid, "{} is '{}': castor reads compressed files and writes plain ones",
                 flag, path);
  }
  return {};
}

}  // namespace castor::cli

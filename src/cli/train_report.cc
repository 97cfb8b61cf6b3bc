#include "cli/train_report.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"

namespace castor::cli {
namespace {

// Members of a "clock" event that are not metrics.
constexpr std::string_view clock_members[] = {
    "event", "clock", "clocks", "seconds", "cpu_seconds", "ratings_per_second", "seconds_left"};
constexpr Duration row_every = Duration::from_ms(100);
constexpr double rows_always = 50;  // so few clocks that each has a row, however fast they are

double number_of(const Json& object, std::string_view key, double otherwise = 0) {
  const Result<double> value = object.number(key);
  return value ? *value : otherwise;
}

std::string string_of(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  return found != nullptr && found->as_string() != nullptr ? *found->as_string() : std::string();
}

std::string spaced(std::string_view name) {
  std::string words(name);
  std::ranges::replace(words, '_', ' ');
  for (const std::string_view shout : {"rmse", "mae"}) {
    if (const auto at = words.find(shout); at != std::string::npos) {
      for (std::size_t i = 0; i < shout.size(); ++i)
        words[at + i] = static_cast<char>(shout[i] - 32);
    }
  }
  return words;
}

std::string padded(const std::string& word, std::size_t width) {
  return std::string(width > word.size() ? width - word.size() : 0, ' ') + word;
}

std::string metric_text(double value) {
  const double size = std::abs(value);
  return size >= 1e5 || (size > 0 && size < 1e-3) ? text("{:.4e}", value) : text("{:.4f}", value);
}

}  // namespace

std::string short_count(double value) {
  struct Unit {
    double size;
    const char* name;
  };
  for (const Unit& unit : {Unit{1e9, " G"}, Unit{1e6, " M"}, Unit{1e3, " k"}}) {
    if (value < unit.size) continue;
    const double scaled = value / unit.size;
    return text(scaled < 10    ? "{:.2f}{}"
                : scaled < 100 ? "{:.1f}{}"
                               : "{:.0f}{}",
                scaled, unit.name);
  }
  return text("{:.0f}", value);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return text("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string short_time(double seconds) {
  if (seconds <= 0) return "0 s";
  if (seconds < 0.01) return text("{:.4f} s", seconds);
  if (seconds < 10) return text("{:.2f} s", seconds);
  if (seconds < 60) return text("{:.0f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(seconds);
  if (seconds < 3600) return text("{} min {:02} s", whole / 60, whole % 60);
  return text("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string shell_quoted(std::string_view word) {
  const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./=:,+@%^").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') out += "'\\'";
    out += c;
  }
  return out + "'";
}

bool TrainReport::is_due(Duration interval) {
  const Instant now = world_.now();
  if (now - last_ < interval) return false;
  last_ = now;
  return true;
}

void TrainReport::on_event(const Json& event) {
  const std::string kind = string_of(event, "event");
  if (kind == "read") {
    on_read_done(event);
  } else if (kind == "start") {
    const std::string solver = string_of(event, "solver");
    output_.note(text("training{} at rank {:.0f} on {:.0f} thread{}",
                      solver.empty() ? "" : " by " + solver, number_of(event, "rank"),
                      number_of(event, "threads", 1),
                      number_of(event, "threads", 1) > 1 ? "s" : ""));
    note_warnings(event);
    last_ = {};
  } else if (kind == "clock") {
    on_clock(event);
  } else {
    if (!pending_.is_null()) print_row(pending_);
    pending_ = {};
    output_.status("");
  }
}

void TrainReport::on_read_done(const Json& event) {
  output_.status("");
  auto count = [&](std::string_view key) {
    return static_cast<std::uint64_t>(number_of(event, key));
  };
  output_.note(text("read {} of {} by {} in {}", counted(count("ratings"), "rating"),
                    counted(count("items"), "item"), counted(count("users"), "user"),
                    short_time(number_of(event, "seconds"))));
  if (event.find("test_ratings") != nullptr) {
    const std::uint64_t unknown = count("test_unknown");
    output_.note(text("test: {}{}", counted(count("test_ratings"), "rating"),
                      unknown == 0 ? ""
                                   : text(", {} of them with a user or item that the training "
                                          "ratings do not have",
                                          grouped(unknown))));
  }
  if (const std::uint64_t repeated = count("duplicates"); repeated > 0) {
    const bool removed = count("duplicates_removed") > 0;
    output_.note(text(
        "{} repeat{} a pair of user and item: {}", counted(repeated, "rating"),
        repeated == 1 ? "s" : "",
        removed ? "brought to one a pair" : "each counts as an observation (see --duplicates)"));
  }
  note_warnings(event);
}

void TrainReport::note_warnings(const Json& event) {
  const Json* warnings = event.find("warnings");
  if (warnings == nullptr || warnings->as_array() == nullptr) return;
  for (const Json& warning : *warnings->as_array()) {
    if (warning.as_string() != nullptr) output_.note("warning: " + *warning.as_string());
  }
}

void TrainReport::on_clock(const Json& event) {
  const double clock = number_of(event, "clock"), clocks = number_of(event, "clocks");
  const bool is_first = columns_.empty(), is_last = clock >= clocks;
  if (is_first || is_last || clocks <= rows_always || is_due(row_every)) {
    print_row(event);
    pending_ = {};
  } else {
    pending_ = event;
  }
  const double left = number_of(event, "seconds_left");
  output_.status(
      is_last ? "" : text("clock {:.0f} of {:.0f}, {} left", clock, clocks, short_time(left)));
}

void TrainReport::print_row(const Json& event) {
  if (columns_.empty() && event.as_object() != nullptr) {
    std::string head = padded("clock", 9);
    for (const auto& [key, value] : *event.as_object()) {
      if (std::ranges::find(clock_members, key) != std::end(clock_members) || !value.is_number())
        continue;
      columns_.push_back(key);
      head += padded(spaced(key), std::max<std::size_t>(13, key.size() + 2));
    }
    output_.note(head + padded("ratings/s", 12) + padded("time left", 14));
  }
  std::string row =
      padded(text("{:.0f}/{:.0f}", number_of(event, "clock"), number_of(event, "clocks")), 9);
  for (const std::string& column : columns_) {
    const Json* value = event.find(column);
    row +=
        padded(value != nullptr && value->is_number() ? metric_text(number_of(event, column)) : "-",
               std::max<std::size_t>(13, column.size() + 2));
  }
  const bool has_speed = event.find("ratings_per_second") != nullptr;
  row += padded(has_speed ? short_count(number_of(event, "ratings_per_second")) : "-", 12);
  row += padded(has_speed ? short_time(number_of(event, "seconds_left")) : "-", 14);
  output_.note(row);
}

std::string train_summary(const Json& done, std::string_view program) {
  std::string out = text("trained {} for {} in {}", program,
                         counted(static_cast<std::uint64_t>(number_of(done, "clock")), "clock"),
                         short_time(number_of(done, "seconds")));
  const std::string reason = string_of(done, "reason");
  if (reason == "no_improvement") out += ": the validation error stopped falling";
  if (reason == "converged") out += ": converged";
  out += "\n";
  auto row = [&out](std::string_view name, const std::string& value) {
    out += text("  {}{}  {}\n", name, std::string(name.size() < 16 ? 16 - name.size() : 0, ' '),
                value);
  };
  static constexpr std::string_view qualities[] = {"train_rmse", "test_rmse", "validation_rmse",
                                                   "test_recall_at_10", "objective"};
  for (const std::string_view key : qualities) {
    if (done.find(key) != nullptr) row(spaced(key), metric_text(number_of(done, key)));
  }
  if (number_of(done, "ratings_per_second") > 0) {
    row("speed",
        text("{} ratings/s, {} per CPU-second", short_count(number_of(done, "ratings_per_second")),
             short_count(number_of(done, "ratings_per_cpu_second"))));
  }
  const std::string model = string_of(done, "model"), quoted = shell_quoted(model);
  row("model", model);
  out += "next:\n";
  if (done.find("test_rmse") == nullptr)
    out += text("  castor evaluate {} --data TEST_RATINGS\n", quoted);
  out += text("  castor recommend {} --all-users --top 10 --out recommendations.tsv\n", quoted);
  return out + text("  castor inspect {}\n", quoted);
}

}  // namespace castor::cli

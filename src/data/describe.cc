#include "data/describe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace castor::data {
namespace {

constexpr std::size_t values_max = 20;
constexpr std::size_t bins = 10;

CountQuantiles quantiles_of(std::vector<std::uint32_t> counts) {
  std::ranges::sort(counts);
  double sum = 0;
  for (const std::uint32_t count : counts) sum += count;
  const auto at = [&](double share) -> std::uint64_t {
    const auto place = static_cast<std::size_t>(share * static_cast<double>(counts.size() - 1));
    return counts[place];
  };
  return {.min = counts.front(),
          .p10 = at(0.1),
          .p25 = at(0.25),
          .median = at(0.5),
          .p75 = at(0.75),
          .p90 = at(0.9),
          .p99 = at(0.99),
          .max = counts.back(),
          .mean = sum / static_cast<double>(counts.size())};
}

std::vector<HistogramBin> histogram_of(const std::vector<Rating>& ratings, float low, float high) {
  std::map<float, std::uint64_t> values;
  for (const Rating& rating : ratings) {
    ++values[rating.value];
    if (values.size() > values_max) break;
  }
  std::vector<HistogramBin> histogram;
  if (values.size() <= values_max) {
    for (const auto& [value, count] : values) histogram.push_back({value, value, count});
    return histogram;
  }
  const double width = (static_cast<double>(high) - low) / bins;
  for (std::size_t i = 0; i < bins; ++i) {
    const double begin = low + width * static_cast<double>(i);
    histogram.push_back({begin, i + 1 == bins ? high : begin + width, 0});
  }
  for (const Rating& rating : ratings) {
    const auto bin = static_cast<std::size_t>((static_cast<double>(rating.value) - low) / width);
    ++histogram[std::min(bin, bins - 1)].count;
  }
  return histogram;
}

// Mean and deviation in two passes, in double: exact enough for any number of floats.
void describe_values(const std::vector<Rating>& ratings, Summary& summary) {
  const auto n = static_cast<double>(ratings.size());
  double sum = 0;
  float low = ratings[0].value, high = ratings[0].value;
  for (const Rating& rating : ratings) {
    sum += rating.value;
    low = std::min(low, rating.value);
    high = std::max(high, rating.value);
  }
  const double mean = sum / n;
  double squares = 0;
  for (const Rating& rating : ratings) squares += (rating.value - mean) * (rating.value - mean);
  summary.value_min = low;
  summary.value_max = high;
  summary.value_mean = mean;
  summary.value_sd = std::sqrt(squares / n);
  summary.histogram = histogram_of(ratings, low, high);
}

Json to_json(const CountQuantiles& quantiles) {
  Json json;
  json.set("min", quantiles.min).set("p10", quantiles.p10).set("p25", quantiles.p25);
  json.set("median", quantiles.median).set("p75", quantiles.p75).set("p90", quantiles.p90);
  json.set("p99", quantiles.p99).set("max", quantiles.max).set("mean", quantiles.mean);
  return json;
}

Json to_json(const FileStats& file) {
  Json json;
  json.set("name", file.name).set("format", name_of(file.format));
  json.set("compression", name_of(file.compression)).set("header", file.header);
  json.set("lines", file.lines).set("ratings", file.ratings).set("bytes", file.bytes);
  json.set("stored_bytes", file.stored_bytes);
  return json;
}

std::string fixed(double value) { return text("{:.4f}", value); }

std::string quantiles_text(std::string_view what, const CountQuantiles& q) {
  return text(
      "ratings per {}  min {}  10% {}  25% {}  median {}  75% {}  90% {}  99% {}  max {}"
      "  mean {:.1f}\n",
      what, grouped(q.min), grouped(q.p10), grouped(q.p25), grouped(q.median), grouped(q.p75),
      grouped(q.p90), grouped(q.p99), grouped(q.max), q.mean);
}

std::string bar(double share) {
  return std::string(static_cast<std::size_t>(share * 40 + 0.5), '#');
}

std::string histogram_text(const Summary& summary) {
  std::uint64_t most = 1;
  for (const HistogramBin& bin : summary.histogram) most = std::max(most, bin.count);
  std::string out;
  for (const HistogramBin& bin : summary.histogram) {
    const std::string label = bin.low == bin.high ? shortest(static_cast<float>(bin.low))
                                                  : text("{:.4g} to {:.4g}", bin.low, bin.high);
    const double share = static_cast<double>(bin.count) / static_cast<double>(most);
    out += text("  {:>20} {:>15} {}\n", label, grouped(bin.count), bar(share));
  }
  return out;
}

}  // namespace

Summary describe(const Ratings& ratings) {
  CHECK(!ratings.ratings.empty());
  Summary summary;
  summary.users = ratings.users.size();
  summary.items = ratings.items.size();
  summary.ratings = ratings.ratings.size();
  summary.density = static_cast<double>(summary.ratings) /
                    (static_cast<double>(summary.users) * static_cast<double>(summary.items));
  describe_values(ratings.ratings, summary);
  std::vector<std::uint32_t> per_user(summary.users), per_item(summary.items);
  for (const Rating& rating : ratings.ratings) ++per_user[rating.user], ++per_item[rating.item];
  summary.per_user = quantiles_of(std::move(per_user));
  summary.per_item = quantiles_of(std::move(per_item));
  summary.duplicates = ratings.stats.duplicates;
  summary.numeric_users = ratings.users.is_numeric();
  summary.numeric_items = ratings.items.is_numeric();
  summary.stats = ratings.stats;
  return summary;
}

Json to_json(const Summary& summary) {
  Json json, histogram(Json::Array{}), files(Json::Array{}), warnings(Json::Array{});
  for (const HistogramBin& bin : summary.histogram) {
    Json entry;
    entry.set("low", bin.low).set("high", bin.high).set("count", bin.count);
    histogram.push(std::move(entry));
  }
  for (const FileStats& file : summary.stats.files) files.push(to_json(file));
  for (const std::string& warning : summary.stats.warnings) warnings.push(warning);
  json.set("users", summary.users).set("items", summary.items).set("ratings", summary.ratings);
  json.set("density", summary.density).set("duplicates", summary.duplicates);
  json.set("duplicates_removed", summary.stats.duplicates_removed);
  json.set("value_min", summary.value_min).set("value_max", summary.value_max);
  json.set("value_mean", summary.value_mean).set("value_sd", summary.value_sd);
  json.set("histogram", std::move(histogram));
  json.set("per_user", to_json(summary.per_user)).set("per_item", to_json(summary.per_item));
  json.set("numeric_users", summary.numeric_users).set("numeric_items", summary.numeric_items);
  json.set("files", std::move(files)).set("warnings", std::move(warnings));
  return json;
}

std::string to_text(const Summary& summary) {
  std::string out;
  for (const FileStats& file : summary.stats.files) {
    out += text("{}: {}{}{}, {} lines, {} ratings\n", printable(file.name, 4096),
                name_of(file.format), file.header ? " with header" : "",
                file.compression == Compression::none ? std::string()
                                                      : text(" in {}", name_of(file.compression)),
                grouped(file.lines), grouped(file.ratings));
  }
  out += text("users    {}{}\n", grouped(summary.users),
              summary.numeric_users ? "" : " (ids are text)");
  out += text("items    {}{}\n", grouped(summary.items),
              summary.numeric_items ? "" : " (ids are text)");
  out +=
      text("ratings  {} ({:.4g}% of all pairs)\n", grouped(summary.ratings), 100 * summary.density);
  out += text("repeated {} ({} removed)\n", grouped(summary.duplicates),
              grouped(summary.stats.duplicates_removed));
  out += text("value    min {}  mean {}  sd {}  max {}\n",
              shortest(static_cast<float>(summary.value_min)), fixed(summary.value_mean),
              fixed(summary.value_sd), shortest(static_cast<float>(summary.value_max)));
  out += histogram_text(summary);
  out += quantiles_text("user", summary.per_user);
  out += quantiles_text("item", summary.per_item);
  for (const std::string& warning : summary.stats.warnings) out += "warning: " + warning + "\n";
  return out;
}

}  // namespace castor::data

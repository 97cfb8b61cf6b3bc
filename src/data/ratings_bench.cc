// Reading and generating ratings: bytes_per_second is of text, a thread's when the argument is 1.
#include "data/ratings.h"

#include <benchmark/benchmark.h>

#include "data/fixture.h"
#include "data/generate.h"

namespace castor::data {
namespace {

// 200,000 generated ratings: about 2.6 MB.
Disk& disk_with_ratings() {
  static Disk disk;
  if (!disk.files.exists("r")) {
    world::Pool pool(1);
    const GenerateOptions options{.users = 10000, .items = 5000, .ratings = 200000};
    CHECK(generate_ratings(disk.files, pool, options, "r", "").has_value());
    std::string text = disk.get("r"), named;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      named += "user-" + text.substr(at, end - at) + "\n";
      at = end + 1;
    }
    disk.put("named", named);
  }
  return disk;
}

void read_file(benchmark::State& state, const char* path) {
  Disk& disk = disk_with_ratings();
  world::Pool pool(static_cast<unsigned>(state.range(0)));
  std::uint64_t bytes = 0;
  std::size_t ratings = 0;
  for (auto _ : state) {
    const auto result = read_ratings(disk.files, pool, {.paths = {path}});
    CHECK(result.has_value());
    bytes += result->stats.files[0].bytes;
    ratings = result->ratings.size();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  state.counters["ratings"] = static_cast<double>(ratings);
}

void read_numbers(benchmark::State& state) { read_file(state, "r"); }
void read_names(benchmark::State& state) { read_file(state, "named"); }

void generate(benchmark::State& state) {
  Disk& disk = disk_with_ratings();
  world::Pool pool(static_cast<unsigned>(state.range(0)));
  const GenerateOptions options{.users = 5000, .items = 5000, .ratings = 100000, .rank = 16};
  for (auto _ : state) {
    CHECK(generate_ratings(disk.files, pool, options, "g", "").has_value());
  }
  state.SetItemsProcessed(state.iterations() * options.ratings);
}

BENCHMARK(read_numbers)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(read_names)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(generate)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace castor::data

#pragma once
// The summary of a data set that a person looks at first: sizes, values, how ratings spread over
// users and items, duplicates, how the files were read.
//
// Thread: any (plain values).
#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"
#include "data/ratings.h"

namespace castor::data {

struct HistogramBin {
  double low = 0, high = 0;  // equal: one value; else [low, high), the last one closed
  std::uint64_t count = 0;
};

// Of the number of ratings of each user or item.
struct CountQuantiles {
  std::uint64_t min = 0, p10 = 0, p25 = 0, median = 0, p75 = 0, p90 = 0, p99 = 0, max = 0;
  double mean = 0;
};

struct Summary {
  std::uint64_t users = 0, items = 0, ratings = 0;
  double density = 0;  // ratings / (users * items)
  double value_min = 0, value_max = 0, value_mean = 0, value_sd = 0;
  std::vector<HistogramBin> histogram;  // one bin a value when there are at most 20, else 10 bins
  CountQuantiles per_user, per_item;
  std::uint64_t duplicates = 0;
  bool numeric_users = false, numeric_items = false;  // ids are decimal integers
  ReadStats stats;
};

// REQUIRES: at least one rating.
Summary describe(const Ratings& ratings);

Json to_json(const Summary& summary);
// Several lines, for a terminal.
std::string to_text(const Summary& summary);

}  // namespace castor::data

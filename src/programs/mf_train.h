#pragma once
// `castor train mf` from ratings to a model folder: read, prepare, fit, save. Speaks in events,
// which the command line prints as they are (--json) or in words:
//   {"event":"read", "ratings":..., "users":..., "items":..., "seconds":..., "duplicates":...,
//   "warnings":[...]}
//   {"event":"start", "solver":..., "rank":..., "shards":..., "threads":..., "prepare_seconds":...}
//   {"event":"clock", "clock":..., "clocks":..., "objective":..., "train_rmse":...,
//   "test_rmse":...,
//    "validation_rmse":..., "seconds":..., "ratings_per_second":..., "seconds_left":...}
//   {"event":"done", "clock":..., "reason":..., "train_rmse":..., "test_rmse":..., "seconds":...,
//    "ratings_per_second":..., "cpu_seconds":..., "read_seconds":..., "prepare_seconds":...,
//    "model":"DIR"}
// "seconds" is wall time and "cpu_seconds" CPU time of training alone, without reading and metrics;
// a clock here is one pass over the ratings. Values that do not exist (no test file) are left out.
//
// Thread: one.
#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/log.h"
#include "data/ratings.h"
#include "job/job.h"
#include "programs/mf_options.h"

namespace castor::programs {

struct MfTrainOptions {
  MfOptions model;
  std::vector<std::string> data;
  std::vector<std::string> test;
  std::vector<std::string> validation;
  data::ReadOptions read;  // its paths are not used
  std::string out;
  std::string warm_start;
  std::int64_t threads = 0;
  double checkpoint_every = 0;
  bool resume = false;
  bool overwrite = false;
  std::int64_t patience = 3;
  double tolerance = 0;
  bool no_seen = false;
};

std::vector<Field> fields(MfTrainOptions& options);

struct MfTrainCalls {
  std::function<void(const Json&)> on_event;
  // While reading: bytes of the file read and in all (0 = unknown).
  std::function<void(std::uint64_t read, std::uint64_t total)> on_read;
  const std::atomic<bool>* stop_requested = nullptr;
  std::string_view castor_version = "0";
};

// The "done" event; after a requested stop {"event":"stopped", "clock":..., "checkpoint":PATH or
// ""}.
Result<Json> train_mf(world::World& world, const Log& log, const MfTrainOptions& options,
                      const MfTrainCalls& calls);

}  // namespace castor::programs

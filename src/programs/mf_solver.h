#pragma once
// The three solvers of matrix factorisation behind one signature.
//
// Thread: one.
#include "job/job.h"
#include "kernels/mf_predict.h"
#include "programs/mf_input.h"
#include "programs/mf_options.h"

namespace castor::programs {

// Factors of all users and items by index (not position), in units of the ratings as given.
struct MfFactors {
  std::uint32_t rank = 0;
  AlignedVector<float> user_rows, item_rows;              // rows of kernels::mf_stride(rank) floats
  std::vector<kernels::MfBias> user_biases, item_biases;  // both empty without biases
  float mean = 0;                                         // of the training values
  bool implicit = false;  // predictions are preferences from 0 to 1, not ratings

  // prediction(u, i): p.q with the mean rating where either row was never trained; with biases
  // mean + b_u + b_i + p.q; implicit: p.q.
  kernels::MfModel view() const;
};

// How to run, beside the options that are part of the problem.
struct MfSetting {
  world::World& world;
  const Log& log;
  unsigned threads = 1;
  RunOptions run;                    // clocks and identity are filled in by the solver
  const MfFactors* start = nullptr;  // warm start: same rank, users and items by index; a row of
                                     // zeros is started afresh
};

struct MfFit {
  Report report;  // curve by pass; metrics: objective, train_rmse, then test_rmse and
                  // validation_rmse when there are such ratings
  MfFactors factors;
};

Result<MfFit> fit_sgd(const MfInput& input, const MfOptions& options, const MfSetting& setting);
Result<MfFit> fit_als(const MfInput& input, const MfOptions& options, const MfSetting& setting);
Result<MfFit> fit_ccd(const MfInput& input, const MfOptions& options, const MfSetting& setting);

// By options.solver.
Result<MfFit> fit(const MfInput& input, const MfOptions& options, const MfSetting& setting);

// options.shards, or a number that depends on the ratings alone.
ShardId shards_for(const MfOptions& options, std::uint64_t ratings);

// options.blocks, or a number that depends on the items alone; never more than there are items.
BlockId blocks_for(const MfOptions& options, std::uint32_t items);

// What a checkpoint of this problem must have been taken with.
Json identity_of(const MfInput& input, const MfOptions& options);

}  // namespace castor::programs

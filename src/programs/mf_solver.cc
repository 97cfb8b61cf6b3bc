#include "programs/mf_solver.h"

#include <algorithm>

#include "kernels/mf_sgd.h"

namespace castor::programs {

kernels::MfModel MfFactors::view() const {
  kernels::MfModel model;
  model.rank = rank;
  model.user_rows = user_rows.span();
  model.item_rows = item_rows.span();
  model.user_biases = user_biases;
  model.item_biases = item_biases;
  model.shift = user_biases.empty() ? 0 : mean;
  model.absent = user_biases.empty() && !implicit ? mean : 0;
  return model;
}

Result<MfFit> fit(const MfInput& input, const MfOptions& options, const MfSetting& setting) {
  TRY(check(options));
  if (options.solver == "als") return fit_als(input, options, setting);
  if (options.solver == "ccd") return fit_ccd(input, options, setting);
  return fit_sgd(input, options, setting);
}

ShardId shards_for(const MfOptions& options, std::uint64_t ratings) {
  if (options.shards > 0) return static_cast<ShardId>(options.shards);
  // Long enough tasks to make handing on cheap, enough of them for a few threads (bench/mf.py).
  return ratings < 1'000'000 ? 8 : 16;
}

BlockId blocks_for(const MfOptions& options, std::uint32_t items) {
  constexpr std::uint32_t wanted = 8;  // item bands of 20 M ratings fit the second-level cache
  const std::uint32_t least = (items + kernels::mf_block_rows_max - 1) / kernels::mf_block_rows_max;
  const std::uint32_t asked =
      options.blocks > 0 ? static_cast<std::uint32_t>(options.blocks) : wanted;
  return std::min(items, std::max(asked, least));
}

Json identity_of(const MfInput& input, const MfOptions& options) {
  MfOptions copy = options;
  Json identity = to_json(fields(copy));
  identity.set("clocks", 0);  // a run may be made longer
  identity.set("ratings", input.train.size()).set("shards", input.shards);
  identity.set("fingerprint", text("{:016x}", input.fingerprint));
  // What stops the training and chooses the model is part of the run; what only measures it is not.
  if (input.validation.size() > 0) {
    identity.set("validation", text("{:016x}", input.validation_fingerprint));
  }
  return identity;
}

}  // namespace castor::programs

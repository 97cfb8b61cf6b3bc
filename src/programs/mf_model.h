#pragma once
// A trained factor model and the folder it is kept in: model.json (program, options, metrics,
// checksums), NumPy arrays user_factors.npy and item_factors.npy (rows x rank, float32),
// user_bias.npy and item_bias.npy when there are biases, the ids in users.txt and items.txt (line i
// names row i), and which pairs were trained on in seen_offsets.npy and seen_items.npy (a CSR by
// user), so that recommendations can leave them out. Format: docs/formats/model.md.
//
// Thread: const members from any.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "data/ids.h"
#include "data/ratings.h"
#include "programs/mf_solver.h"

namespace castor::programs {

// The training pairs: items of user u are items[offsets[u] .. offsets[u + 1]), ascending.
struct SeenPairs {
  std::vector<std::int64_t> offsets;  // users + 1, or empty when they were not kept
  std::vector<std::uint32_t> items;

  std::span<const std::uint32_t> of(std::uint32_t user) const;  // empty when not kept
};

SeenPairs seen_pairs(const MfInput& input);

struct MfModel {
  MfFactors factors;
  data::IdMap users, items;
  SeenPairs seen;
  float value_least = 0, value_most = 0;  // of the training values
  std::uint64_t ratings = 0;              // trained on
  Json options, metrics;                  // as in model.json

  // For a user or item that is not in the model (IdMap::npos): the mean, with the bias of the other
  // one when there is one; 0 for an implicit model.
  float predict(std::uint32_t user, std::uint32_t item) const;
};

// The factors of a model for a new set of users and items, as a warm start: rows of ids the model
// does not know are zero. Code::invalid when rank or biases differ from the options.
Result<MfFactors> factors_for(const MfModel& model, const data::IdMap& users,
                              const data::IdMap& items, const MfOptions& options);

// Writes the folder, each file whole or not at all and model.json last, so that a reader never
// takes a half-written model for a model. `castor_version` goes into model.json.
Status save_model(world::Files& files, const std::string& folder, const MfModel& model,
                  std::string_view castor_version);

// Code::not_found when there is no model.json, Code::corrupt when arrays and model.json do not
// belong together.
Result<MfModel> load_model(world::Files& files, const std::string& folder);

// The document alone, for `castor inspect`.
Result<Json> load_model_json(world::Files& files, const std::string& folder);

struct Recommendation {
  std::uint32_t item = 0;
  float score = 0;
};

}  // namespace castor::programs

#include "kernels/mf_predict.h"

#include "core/check.h"
#include "kernels/mf_predict_loops.h"
#include "kernels/mf_sgd.h"

namespace castor::kernels {
namespace {

const MfPredictKernels& kernels_for(InstructionSet set) {
  CHECK(may_run(set), "{}", name_of(set));
  switch (set) {
    case InstructionSet::portable: return mf_predict_portable;
    case InstructionSet::avx2: return mf_predict_avx2;
    case InstructionSet::avx512: return mf_predict_avx512;
  }
  return mf_predict_portable;
}

std::uint64_t rows_of(std::span<const float> rows, std::uint32_t rank) {
  return rows.size() / mf_stride(rank);
}

MfModelCall call_of(const MfModel& model) {
  CHECK(model.rank >= 1 && model.rank <= mf_rank_max, "rank {}", model.rank);
  const std::size_t stride = mf_stride(model.rank);
  CHECK(model.user_rows.size() % stride == 0 && model.item_rows.size() % stride == 0,
        "{} and {} floats, stride {}", model.user_rows.size(), model.item_rows.size(), stride);
  CHECK(model.user_biases.empty() == model.item_biases.empty());
  CHECK(model.user_biases.empty() ||
        (model.user_biases.size() == rows_of(model.user_rows, model.rank) &&
         model.item_biases.size() == rows_of(model.item_rows, model.rank)));
  return {.user_rows = model.user_rows.data(),
          .item_rows = model.item_rows.data(),
          .user_biases = model.user_biases.empty() ? nullptr : model.user_biases.data(),
          .item_biases = model.item_biases.empty() ? nullptr : model.item_biases.data(),
          .stride = stride,
          .shift = model.shift,
          .scale = model.scale,
          .absent = model.absent,
          .low = model.low,
          .high = model.high};
}

}  // namespace

const MfPredictKernels mf_predict_portable = {mf_predict_loops::dot, mf_predict_loops::errors,
                                              mf_predict_loops::block_errors,
                                              mf_predict_loops::scores};

float mf_dot(std::span<const float> a, std::span<const float> b, InstructionSet set) {
  CHECK(a.size() == b.size() && a.size() % 16 == 0, "{} and {} floats", a.size(), b.size());
  return kernels_for(set).dot(a.data(), b.data(), a.size());
}

float mf_predict(const MfModel& model, std::uint32_t user, std::uint32_t item) {
  const MfModelCall call = call_of(model);
  CHECK(user < rows_of(model.user_rows, model.rank), "user {}", user);
  CHECK(item < rows_of(model.item_rows, model.rank), "item {}", item);
  const std::size_t stride = call.stride;
  const float product = mf_dot(model.user_rows.subspan(user * stride, stride),
                               model.item_rows.subspan(item * stride, stride));
  float biases = 0;
  if (!model.user_biases.empty()) {
    biases = model.user_biases[user].value + model.item_biases[item].value;
  }
  return mf_predict_loops::prediction(call, product, biases);
}

MfErrors mf_errors(std::span<const MfRating> ratings, const MfModel& model, InstructionSet set) {
#ifdef CASTOR_DCHECK
  for (const MfRating& rating : ratings) {
    DCHECK(rating.user < rows_of(model.user_rows, model.rank), "user {}", rating.user);
    DCHECK(rating.item < rows_of(model.item_rows, model.rank), "item {}", rating.item);
  }
#endif
  return kernels_for(set).errors(call_of(model), ratings.data(), ratings.size());
}

MfErrors mf_errors(const MfBlock& block, const MfModel& model, InstructionSet set) {
  CHECK(block.items.size() == block.ratings.size(), "{} items, {} ratings", block.items.size(),
        block.ratings.size());
  CHECK((block.runs.empty() ? 0 : block.runs.back().end) == block.items.size());
#ifdef CASTOR_DCHECK
  for (const MfRun& run : block.runs) {
    DCHECK(run.user < rows_of(model.user_rows, model.rank), "user {}", run.user);
  }
  for (std::uint16_t item : block.items) {
    DCHECK(item < rows_of(model.item_rows, model.rank), "item {}", item);
  }
#endif
  MfSgdCall part = {};
  part.runs = block.runs.data();
  part.run_count = block.runs.size();
  part.items = block.items.data();
  part.ratings = block.ratings.data();
  part.rating_count = block.ratings.size();
  return kernels_for(set).block_errors(call_of(model), part);
}

void mf_scores(const MfModel& model, std::span<float> scores, InstructionSet set) {
  MfScoreCall call = {.model = call_of(model),
                      .users = rows_of(model.user_rows, model.rank),
                      .items = rows_of(model.item_rows, model.rank),
                      .scores = scores.data()};
  CHECK(scores.size() == call.users * call.items, "{} scores for {} x {}", scores.size(),
        call.users, call.items);
  kernels_for(set).scores(call);
}

}  // namespace castor::kernels

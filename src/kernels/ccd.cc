#include "kernels/ccd.h"

#include "core/check.h"
#include "kernels/ccd_loops.h"

namespace castor::kernels {
namespace {

struct Set;

const CcdKernels& kernels_for(InstructionSet set) {
  CHECK(may_run(set), "{}", name_of(set));
  switch (set) {
    case InstructionSet::portable: return ccd_portable;
    case InstructionSet::avx2: return ccd_avx2;
    case InstructionSet::avx512: return ccd_avx512;
  }
  return ccd_portable;
}

struct Others {
  std::span<const float> now, pairs;
};

CcdCall call_of(const CcdRows& rows, const Others& others, const CcdParameters& parameters) {
  CHECK(rows.begin.size() == rows.x.size() + 1, "{} begins for {} rows", rows.begin.size(),
        rows.x.size());
  CHECK(rows.columns.size() == rows.residuals.size() && rows.begin.back() == rows.columns.size());
  CHECK(others.pairs.empty() || rows.x_before.size() == rows.x.size());
#ifdef CASTOR_DCHECK
  for (const std::int32_t column : rows.columns) {
    const auto place = static_cast<std::size_t>(column);
    DCHECK(others.now.empty() || place < others.now.size(), "column {}", column);
    DCHECK(others.pairs.empty() || place < others.pairs.size() / 2, "column {}", column);
  }
#endif
  return {.begin = rows.begin.data(),
          .columns = rows.columns.data(),
          .residuals = rows.residuals.data(),
          .rows = static_cast<std::uint32_t>(rows.x.size()),
          .now = others.now.data(),
          .pairs = others.pairs.data(),
          .mine = rows.x.data(),
          .mine_before = rows.x_before.data(),
          .lambda = parameters.lambda,
          .by_degree = parameters.by_degree};
}

}  // namespace

const CcdKernels ccd_portable = CcdLoops<Set>::kernels();

void ccd_first(const CcdRows& rows, std::span<const float> pairs, const CcdParameters& parameters,
               InstructionSet set) {
  kernels_for(set).first(call_of(rows, {{}, pairs}, parameters));
}

void ccd_second(const CcdRows& rows, std::span<const float> pairs, std::span<const float> now,
                const CcdParameters& parameters, InstructionSet set) {
  kernels_for(set).second(call_of(rows, {now, pairs}, parameters));
}

void ccd_again(const CcdRows& rows, std::span<const float> now, const CcdParameters& parameters,
               InstructionSet set) {
  kernels_for(set).again(call_of(rows, {now, {}}, parameters));
}

void ccd_subtract(const CcdRows& rows, std::span<const float> now, InstructionSet set) {
  kernels_for(set).subtract(call_of(rows, {now, {}}, {}));
}

double ccd_squared_error(const CcdRows& rows, std::span<const float> now, InstructionSet set) {
  return kernels_for(set).squared_error(call_of(rows, {now, {}}, {}));
}

}  // namespace castor::kernels

#include "kernels/instruction_set.h"

#include <cstddef>

namespace castor::kernels {
namespace {

constexpr InstructionSet all_sets[] = {InstructionSet::portable, InstructionSet::avx2,
                                       InstructionSet::avx512};

// Each set includes the ones before it.
std::size_t count_usable() {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (!avx2) return 1;
  return avx512 ? 3 : 2;
}

}  // namespace

std::string_view name_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::portable: return "portable";
    case InstructionSet::avx2: return "avx2";
    case InstructionSet::avx512: return "avx512";
  }
  return "unknown";
}

std::span<const InstructionSet> instruction_sets() {
  static const std::size_t count = count_usable();
  return {all_sets, count};
}

InstructionSet best_instruction_set() { return instruction_sets().back(); }

bool may_run(InstructionSet set) { return set <= best_instruction_set(); }

}  // namespace castor::kernels

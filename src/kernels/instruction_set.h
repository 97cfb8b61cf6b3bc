#pragma once
// Which of a kernel's compiled versions runs. Files named *_avx2.cc and *_avx512.cc use those
// instructions; every kernel also has a portable version of the same mathematics. Results agree
// within rounding between instruction sets and bit for bit between runs of the same one.
//
// Files compiled for one instruction set include no standard header with inline functions of its
// own: the linker keeps one copy of such a function for the whole program, and it might keep that
// one.
//
// Thread: any.
#include <span>
#include <string_view>

namespace castor::kernels {

enum class InstructionSet : unsigned char { portable, avx2, avx512 };

std::string_view name_of(InstructionSet set);

// What this processor can run, slowest first; never empty.
std::span<const InstructionSet> instruction_sets();

// The last of instruction_sets(): what kernels use unless told otherwise.
InstructionSet best_instruction_set();

// True when this processor can run code compiled for `set`.
bool may_run(InstructionSet set);

}  // namespace castor::kernels

#pragma once
// Plain structs of CCD++, and the entry points that exist once per instruction set. This header is
// included by files compiled for one instruction set: no function bodies, no standard header with
// inline functions (instruction_set.h). Callers use ccd.h.
//
// Thread: any.
#include <cstdint>

namespace castor::kernels {

// The calls of ccd.h after their checks. Arrays that a call does not use are null.
struct CcdCall {
  const std::uint64_t* begin;   // (rows + 1)
  const std::int32_t* columns;  // by rating
  float* residuals;             // by rating
  std::uint32_t rows;
  const float* now;    // by column
  const float* pairs;  // two by column
  float* mine;         // by row
  const float* mine_before;
  float lambda;
  bool by_degree;
};

struct CcdKernels {
  void (*again)(const CcdCall& call);
  void (*first)(const CcdCall& call);
  void (*second)(const CcdCall& call);
  void (*subtract)(const CcdCall& call);
  double (*squared_error)(const CcdCall& call);
};

extern const CcdKernels ccd_portable;
extern const CcdKernels ccd_avx2;
extern const CcdKernels ccd_avx512;

}  // namespace castor::kernels

#pragma once
// Plain structs of alternating least squares, and the entry points that exist once per instruction
// set. This header is included by files compiled for one instruction set: no function bodies, no
// standard header with inline functions (instruction_set.h). Callers use als.h.
//
// Thread: any.
#include <cstdint>

namespace castor::kernels {

// The calls of als.h after their checks. Arrays that a call does not use are null.
struct AlsCall {
  const std::uint64_t* begin;   // (rows + 1)
  const std::int32_t* columns;  // by rating
  const float* values;          // by rating
  std::uint32_t rows;
  // The other side: row c is row c - b * block_rows of blocks[b], b = c / block_rows, which is
  // c * magic >> shift.
  const float* const* blocks;
  std::uint32_t block_rows;
  std::uint32_t others;  // rows of the other side
  std::uint32_t shift;
  std::uint64_t magic;
  float* mine;  // (rows, stride)
  std::uint32_t rank;
  std::uint32_t stride;  // floats from one row to the next, a multiple of 16
  float lambda;
  bool by_degree;
  std::uint32_t cg_steps;
  const float* gram;  // (stride, stride)
  // Scratch.
  float* panel;    // (panel_rows, stride): gathered rows
  float* matrix;   // (stride, stride)
  float* factor;   // (stride, stride)
  float* vectors;  // (4, stride)
  float* weights;  // (panel_rows)
  std::uint32_t panel_rows;
};

struct AlsKernels {
  void (*solve)(const AlsCall& call);
  void (*cg)(const AlsCall& call);
  void (*gram)(const float* rows, std::uint32_t count, std::uint32_t stride, float* gram);
  double (*squared_error)(const AlsCall& call);
  double (*implicit_error)(const AlsCall& call);
};

extern const AlsKernels als_portable;
extern const AlsKernels als_avx2;
extern const AlsKernels als_avx512;

// For a row whose system is too near to singular for floats: moves mine[row] by the minimiser of
// its objective plus a small multiple of the squared length of the move, in doubles, so that the
// objective never rises. Uses call.matrix, the system's matrix in its upper triangle.
void als_solve_carefully(const AlsCall& call, std::uint32_t row);

}  // namespace castor::kernels

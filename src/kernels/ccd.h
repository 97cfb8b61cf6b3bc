#pragma once
// CCD++ (Yu, Hsieh, Si and Dhillon, "Scalable coordinate descent approaches to parallel matrix
// factorization for recommender systems", ICDM 2012): one coordinate of all rows of one side at a
// time, each set to the minimiser of the objective while everything else stands still:
//
//   x_i <- sum_j s_ij y_j / (w_i + sum_j y_j^2),   w_i = lambda, or lambda x the ratings of row i
//
// where y is the same coordinate of the other side and s_ij the rating less the products of all
// other coordinates. Where the divisor is 0 any x_i is a minimiser, and it stays as it is.
//
// s is kept by rating, once in the order of either side, and brought from one coordinate to the
// next in the same sweep that uses it first: s <- s - x' y' + x y, x' and y' being the previous
// coordinate's final values and x, y the present one's before they change. Both copies go through
// the same operations and hold the same bits.
//
// Sums are 4, 8 or 16 partial sums of float. Same bits for the same input and instruction set,
// however rows are cut into bands. Infinite or NaN ratings end in NaN, never in a crash.
//
// Thread: any.
#include <cstdint>
#include <span>

#include "kernels/ccd_kernel.h"
#include "kernels/instruction_set.h"

namespace castor::kernels {

// The rows of one band: the ratings of row i are [begin[i], begin[i + 1]).
struct CcdRows {
  std::span<const std::uint64_t> begin;   // rows + 1
  std::span<const std::int32_t> columns;  // rows of the other side
  std::span<float> residuals;             // s, by rating
  std::span<float> x;                     // by row: the present coordinate
  std::span<const float> x_before = {};   // by row: the previous coordinate
};

struct CcdParameters {
  float lambda = 0;
  bool by_degree = false;
};

// The sweeps of one coordinate: first side, then second side, then both `again` as often as wanted.
// Arrays of the other side are by column; a pair is two floats next to each other.
//
// REQUIRES (all): columns within the arrays of the other side; may_run(set).

// `pairs` = (y', y).
void ccd_first(const CcdRows& rows, std::span<const float> pairs, const CcdParameters& parameters,
               InstructionSet set = best_instruction_set());
// `pairs` = (y', y before ccd_first changed it), `now` = y.
void ccd_second(const CcdRows& rows, std::span<const float> pairs, std::span<const float> now,
                const CcdParameters& parameters, InstructionSet set = best_instruction_set());
// Leaves s as it is. `now` = y.
void ccd_again(const CcdRows& rows, std::span<const float> now, const CcdParameters& parameters,
               InstructionSet set = best_instruction_set());

// s <- s - x y, x as it is.
void ccd_subtract(const CcdRows& rows, std::span<const float> now,
                  InstructionSet set = best_instruction_set());

// Sum of (s - x y)^2: the squared error of the whole model when x and y are the coordinate that s
// leaves out. Changes nothing.
double ccd_squared_error(const CcdRows& rows, std::span<const float> now,
                         InstructionSet set = best_instruction_set());

}  // namespace castor::kernels

#pragma once
// The loops of ccd.h in plain C++, for instruction sets without a fast gather. A file that compiles
// them supplies a type of its own in an anonymous namespace, so that each file keeps its own copy.
//
// Thread: as ccd.h.
#include "kernels/ccd_kernel.h"

namespace castor::kernels {

template <class Set>
class CcdLoops {
 public:
  static constexpr CcdKernels kernels() {
    return {sweep<Renewal::none>, sweep<Renewal::first>, sweep<Renewal::second>, subtract,
            squared_error};
  }

 private:
  static constexpr int lanes = 8;

  // What a sweep does to s before it uses it.
  enum class Renewal : unsigned char { none, first, second };

  static float sum_lanes(float (&x)[lanes]) {
    for (int width = lanes / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) x[i] += x[i + width];
    }
    return x[0];
  }

  template <Renewal renewal>
  static float visit(const CcdCall& call, std::uint64_t n, float before, float x, float* y) {
    const auto column = static_cast<std::uint64_t>(call.columns[n]);
    *y = renewal == Renewal::first ? call.pairs[2 * column + 1] : call.now[column];
    float s = call.residuals[n];
    if (renewal != Renewal::none) {
      s = s - before * call.pairs[2 * column];
      s = s + x * call.pairs[2 * column + 1];
      call.residuals[n] = s;
    }
    return s;
  }

  template <Renewal renewal>
  static void sweep(const CcdCall& call) {
    for (std::uint32_t row = 0; row < call.rows; ++row) {
      const std::uint64_t begin = call.begin[row], end = call.begin[row + 1];
      if (begin == end) continue;
      const float x = call.mine[row];
      const float before = renewal == Renewal::none ? 0 : call.mine_before[row];
      float above[lanes] = {}, below[lanes] = {};
      std::uint64_t n = begin;
      for (; n + lanes <= end; n += lanes) {
        for (int i = 0; i < lanes; ++i) {
          float y = 0;
          const float s = visit<renewal>(call, n + static_cast<std::uint64_t>(i), before, x, &y);
          above[i] += s * y;
          below[i] += y * y;
        }
      }
      for (int i = 0; n < end; ++n, ++i) {
        float y = 0;
        const float s = visit<renewal>(call, n, before, x, &y);
        above[i] += s * y;
        below[i] += y * y;
      }
      const float degree = call.by_degree ? static_cast<float>(end - begin) : 1;
      const float divisor = sum_lanes(below) + call.lambda * degree;
      if (divisor > 0) call.mine[row] = sum_lanes(above) / divisor;
    }
  }

  static void subtract(const CcdCall& call) {
    for (std::uint32_t row = 0; row < call.rows; ++row) {
      const float x = call.mine[row];
      for (std::uint64_t n = call.begin[row]; n < call.begin[row + 1]; ++n) {
        call.residuals[n] -= x * call.now[call.columns[n]];
      }
    }
  }

  static double squared_error(const CcdCall& call) {
    double total = 0;
    for (std::uint32_t row = 0; row < call.rows; ++row) {
      const float x = call.mine[row];
      for (std::uint64_t n = call.begin[row]; n < call.begin[row + 1]; ++n) {
        const double error =
            static_cast<double>(call.residuals[n]) -
            static_cast<double>(x) * static_cast<double>(call.now[call.columns[n]]);
        total += error * error;
      }
    }
    return total;
  }
};

}  // namespace castor::kernels

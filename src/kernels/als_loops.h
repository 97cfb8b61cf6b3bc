#pragma once
// The loops of als.h, written once with the compiler's vector types. A file that compiles them for
// an instruction set supplies, in an anonymous namespace so that each file keeps its own copy:
//
//   struct Set {
//     typedef float V __attribute__((vector_size(bytes), may_alias));
//     static constexpr int height = ...;  // rows of a register tile, which is 16 columns wide
//   };
//
// Matrices are (stride, stride), row-major; only their upper triangle of 16 x 16 tiles is used.
//
// Thread: as als.h.
#include "kernels/als_kernel.h"

namespace castor::kernels {

template <class Set>
class AlsLoops {
  using V = typename Set::V;
  using Size = std::int64_t;
  static constexpr int height = Set::height;
  static constexpr int lanes = sizeof(V) / sizeof(float);
  static constexpr int parts = 16 / lanes;  // vectors in 16 floats

 public:
  static void solve(const AlsCall& call) { AlsLoops(call).solve_rows(); }
  static void cg(const AlsCall& call) { AlsLoops(call).cg_rows(); }

  static void gram(const float* rows, std::uint32_t count, std::uint32_t stride, float* gram) {
    for (Size k = 0; k < Size{stride} * stride; ++k) gram[k] = 0;
    for (std::uint32_t first = 0; first < count; first += 256) {
      const Size some = count - first < 256 ? count - first : 256;
      add_products(rows + Size{first} * stride, some, stride, gram);
    }
    for (Size i = 0; i < stride; ++i) {
      for (Size j = 0; j < i; ++j) gram[i * stride + j] = gram[j * stride + i];
    }
  }

  static double squared_error(const AlsCall& call) {
    return AlsLoops(call).errors([](float value, float product) {
      const double error = static_cast<double>(value) - static_cast<double>(product);
      return error * error;
    });
  }
  static double implicit_error(const AlsCall& call) {
    return AlsLoops(call).errors([](float value, float product) {
      const double s = product, weight = 1 + __builtin_fabs(static_cast<double>(value));
      const double error = (value > 0 ? 1 : 0) - s;
      return weight * error * error - s * s;
    });
  }

 private:
  explicit AlsLoops(const AlsCall& call) : call_(call), stride_(call.stride) {}

  static V load(const float* p) { return *reinterpret_cast<const V*>(p); }
  static void store(float* p, V x) { *reinterpret_cast<V*>(p) = x; }

  static float sum_lanes(V x) {
    float f[lanes];
    __builtin_memcpy(f, &x, sizeof x);
    for (int width = lanes / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) f[i] += f[i + width];
    }
    return f[0];
  }
  float dot(const float* a, const float* b) const {
    V sum[parts] = {};
    for (Size k = 0; k < stride_; k += 16) {
      for (int q = 0; q < parts; ++q) sum[q] += load(a + k + q * lanes) * load(b + k + q * lanes);
    }
    for (int q = 1; q < parts; ++q) sum[0] += sum[q];
    return sum_lanes(sum[0]);
  }
  // y += f x
  void add(float f, const float* x, float* y) const {
    for (Size k = 0; k < stride_; k += lanes) store(y + k, load(y + k) + f * load(x + k));
  }

  const float* other(std::int32_t column) const {
    const auto c = static_cast<std::uint64_t>(column);
    const std::uint64_t block = c * call_.magic >> call_.shift;
    return call_.blocks[block] + static_cast<Size>(c - block * call_.block_rows) * stride_;
  }
  void prefetch(const float* row) const {
    for (Size k = 0; k < stride_; k += 16) __builtin_prefetch(row + k);
  }

  // ---- Sums of outer products

  // matrix[i .. i + height) x [j, j + 16) += (or -=) panel' panel
  template <bool subtract>
  static void tile(const float* panel, Size count, Size stride, Size i, Size j, float* matrix) {
    V sum[height][parts] = {};
    for (Size p = 0; p < count; ++p) {
      const float* x = panel + p * stride + i;
      const float* y = panel + p * stride + j;
      V right[parts];
      for (int q = 0; q < parts; ++q) right[q] = load(y + q * lanes);
#pragma GCC unroll 16
      for (int r = 0; r < height; ++r) {
        for (int q = 0; q < parts; ++q) sum[r][q] += x[r] * right[q];
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < height; ++r) {
      for (int q = 0; q < parts; ++q) {
        float* at = matrix + (i + r) * stride + j + q * lanes;
        store(at, subtract ? load(at) - sum[r][q] : load(at) + sum[r][q]);
      }
    }
  }
  static void add_products(const float* panel, Size count, Size stride, float* matrix) {
    for (Size j = 0; j < stride; j += 16) {
      for (Size i = 0; i < j + 16; i += height) tile<false>(panel, count, stride, i, j, matrix);
    }
  }

  // Copies the rows of ratings [first, first + count) into the panel.
  void gather(std::uint64_t first, Size count) const {
    const std::int32_t* columns = call_.columns + first;
    float* out = call_.panel;
    for (Size p = 0; p < count; ++p, out += stride_) {
      const float* row = other(columns[p]);
      for (Size k = 0; k < stride_; k += lanes) store(out + k, load(row + k));
    }
  }
  // Asks for the rows of the ratings after `last`, as many as there were before it: likely the next
  // to be gathered.
  void look_ahead(std::uint64_t last, Size count) const {
    const std::uint64_t end = call_.begin[call_.rows];
    const Size some = end - last < static_cast<std::uint64_t>(count) ? end - last : count;
    for (Size p = 0; p < some; ++p) prefetch(other(call_.columns[last + p]));
  }
  Size piece(std::uint64_t first, std::uint64_t end) const {
    return end - first < call_.panel_rows ? end - first : call_.panel_rows;
  }

  // ---- Least squares

  void solve_rows() const {
    for (std::uint32_t row = 0; row < call_.rows; ++row) {
      float* x = call_.mine + row * stride_;
      const std::uint64_t begin = call_.begin[row], end = call_.begin[row + 1];
      if (begin == end) {
        for (Size k = 0; k < stride_; ++k) x[k] = 0;
        continue;
      }
      set_up(begin, end);
      const bool is_solved = eliminate();
      if (is_solved) {
        substitute(x);
      } else {
        als_solve_carefully(call_, row);
      }
    }
  }

  // matrix = Gram matrix + L2, vectors[0] = right side
  void set_up(std::uint64_t begin, std::uint64_t end) const {
    float *matrix = call_.matrix, *right = call_.vectors;
    for (Size k = 0; k < stride_ * stride_; k += lanes) store(matrix + k, V{});
    for (Size k = 0; k < stride_; k += lanes) store(right + k, V{});
    for (std::uint64_t first = begin; first < end; first += call_.panel_rows) {
      const Size count = piece(first, end);
      gather(first, count);
      look_ahead(first + count, count);
      add_products(call_.panel, count, stride_, matrix);
      add_right(call_.values + first, count, right);
    }
    const float degree = call_.by_degree ? static_cast<float>(end - begin) : 1;
    const Size rank = call_.rank;
    for (Size k = 0; k < stride_; ++k) {
      matrix[k * stride_ + k] = k < rank ? matrix[k * stride_ + k] + call_.lambda * degree : 1;
    }
  }
  void add_right(const float* values, Size count, float* right) const {
    for (Size k = 0; k < stride_; k += 16) {
      V sum[4][parts] = {};  // four, because each waits for the one before
      const float* x = call_.panel + k;
      Size p = 0;
      for (; p + 4 <= count; p += 4, x += 4 * stride_) {
        for (int r = 0; r < 4; ++r) {
          for (int q = 0; q < parts; ++q) {
            sum[r][q] += values[p + r] * load(x + r * stride_ + q * lanes);
          }
        }
      }
      for (; p < count; ++p, x += stride_) {
        for (int q = 0; q < parts; ++q) sum[0][q] += values[p] * load(x + q * lanes);
      }
      for (int q = 0; q < parts; ++q) {
        const V all = (sum[0][q] + sum[1][q]) + (sum[2][q] + sum[3][q]);
        store(right + k + q * lanes, load(right + k + q * lanes) + all);
      }
    }
  }

  // factor = upper Cholesky factor of matrix with the inverse of its diagonal; right side <- its
  // forward substitution. False when a pivot is lost in rounding.
  bool eliminate() const {
    const float* matrix = call_.matrix;
    float *u = call_.factor, *z = call_.vectors;
    for (Size k = 0; k < stride_ * stride_; k += lanes) store(u + k, load(matrix + k));
    for (Size b = 0; b < stride_; b += 16) {
      if (!eliminate_16(b)) return false;
      const float* panel = u + b * stride_;
      for (Size j = b + 16; j < stride_; j += 16) {
        for (Size i = b + 16; i < j + 16; i += height) tile<true>(panel, 16, stride_, i, j, u);
        for (int r = 0; r < 16; ++r) {
          for (Size k = j; k < j + 16; k += lanes) {
            store(z + k, load(z + k) - z[b + r] * load(panel + r * stride_ + k));
          }
        }
      }
    }
    return true;
  }
  bool eliminate_16(Size b) const {
    constexpr float rounding = 1e-5F;
    float *u = call_.factor, *z = call_.vectors;
    for (Size r = b; r < b + 16; ++r) {
      float* pivot_row = u + r * stride_;
      const float pivot = pivot_row[r];
      if (!(pivot > rounding * call_.matrix[r * stride_ + r])) return false;
      const float inverse = 1 / __builtin_sqrtf(pivot);
      for (Size k = b; k < stride_; k += lanes) store(pivot_row + k, inverse * load(pivot_row + k));
      z[r] *= inverse;
      for (Size i = r + 1; i < b + 16; ++i) {
        const float f = pivot_row[i];
        float* row = u + i * stride_;
        for (Size k = b; k < stride_; k += lanes) {
          store(row + k, load(row + k) - f * load(pivot_row + k));
        }
        z[i] -= f * z[r];
      }
      pivot_row[r] = inverse;
    }
    return true;
  }
  void substitute(float* x) const {
    const float* u = call_.factor;
    for (Size k = 0; k < stride_; ++k) x[k] = 0;
    for (Size b = stride_ - 16; b >= 0; b -= 16) {
      float z[16];
      for (int r = 0; r < 16; ++r) {
        const float* row = u + (b + r) * stride_;
        V sum = {};
        for (Size k = b + 16; k < stride_; k += lanes) sum += load(row + k) * load(x + k);
        z[r] = call_.vectors[b + r] - sum_lanes(sum);
      }
      for (int r = 15; r >= 0; --r) {
        const float value = z[r] * u[(b + r) * stride_ + b + r];
        x[b + r] = value;
        for (int i = 0; i < r; ++i) z[i] -= value * u[(b + i) * stride_ + b + r];
      }
    }
  }

  // ---- Conjugate gradients

  void cg_rows() const {
    for (std::uint32_t row = 0; row < call_.rows; ++row) {
      float* x = call_.mine + row * stride_;
      const std::uint64_t begin = call_.begin[row], end = call_.begin[row + 1];
      if (begin == end) {
        for (Size k = 0; k < stride_; ++k) x[k] = 0;
      } else {
        cg_row(begin, end, x);
      }
    }
  }

  // A = Gram + lambda I + sum |v| q q', right side = sum p (1 + |v|) q.
  void cg_row(std::uint64_t begin, std::uint64_t end, float* x) const {
    float *r = call_.vectors, *d = r + stride_, *image = d + stride_;
    if (end - begin <= call_.panel_rows) {  // else it is gathered piece by piece in each step
      gather(begin, end - begin);
      look_ahead(end, end - begin);
    }
    // r = right side - A x
    multiply(x, r);
    for (Size k = 0; k < stride_; k += lanes) store(r + k, -load(r + k));
    add_observed(begin, end, x, r, [](float v, float s) {
      const float w = __builtin_fabsf(v);
      return (v > 0 ? 1 + w : 0) - w * s;
    });
    for (Size k = 0; k < stride_; k += lanes) store(d + k, load(r + k));
    const float least = rounding_of(begin, end);
    float square = dot(r, r);
    for (std::uint32_t step = 0; step < call_.cg_steps && square > least * least; ++step) {
      multiply(d, image);
      add_observed(begin, end, d, image, [](float v, float s) { return __builtin_fabsf(v) * s; });
      const float curvature = dot(d, image);
      if (!(curvature > 0)) break;
      const float length = square / curvature;
      add(length, d, x);
      add(-length, image, r);
      const float next = dot(r, r), keep = next / square;
      for (Size k = 0; k < stride_; k += lanes) store(d + k, load(r + k) + keep * load(d + k));
      square = next;
    }
  }
  // The length of r that is rounding alone: steps beyond it would go where the system does not.
  float rounding_of(std::uint64_t begin, std::uint64_t end) const {
    float weights = 0, squares = 0;
    for (std::uint64_t n = begin; n < end; ++n) weights += 1 + __builtin_fabsf(call_.values[n]);
    for (Size k = 0; k < stride_; ++k) squares += call_.gram[k * stride_ + k];
    return 1e-7F * weights * __builtin_sqrtf(squares / static_cast<float>(call_.others));
  }
  // out = (gram + lambda I) v
  void multiply(const float* v, float* out) const {
    for (Size k = 0; k < stride_; k += 16) {
      V sum[parts];
      for (int q = 0; q < parts; ++q) sum[q] = call_.lambda * load(v + k + q * lanes);
      const Size rank = call_.rank;
      for (Size i = 0; i < rank; ++i) {
        const float* row = call_.gram + i * stride_ + k;
        for (int q = 0; q < parts; ++q) sum[q] += v[i] * load(row + q * lanes);
      }
      for (int q = 0; q < parts; ++q) store(out + k + q * lanes, sum[q]);
    }
  }
  // out += sum_j factor(v_j, q_j.x) q_j
  template <class F>
  void add_observed(std::uint64_t begin, std::uint64_t end, const float* x, float* out,
                    F factor) const {
    const bool is_gathered = end - begin <= call_.panel_rows;
    for (std::uint64_t first = begin; first < end; first += call_.panel_rows) {
      const Size count = piece(first, end);
      if (!is_gathered) gather(first, count);
      for (Size p = 0; p < count; ++p) {
        call_.weights[p] = factor(call_.values[first + p], dot(call_.panel + p * stride_, x));
      }
      add_right(call_.weights, count, out);
    }
  }

  // ---- Errors

  template <class F>
  double errors(F error) const {
    constexpr std::uint64_t distance = 12;
    double total = 0;
    const std::uint64_t last = call_.begin[call_.rows];
    for (std::uint32_t row = 0; row < call_.rows; ++row) {
      const float* x = call_.mine + row * stride_;
      for (std::uint64_t n = call_.begin[row]; n < call_.begin[row + 1]; ++n) {
        if (n + distance < last) prefetch(other(call_.columns[n + distance]));
        total += error(call_.values[n], dot(x, other(call_.columns[n])));
      }
    }
    return total;
  }

  const AlsCall& call_;
  const Size stride_;
};

template <class Set>
constexpr AlsKernels als_kernels() {
  return {AlsLoops<Set>::solve, AlsLoops<Set>::cg, AlsLoops<Set>::gram,
          AlsLoops<Set>::squared_error, AlsLoops<Set>::implicit_error};
}

}  // namespace castor::kernels

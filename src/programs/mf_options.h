#pragma once
// What `castor train mf` can be told about the model and the solver. The objective is, over the
// observed ratings, sum (r - prediction)^2 + L2, where L2 is
//   degree   lambda * (sum_u |ratings of u| |p_u|^2 + sum_i |ratings of i| |q_i|^2)
//   plain    lambda * (sum_u |p_u|^2 + sum_i |q_i|^2)
// in units of the ratings as given. These are different problems: the model says which it solved.
//
// Thread: any (plain value).
#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.h"

namespace castor::programs {

struct MfOptions {
  std::string solver = "sgd";
  std::int64_t rank = 32;
  std::int64_t clocks = 20;
  std::string schedule = "rotate";
  double lambda = 0.09;
  double rate = 0.12;
  double decay = 0.9;
  std::string l2 = "auto";
  bool biases = false;
  double lambda_bias = 0.02;
  bool implicit = false;
  double confidence = 1;
  std::int64_t cg_steps = 3;
  std::int64_t inner = 1;
  std::int64_t shards = 0;
  std::int64_t blocks = 0;
  std::int64_t seed = 1;

  // True: L2 by degree; false: plain. "auto" is by degree for ratings and plain for implicit
  // feedback.
  bool pays_by_degree() const { return l2 == "degree" || (l2 == "auto" && !implicit); }
};

std::vector<Field> fields(MfOptions& options);

// Code::invalid or unsupported for combinations that no solver has, naming the option.
Status check(const MfOptions& options);

}  // namespace castor::programs

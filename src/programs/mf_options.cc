#include "programs/mf_options.h"

#include <utility>

#include "job/program.h"
#include "kernels/mf_sgd.h"

namespace castor::programs {

namespace {

constexpr double clocks_max = 1e9, shards_max = 65536, weight_max = 1e6;

std::vector<Field> model_fields(MfOptions& o) {
  return {
      {.name = "solver",
       .target = &o.solver,
       .help = "sgd: blocked stochastic gradient, the fastest; als: alternating least squares, no "
               "step size; ccd: CCD++, one coordinate of all rows at a time",
       .choices = {"sgd", "als", "ccd"}},
      {.name = "rank",
       .target = &o.rank,
       .help = "latent factors of a user or item",
       .minimum = 1,
       .maximum = kernels::mf_rank_max},
      {.name = "clocks",
       .target = &o.clocks,
       .help = "passes over the ratings",
       .minimum = 0,
       .maximum = clocks_max},
      {.name = "lambda",
       .target = &o.lambda,
       .help = "L2 weight",
       .minimum = 0,
       .maximum = weight_max},
      {.name = "l2",
       .target = &o.l2,
       .help = "degree: each rating pays lambda for its user and item; plain: each row pays it "
               "once; auto: degree, plain with implicit",
       .choices = {"auto", "degree", "plain"}},
      {.name = "biases",
       .target = &o.biases,
       .help = "sgd: also learn the global mean and one offset a user and an item"},
      {.name = "lambda_bias",
       .target = &o.lambda_bias,
       .help = "L2 weight of the biases",
       .minimum = 0,
       .maximum = weight_max},
      {.name = "implicit",
       .target = &o.implicit,
       .help = "als: values are counts of interest, not opinions; what is absent counts as weak "
               "dislike"},
      {.name = "confidence",
       .target = &o.confidence,
       .help = "implicit: a value r weighs 1 + confidence * r",
       .maximum = 1e9,
       .positive = true},
      {.name = "seed",
       .target = &o.seed,
       .help = "start of every random stream",
       .minimum = 0,
       .maximum = 9e15},
  };
}

std::vector<Field> solver_fields(MfOptions& o) {
  return {
      {.name = "schedule",
       .target = &o.schedule,
       .help = "sgd: order of the blocks; rotate gives the same model for any number of threads, "
               "grid never waits",
       .choices = {"rotate", "grid"}},
      {.name = "rate",
       .target = &o.rate,
       .help = "sgd: step size",
       .maximum = 100,
       .positive = true},
      {.name = "decay",
       .target = &o.decay,
       .help = "sgd: the step size is multiplied by this every clock",
       .maximum = 1,
       .positive = true},
      {.name = "cg_steps",
       .target = &o.cg_steps,
       .help = "implicit: conjugate-gradient steps a row",
       .minimum = 1,
       .maximum = 100},
      {.name = "inner",
       .target = &o.inner,
       .help = "ccd: rounds on one coordinate before the next",
       .minimum = 1,
       .maximum = 100},
      {.name = "shards",
       .target = &o.shards,
       .help = "parts the users are cut into; 0 = chosen from the data, never from the threads",
       .minimum = 0,
       .maximum = shards_max},
      {.name = "blocks",
       .target = &o.blocks,
       .help = "sgd: parts the items are cut into; 0 = chosen from the data",
       .minimum = 0,
       .maximum = shards_max},
  };
}

}  // namespace

std::vector<Field> fields(MfOptions& options) {
  std::vector<Field> all = model_fields(options);
  for (Field& field : solver_fields(options)) all.push_back(std::move(field));
  return all;
}

Status check(const MfOptions& options) {
  if (options.implicit && options.solver != "als") {
    return error(Code::unsupported, "implicit needs solver als, not {}", options.solver);
  }
  if (options.biases && options.solver != "sgd") {
    return error(Code::unsupported, "biases need solver sgd, not {}", options.solver);
  }
  if (options.implicit && options.pays_by_degree()) {
    return error(Code::unsupported, "implicit needs l2 plain: every pair is an observation");
  }
  return {};
}

}  // namespace castor::programs

#include "job/local.h"

namespace castor {
namespace {

struct Surroundings {
  std::unique_ptr<world::World> world = world::real_world();
  Log log;
};

}  // namespace

Result<Job> local_job(const JobOptions& options) {
  auto surroundings = std::make_shared<Surroundings>();
  TRY_AS(Job job, Job::open(*surroundings->world, surroundings->log, options));
  job.keep(std::move(surroundings));
  return job;
}

}  // namespace castor

#pragma once
// A job of this process alone, with the machine's clock and disk and without a log: what an example
// or a test needs to run a program in one line.
//
// Thread: any.
#include <concepts>
#include <span>

#include "job/job.h"

namespace castor {

// Code::invalid when the options make no sense.
Result<Job> local_job(const JobOptions& options);

// Makes a job, makes the program P from it, and runs that. For when the model itself is not needed:
// it goes with the job.
template <Program P>
  requires std::constructible_from<P, Job&>
Result<Report> run_local(const JobOptions& how, const RunOptions& options) {
  TRY_AS(Job job, local_job(how));
  P program(job);
  return job.run(program, options);
}

// Fills the rows of a new table with numbers from [least, most).
template <class T>
auto uniform_rows(T least, T most) {
  return [least, most](RowId, std::span<T> row, Rng& rng) {
    for (T& value : row) value = least + (most - least) * static_cast<T>(rng.uniform());
  };
}

}  // namespace castor

#pragma once
// A job of this process alone, with the machine's clock and disk and without a log: what an example
// or a test needs to run a program in one line.
//
// Thread: any.
#include "job/job.h"

namespace castor {

// Code::invalid when the options make no sense.
Result<Job> local_job(const JobOptions& options);

}  // namespace castor

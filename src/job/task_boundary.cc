#include "job/task_boundary.h"

#include <exception>

namespace castor::job {
namespace {

std::string place(std::string_view name, const Task& task) {
  return text("{}() of shard {}, clock {}, block {}", name, task.shard, task.clock, task.block);
}

// `what()` is only formed when something went wrong.
template <class What>
Status bounded(What&& what, FunctionRef<Status()> call) {
  try {
    Status status = call();
    if (!status) return std::move(status).error().with(what());
    return status;
  } catch (const std::exception& problem) {
    return error(Code::invalid, "{} threw: {}", what(), problem.what());
  } catch (...) {
    return error(Code::invalid, "{} threw something that is no std::exception", what());
  }
}

}  // namespace

Status guarded(std::string_view name, const Task& task, FunctionRef<Status()> hook) {
  return bounded([&] { return place(name, task); }, hook);
}

Status guarded(std::string_view what, FunctionRef<Status()> call) {
  return bounded([&] { return std::string(what); }, call);
}

}  // namespace castor::job

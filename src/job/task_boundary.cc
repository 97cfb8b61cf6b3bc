#include "job/task_boundary.h"

#include <exception>

namespace castor::job {
namespace {

std::string place(std::string_view name, const Task& task) {
  return text("{}() of shard {}, clock {}, block {}", name, task.shard, task.clock, task.block);
}

}  // namespace

Status guarded(std::string_view name, const Task& task, FunctionRef<Status()> hook) {
  try {
    Status status = hook();
    if (!status) return std::move(status).error().with(place(name, task));
    return status;
  } catch (const std::exception& problem) {
    return error(Code::invalid, "{} threw: {}", place(name, task), problem.what());
  } catch (...) {
    return error(Code::invalid, "{} threw something that is no std::exception", place(name, task));
  }
}

}  // namespace castor::job

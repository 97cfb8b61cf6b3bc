#pragma once
// The one place where exceptions of user code end: a program's hook that throws becomes an Error
// naming the hook and the task.
//
// Thread: any.
#include <string_view>

#include "core/function_ref.h"
#include "core/result.h"
#include "schedule/board.h"

namespace castor::job {

// Runs `hook` for a task; `name` is what it is called in the program ("push").
Status guarded(std::string_view name, const Task& task, FunctionRef<Status()> hook);
// The same outside tasks; `what` is all that an error says about the place.
Status guarded(std::string_view what, FunctionRef<Status()> call);

}  // namespace castor::job

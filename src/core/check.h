#pragma once
// CHECK(condition, "context {}", x): a bug in castor. On in every build: prints the condition, the
// place and the formatted context, then aborts. DCHECK is the same inside per-element loops: on in
// the development, sanitizer and fuzzing builds (CASTOR_DCHECK), compiled away in the optimised
// one. Never reachable from user input: what the world can get wrong is a Result (core/result.h).
//
// Thread: any.
#include <source_location>
#include <string>
#include <string_view>

#include "core/text.h"

namespace castor {

[[noreturn]] void check_failed(std::string_view condition, const std::string& context,
                               std::source_location where = std::source_location::current());

}  // namespace castor

#define CHECK(condition, ...)                                             \
  do {                                                                    \
    if (!(condition)) [[unlikely]]                                        \
      ::castor::check_failed(#condition, ::castor::text("" __VA_ARGS__)); \
  } while (false)

#ifdef CASTOR_DCHECK
#define DCHECK(condition, ...) CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#else
#define DCHECK(condition, ...) \
  do {                         \
  } while (false)
#endif

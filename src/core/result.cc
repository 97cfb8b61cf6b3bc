#include "core/result.h"

namespace castor {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::invalid: return "invalid";
    case Code::not_found: return "not_found";
    case Code::exists: return "exists";
    case Code::unavailable: return "unavailable";
    case Code::deadline: return "deadline";
    case Code::cancelled: return "cancelled";
    case Code::stale_epoch: return "stale_epoch";
    case Code::exhausted: return "exhausted";
    case Code::corrupt: return "corrupt";
    case Code::io: return "io";
    case Code::unsupported: return "unsupported";
  }
  return "unknown";
}

bool is_retryable(Code code) {
  return code == Code::unavailable || code == Code::deadline || code == Code::stale_epoch;
}

}  // namespace castor

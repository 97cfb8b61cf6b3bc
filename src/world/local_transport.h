#pragma once
// LocalNetwork joins workers of one process: their transports pass frames by reference, so that
// parallelism inside a machine and across machines is one mechanism.
//
// Thread: open() from any. Each transport belongs to its worker's loop; the loops may be on
// different threads. A transport may outlive the network object. Invariant: payloads are never
// copied, and begin_frame is never called.
#include <memory>

#include "world/transport.h"

namespace castor::world {

class LocalNetwork {
 public:
  LocalNetwork();
  ~LocalNetwork();
  LocalNetwork(const LocalNetwork&) = delete;
  LocalNetwork& operator=(const LocalNetwork&) = delete;

  // The transport of worker `self`. Code::exists while there is one already.
  Result<std::unique_ptr<Transport>> open(WorkerId self, const TransportOptions& options = {});

  struct State;  // known to local_transport.cc only

 private:
  std::shared_ptr<State> state_;
};

}  // namespace castor::world

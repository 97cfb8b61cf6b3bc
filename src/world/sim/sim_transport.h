#pragma once
// A Transport over SimNetwork. The contract is made here, above the faults: what is lost is sent
// again, what comes twice or too early is noticed by its number, and a peer that has been silent
// for too long, or that no longer knows the link, is reported as lost. Datagrams that belong to an
// earlier link or to an earlier life of a worker never reach the receiver.
//
// Every other frame that has a payload, by chance, passes it by reference, and its checksum is
// compared at arrival: a sender that changes what it gave away is found. The others are cut into
// pieces of random size, so that begin_frame and end_frame lie apart, and links are lost in
// between.
//
// Thread: the simulation's.
#include <memory>

#include "world/sim/sim_network.h"
#include "world/sim/sim_world.h"
#include "world/transport.h"

namespace castor::world::sim {

struct SimTransportOptions {
  TransportOptions limits = {};
  Duration retry_every = Duration::from_ms(20);    // what is not acknowledged is sent again
  Duration ping_every = Duration::from_ms(100);    // at the latest, something is sent
  Duration silence_max = Duration::from_ms(2000);  // then a peer is lost
  Duration connect_for = Duration::from_ms(2000);  // then connect() has failed
  double by_reference = 0.5;                       // share of payloads
};

// The transport of worker `self`, which must not be attached to the network. The world and the
// network must outlive it. For the death of a worker without goodbye: network.detach(self), then
// destroy it; and a new one is the worker started again.
std::unique_ptr<Transport> sim_transport(SimWorld& world, SimNetwork& network, WorkerId self,
                                         const SimTransportOptions& options = {});

}  // namespace castor::world::sim

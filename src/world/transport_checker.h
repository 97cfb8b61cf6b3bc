#pragma once
// For tests: a worker that numbers what it sends, and holds what it receives to the contract of
// transport.h. It does not assert; it collects violations, so that a test can also show that a
// broken transport is noticed. One suite runs it over every transport (transport_test.cc).
//
// Thread: its transport's.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/rng.h"
#include "world/transport.h"

namespace castor::world {

class CheckedWorker final : public Receiver {
 public:
  CheckedWorker(std::unique_ptr<Transport> transport, std::uint64_t seed)
      : transport_(std::move(transport)), rng_(StreamKey{.seed = seed}) {}

  Transport& transport() { return *transport_; }
  WorkerId self() const { return transport_->self(); }

  // A frame with a payload of that size whose head says what it is.
  Status send(WorkerId peer, Lane lane, std::size_t payload_bytes);
  // Closes on this side, and holds the transport to silence from then on.
  void close(WorkerId peer);
  std::size_t receive(std::size_t events_max = SIZE_MAX) {
    return transport_->receive(*this, events_max);
  }

  bool is_up(WorkerId peer) const { return peers_.contains(peer) && peers_.at(peer).up; }
  LinkEpoch epoch(WorkerId peer) const { return peers_.contains(peer) ? peers_.at(peer).epoch : 0; }
  // Over the present link, or the last one.
  std::uint64_t sent(WorkerId peer, Lane lane) const;
  std::uint64_t received(WorkerId peer, Lane lane) const;
  std::size_t losses(WorkerId peer) const { return losses_.contains(peer) ? losses_.at(peer) : 0; }
  std::size_t may_sends() const { return may_sends_; }
  Code last_loss() const { return last_loss_; }
  const std::vector<std::string>& violations() const { return violations_; }

  // Called for each frame, before it is acknowledged; an error refuses it.
  std::function<Status(const FrameHead&)> on_frame = {};
  // The same for begin_frame.
  std::function<Status(const FrameHead&)> on_begin = {};

  void peer_up(WorkerId peer, LinkEpoch epoch) override;
  void peer_lost(WorkerId peer, LinkEpoch epoch, const Error& reason) override;
  void may_send(WorkerId peer, Lane lane) override;
  Result<std::span<std::byte>> begin_frame(const FrameHead& head) override;
  Status end_frame(const FrameHead& head, Payload payload) override;

 private:
  struct LaneState {
    std::uint64_t sent = 0, received = 0;
    LinkEpoch sender_epoch = 0;  // as the frames say; one per link
    bool begun = false, placed = false;
    std::vector<std::byte> place = {};
  };
  struct Peer {
    bool up = false;
    LinkEpoch epoch = 0;
    std::array<LaneState, lane_count> lanes = {};
  };

  void violated(const std::string& what);
  LaneState& lane_of(const FrameHead& head) {
    return peers_[head.peer].lanes[static_cast<std::size_t>(head.lane)];
  }
  void check_live(const FrameHead& head, std::string_view what);

  const std::unique_ptr<Transport> transport_;
  Rng rng_;
  std::map<WorkerId, Peer> peers_;
  std::map<WorkerId, std::size_t> losses_;
  std::size_t may_sends_ = 0;
  Code last_loss_ = Code::invalid;
  std::vector<std::string> violations_;
};

}  // namespace castor::world

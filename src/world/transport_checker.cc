#include "world/transport_checker.h"

#include <cstring>

#include "core/bytes.h"

namespace castor::world {
namespace {

constexpr std::uint16_t numbered_kind = 77;

}  // namespace

void CheckedWorker::violated(const std::string& what) {
  violations_.push_back(text("worker {}: {}", self(), what));
}

Status CheckedWorker::send(WorkerId peer, Lane lane, std::size_t payload_bytes) {
  Peer& to = peers_[peer];
  LaneState& state = to.lanes[static_cast<std::size_t>(lane)];
  AlignedVector<std::byte> payload(payload_bytes);
  const std::uint64_t pattern = rng_.next();
  for (std::size_t i = 0; i < payload_bytes; ++i) {
    payload[i] = static_cast<std::byte>((pattern >> (i % 8 * 8)) + i / 8);
  }
  ByteWriter head;
  head.put(lane);
  head.put(to.epoch);
  head.put(state.sent);
  head.put(std::uint64_t{payload_bytes});
  head.put(crc32c(payload.span()));
  for (std::uint64_t left = rng_.below(20); left > 0; --left) head.put(std::uint8_t{0});
  TRY(transport_->send(
      peer, lane,
      Frame{.kind = numbered_kind, .head = head.take(), .payload = Payload(std::move(payload))}));
  if (!to.up) violated(text("could send to {} without a link", peer));
  ++state.sent;
  return {};
}

void CheckedWorker::close(WorkerId peer) {
  transport_->close(peer);
  peers_[peer].up = false;
}

std::uint64_t CheckedWorker::sent(WorkerId peer, Lane lane) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? 0 : found->second.lanes[static_cast<std::size_t>(lane)].sent;
}

std::uint64_t CheckedWorker::received(WorkerId peer, Lane lane) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? 0 : found->second.lanes[static_cast<std::size_t>(lane)].received;
}

void CheckedWorker::peer_up(WorkerId peer, LinkEpoch epoch) {
  Peer& it = peers_[peer];
  if (it.up) violated(text("{} is up twice", peer));
  if (epoch <= it.epoch) violated(text("{} is up with epoch {} after {}", peer, epoch, it.epoch));
  it = Peer{.up = true, .epoch = epoch};
}

void CheckedWorker::peer_lost(WorkerId peer, LinkEpoch epoch, const Error& reason) {
  Peer& it = peers_[peer];
  if (epoch == 0) {
    if (it.up) violated(text("connecting to {} failed while it is up", peer));
  } else {
    if (!it.up) violated(text("{} is lost twice, or after close()", peer));
    if (epoch != it.epoch)
      violated(text("{} is lost with epoch {}, not {}", peer, epoch, it.epoch));
  }
  if (reason.message().empty()) violated("a loss without a reason");
  it.up = false;
  ++losses_[peer];
  last_loss_ = reason.code();
}

void CheckedWorker::may_send(WorkerId peer, Lane /*lane*/) {
  if (!is_up(peer)) violated(text("may send to {}, which is not up", peer));
  ++may_sends_;
}

void CheckedWorker::check_live(const FrameHead& head, std::string_view what) {
  const Peer& it = peers_[head.peer];
  if (!it.up) violated(text("{} from {}, which is not up", what, head.peer));
  if (head.epoch != it.epoch) {
    violated(text("{} from {} with epoch {}, not {}", what, head.peer, head.epoch, it.epoch));
  }
}

Result<std::span<std::byte>> CheckedWorker::begin_frame(const FrameHead& head) {
  check_live(head, "begin of a frame");
  LaneState& lane = lane_of(head);
  if (lane.begun) violated("a frame begins before the last one of its lane has ended");
  if (head.payload_bytes == 0) violated("begin_frame without a payload");
  if (on_begin) TRY(on_begin(head));
  lane.begun = true;
  lane.placed = rng_.below(2) == 0;
  if (!lane.placed) return std::span<std::byte>();
  lane.place.assign(head.payload_bytes, std::byte{0xcd});
  return std::span<std::byte>(lane.place);
}

Status CheckedWorker::end_frame(const FrameHead& head, Payload payload) {
  check_live(head, "a frame");
  LaneState& lane = lane_of(head);
  const bool placed = lane.begun && lane.placed;
  lane.begun = false;
  if (placed && payload.size() != 0) violated("a payload beside the one in its place");
  const std::span<const std::byte> bytes = placed ? lane.place : payload.bytes();

  ByteReader in(head.head);
  const auto its_lane = in.get<Lane>();
  const auto sender_epoch = in.get<LinkEpoch>();
  const auto number = in.get<std::uint64_t>();
  const auto size = in.get<std::uint64_t>();
  const auto checksum = in.get<std::uint32_t>();
  if (in.failed() || head.kind != numbered_kind) violated("a damaged head");
  if (size != head.payload_bytes || size != bytes.size() || crc32c(bytes) != checksum) {
    violated(text("a damaged payload of {} bytes", bytes.size()));
  }
  if (its_lane != head.lane) violated("a frame in another lane");
  if (number != lane.received) {
    violated(text("frame {} from {} in place of {}", number, head.peer, lane.received));
  }
  if (lane.received > 0 && sender_epoch != lane.sender_epoch) {
    violated(text("frames of the links {} and {} of the sender {} in one", lane.sender_epoch,
                  sender_epoch, head.peer));
  }
  lane.sender_epoch = sender_epoch;
  lane.received = number + 1;
  return on_frame ? on_frame(head) : Status();
}

}  // namespace castor::world

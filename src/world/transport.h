#pragma once
// The way to the other workers of a job. Peers are addressed by WorkerId; where they are is the
// business of the implementation (LocalTransport, sim::SimTransport). The contract, which
// transport_test.cc holds every implementation to:
//
// - A link joins two workers. connect() asks for one; each end then hears peer_up, with a number
// that
//   grows from link to link. Every peer_up is followed by exactly one peer_lost, unless that end
//   closed the link itself. A connect() that fails is a peer_lost with epoch 0.
// - Frames arrive in the order of sending within a lane of a link, each once. When the link is
// lost,
//   what arrived is a prefix of what was sent in that lane. No order holds between lanes.
// - send() never blocks. Beyond the credit of a lane it returns Code::exhausted, and may_send()
// follows
//   when there is credit again. Credit comes back when the peer's end_frame() has returned, so a
//   worker that does not call receive() slows down those that send to it.
// - Nothing is copied that need not be. A transport inside one process passes payloads by
// reference. One
//   that moves bytes asks the receiver where they belong (begin_frame) and says when all of them
//   are there (end_frame).
//
// Thread: loop only; what it calls back, it calls inside receive(), except the function given to
// on_ready(). A Payload may be made, read and released on any thread.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/aligned.h"
#include "core/ids.h"
#include "core/limits.h"
#include "core/result.h"

namespace castor::world {

// Which link to a peer, counted by each end for itself: 1, 2, ... Not the membership number
// (Epoch).
using LinkEpoch = std::uint32_t;

// A frame waits for the frames before it in its own lane only.
enum class Lane : std::uint8_t {
  control,  // membership, clocks, heartbeats: small and never behind data
  prompt,   // reads and updates a task waits for
  bulk,     // blocks on the move
};
inline constexpr std::size_t lane_count = 3;
inline constexpr std::array<Lane, lane_count> all_lanes = {Lane::control, Lane::prompt, Lane::bulk};

std::string_view name_of(Lane lane);

// Reference-counted bytes that nobody changes any more. Copying one never copies the bytes.
class Payload {
 public:
  Payload() = default;
  explicit Payload(AlignedVector<std::byte> bytes);
  // Part of something that `owner` keeps alive. REQUIRES: the bytes do not change from now on.
  Payload(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}
  static Payload copy_of(std::span<const std::byte> bytes);

  std::span<const std::byte> bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

struct Frame {
  std::uint16_t kind = 0;  // what `head` is the encoding of; the sender and the receiver know
  std::vector<std::byte> head = {};  // at most limits::frame_head_bytes_max
  Payload payload = {};              // at most limits::frame_payload_bytes_max

  std::size_t size() const { return head.size() + payload.size(); }
};

// A frame as its receiver first sees it.
struct FrameHead {
  WorkerId peer = 0;
  LinkEpoch epoch = 0;
  Lane lane = Lane::control;
  std::uint16_t kind = 0;
  std::span<const std::byte> head = {};  // until the call returns
  std::size_t payload_bytes = 0;
};

class Receiver {
 public:
  virtual ~Receiver() = default;

  virtual void peer_up(WorkerId peer, LinkEpoch epoch) = 0;
  // Nothing more comes from this link, and frames begun on it will not end: their places are free.
  virtual void peer_lost(WorkerId peer, LinkEpoch epoch, const Error& reason) = 0;
  // There is credit again in a lane where send() has returned Code::exhausted.
  virtual void may_send(WorkerId peer, Lane lane) = 0;

  // Where the payload is to go: exactly payload_bytes that stay valid until end_frame, peer_lost or
  // close(); or an empty span for memory of the transport's own. An error drops the link with that
  // reason. Not called where the payload is passed by reference or is empty.
  virtual Result<std::span<std::byte>> begin_frame(const FrameHead& head) = 0;
  // All of a frame is there. `payload` is empty when begin_frame gave the place. An error drops the
  // link with that reason.
  virtual Status end_frame(const FrameHead& head, Payload payload) = 0;
};

struct TransportOptions {
  // What one lane to one peer may have under way; a lane with nothing under way takes any legal
  // frame.
  std::size_t lane_credit_bytes = limits::lane_credit_bytes;
  std::size_t lane_credit_frames = limits::lane_credit_frames;
};

class Transport {
 public:
  virtual ~Transport() = default;  // closes every link

  virtual WorkerId self() const = 0;

  // Asks for a link; no effect while there is one. peer_up or peer_lost follows. Code::unavailable
  // while either end has not yet taken notice that the last one was lost: try again later.
  virtual Status connect(WorkerId peer) = 0;
  // Ends the link or the attempt. From now on nothing of it, nor of links before it, is called back
  // on this side. Frames under way may or may not still arrive at the peer, which hears peer_lost:
  // Code::cancelled when the news gets through.
  virtual void close(WorkerId peer) = 0;

  // Code::unavailable without a link, Code::exhausted without credit, Code::invalid beyond the
  // limits. The frame is taken in case of success only.
  virtual Status send(WorkerId peer, Lane lane, Frame&& frame) = 0;

  // Delivers what has arrived, at most `events_max` calls of the receiver, and returns how many.
  // May be called from inside neither itself nor a callback; a callback may call everything else.
  virtual std::size_t receive(Receiver& receiver, std::size_t events_max) = 0;

  // `call` is called, on any thread, when there is something to receive after there was nothing. It
  // may only wake the loop (World::wake).
  virtual void on_ready(std::function<void()> call) = 0;
};

// Code::invalid when a frame is larger than the limits allow.
Status check_size(const Frame& frame);

// The credit of one lane of one link, as its sender keeps it.
class LaneCredit {
 public:
  // Code::exhausted when a frame of `bytes` does not fit; remembers that one was refused.
  Status take(std::size_t bytes, const TransportOptions& options);
  // REQUIRES: they were taken. True when a refused sender may now be told (at most half is in use).
  bool give_back(std::size_t frames, std::size_t bytes, const TransportOptions& options);

  std::size_t frames_used() const { return frames_; }
  std::size_t bytes_used() const { return bytes_; }

 private:
  std::size_t frames_ = 0, bytes_ = 0;
  bool refused_ = false;
};

}  // namespace castor::world

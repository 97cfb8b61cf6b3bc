#include "world/transport.h"

#include <cstring>

namespace castor::world {

std::string_view name_of(Lane lane) {
  switch (lane) {
    case Lane::control: return "control";
    case Lane::prompt: return "prompt";
    case Lane::bulk: return "bulk";
  }
  return "unknown";
}

Payload::Payload(AlignedVector<std::byte> bytes) {
  if (bytes.empty()) return;
  auto owner = std::make_shared<const AlignedVector<std::byte>>(std::move(bytes));
  bytes_ = owner->span();
  owner_ = std::move(owner);
}

Payload Payload::copy_of(std::span<const std::byte> bytes) {
  AlignedVector<std::byte> copy(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return Payload(std::move(copy));
}

Status check_size(const Frame& frame) {
  if (frame.head.size() > limits::frame_head_bytes_max) {
    return error(Code::invalid, "the head of a frame has {} bytes; at most {}", frame.head.size(),
                 limits::frame_head_bytes_max);
  }
  if (frame.payload.size() > limits::frame_payload_bytes_max) {
    return error(Code::invalid, "the payload of a frame has {} bytes; at most {}",
                 frame.payload.size(), limits::frame_payload_bytes_max);
  }
  return {};
}

Status LaneCredit::take(std::size_t bytes, const TransportOptions& options) {
  const bool fits =
      frames_ < options.lane_credit_frames && bytes_ + bytes <= options.lane_credit_bytes;
  if (frames_ > 0 && !fits) {
    refused_ = true;
    return error(Code::exhausted, "no credit: {} frames of {} bytes are under way", frames_,
                 bytes_);
  }
  ++frames_;
  bytes_ += bytes;
  return {};
}

bool LaneCredit::give_back(std::size_t frames, std::size_t bytes, const TransportOptions& options) {
  CHECK(frames <= frames_, "{} of {}", frames, frames_);
  CHECK(bytes <= bytes_, "{} of {}", bytes, bytes_);
  frames_ -= frames;
  bytes_ -= bytes;
  const bool half =
      frames_ * 2 <= options.lane_credit_frames && bytes_ * 2 <= options.lane_credit_bytes;
  if (!refused_ || !(half || frames_ == 0)) return false;
  refused_ = false;
  return true;
}

}  // namespace castor::world

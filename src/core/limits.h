#pragma once
// Every limit that castor puts on what comes from outside, with the arithmetic behind it. Beyond
// one of them there is an Error, never a wait and never an allocation. A limit that only one file
// knows about stays in that file; what two ends must agree on is here.
//
// Thread: any (constants).
#include <cstddef>
#include <cstdint>

namespace castor::limits {

inline constexpr std::size_t kib = std::size_t{1} << 10;
inline constexpr std::size_t mib = std::size_t{1} << 20;

// ---- Between workers (world/transport.h)

// Workers of one job. Each pair may hold a connection: 1,023 descriptors in a process, the usual
// limit of a session; a job has one worker per machine, so this is also a number of machines.
inline constexpr std::size_t peers_max = 1024;

// The encoded head of a frame: what it is about, clocks, and row numbers where they are sparse.
// 64 KiB are 8,192 row numbers of 8 bytes.
inline constexpr std::size_t frame_head_bytes_max = 64 * kib;

// The payload of a frame. 64 MiB are a block of 16 million floats. A frame is not interrupted, so
// this is also the longest that a frame behind it in its lane can be held up: 54 ms at 10 Gbit/s.
inline constexpr std::size_t frame_payload_bytes_max = 64 * mib;

// What one lane to one peer may have under way, sent and not yet taken. 16 MiB keep 10 Gbit/s busy
// over a round trip of 13 ms. A lane with nothing under way takes one frame of any legal size, so
// at most max(16, 64 + head) MiB of payload are held per lane.
inline constexpr std::size_t lane_credit_bytes = 16 * mib;

// The same in frames, so that small ones are bounded too: 1,024 frames of one cache line are 64
// KiB.
inline constexpr std::size_t lane_credit_frames = 1024;

static_assert(lane_credit_bytes >= 16 * frame_head_bytes_max, "heads alone must not use up a lane");
static_assert(frame_payload_bytes_max <= UINT32_MAX, "lengths are 32 bits on the wire");

// ---- Documents (core/json.h, core/toml.h)

// Levels of arrays and objects. Ours use 6; a level takes about 200 bytes of stack in the recursive
// writer, so 64 levels are 13 KiB.
inline constexpr std::size_t json_depth_max = 64;

// ---- Names that people choose: options, jobs, tables, nodes, users

// 63 is the longest label of a host name and of a Kubernetes object; names end up in both.
inline constexpr std::size_t name_bytes_max = 63;

// A path: PATH_MAX of Linux.
inline constexpr std::size_t path_bytes_max = 4096;

}  // namespace castor::limits

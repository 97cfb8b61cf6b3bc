#include "world/sim/sim_transport.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "core/bytes.h"

// The protocol. Each end of a link names it by a number from SimNetwork::next_number(); a datagram
// says for which of the receiver's numbers it is, and from which of the sender's.
//
//   open      asks for a link; sent again until answered or given up
//   accept    answers
//   piece     one numbered piece of a frame in a lane
//   state     per lane: pieces received in order, frames and bytes consumed; also the sign of life
//   reset     "I know no link of that number"
//   close     goodbye
namespace castor::world::sim {
namespace {

enum class Kind : std::uint8_t { open, accept, piece, state, reset, close };

constexpr std::size_t pieces_again_max = 64;  // sent again at once, per lane

struct Piece {
  Lane lane = Lane::control;
  std::uint64_t number = 0;
  bool last = false;
  bool by_reference = false;
  std::uint16_t kind = 0;  // this and the next two: of the frame, in its first piece
  std::vector<std::byte> head = {};
  std::uint64_t payload_bytes = 0;
  std::uint32_t checksum = 0;  // of a payload by reference
  std::uint64_t offset = 0;    // into the payload; 0 = first piece
  std::vector<std::byte> bytes = {};
  Payload payload = {};

  void encode(ByteWriter& out) const {
    out.put(lane);
    out.put(number);
    out.put(last);
    out.put(by_reference);
    out.put(kind);
    out.put_array<std::byte>(head);
    out.put(payload_bytes);
    out.put(checksum);
    out.put(offset);
    out.put_array<std::byte>(bytes);
  }
  void decode(ByteReader& in) {
    lane = in.get<Lane>();
    number = in.get<std::uint64_t>();
    last = in.get<bool>();
    by_reference = in.get<bool>();
    kind = in.get<std::uint16_t>();
    head = in.get_array<std::byte>();
    payload_bytes = in.get<std::uint64_t>();
    checksum = in.get<std::uint32_t>();
    offset = in.get<std::uint64_t>();
    bytes = in.get_array<std::byte>();
  }
};

// What one end has sent in a lane.
struct Outgoing {
  struct Unacknowledged {
    Piece piece;
    Instant sent;
  };
  std::uint64_t next = 0;
  std::deque<Unacknowledged> pieces;
  LaneCredit credit;
  std::uint64_t frames_consumed = 0, bytes_consumed = 0;  // as the peer said
};

// What one end has received in a lane.
struct Incoming {
  std::uint64_t next = 0;
  std::map<std::uint64_t, Piece> early;
  std::uint64_t frames_consumed = 0, bytes_consumed = 0;
};

// A frame being put together in one lane; it outlives its link, because what has arrived is
// delivered.
struct Assembly {
  bool begun = false;
  bool closed = false;  // on this side, so that nothing more may be called back
  Piece first = {};
  std::span<std::byte> place = {};
  AlignedVector<std::byte> own = {};

  void put_at(std::span<std::byte> given) {
    if (given.empty()) {
      own = AlignedVector<std::byte>(first.payload_bytes);
      place = own.span();
    } else {
      CHECK(given.size() == first.payload_bytes, "{} bytes for {}", given.size(),
            first.payload_bytes);
      place = given;
    }
  }
  Payload take_payload() {
    if (!first.by_reference) return Payload(std::move(own));
    CHECK(crc32c(first.payload.bytes()) == first.checksum,
          "a payload was changed after it was sent");
    return first.payload;
  }
};

struct Link {
  std::uint64_t mine = 0, theirs = 0;  // theirs = 0: still connecting
  LinkEpoch epoch = 0;
  Instant opened, heard, sent;
  std::array<Outgoing, lane_count> out = {};
  std::array<Incoming, lane_count> in = {};

  bool is_up() const { return theirs != 0; }
};

enum class What : std::uint8_t { up, lost, may_send, piece };

struct Event {
  What what;
  WorkerId peer;
  std::uint64_t link;  // our number of it
  LinkEpoch epoch;
  Lane lane = Lane::control;
  Piece piece = {};
  std::optional<Error> reason = {};
};

class SimTransport final : public Transport {
 public:
  SimTransport(SimWorld& world, SimNetwork& network, WorkerId self,
               const SimTransportOptions& options)
      : world_(world), network_(network), self_(self), options_(options) {
    network_.attach(
        self_, [this](WorkerId from, const Datagram& datagram) { on_datagram(from, datagram); });
  }

  ~SimTransport() override {
    while (!links_.empty()) close(links_.begin()->first);
    world_.timers().cancel(timer_);
    network_.detach(self_);
  }

  WorkerId self() const override { return self_; }

  Status connect(WorkerId peer) override {
    if (peer == self_) return error(Code::invalid, "worker {} has no link to itself", self_);
    if (links_.contains(peer)) return {};
    if (unheard_.contains(peer)) {
      return error(Code::unavailable, "the last link to worker {} is still being given up", peer);
    }
    if (links_.size() >= limits::peers_max) {
      return error(Code::exhausted, "more than {} peers", limits::peers_max);
    }
    Link& link = new_link(peer);
    send_to(peer, link, Kind::open);
    return {};
  }

  void close(WorkerId peer) override {
    std::erase_if(inbox_, [peer](const Event& event) { return event.peer == peer; });
    unheard_.erase(peer);
    drop_assemblies(peer);
    const auto found = links_.find(peer);
    if (found == links_.end()) return;
    if (found->second.is_up()) send_to(peer, found->second, Kind::close);
    links_.erase(found);
  }

  Status send(WorkerId peer, Lane lane, Frame&& frame) override {
    TRY(check_size(frame));
    const auto found = links_.find(peer);
    if (found == links_.end() || !found->second.is_up()) {
      return error(Code::unavailable, "no link to worker {}", peer);
    }
    Outgoing& out = found->second.out[static_cast<std::size_t>(lane)];
    TRY(out.credit.take(frame.size(), options_.limits));
    for (Piece& piece : cut_up(lane, std::move(frame))) {
      piece.number = out.next++;
      out.pieces.push_back({.piece = std::move(piece), .sent = world_.now()});
      send_piece(peer, found->second, out.pieces.back().piece);
    }
    return {};
  }

  std::size_t receive(Receiver& receiver, std::size_t events_max) override {
    CHECK(!receiving_, "receive() inside receive()");
    receiving_ = true;
    std::size_t events = 0;
    for (; events < events_max && !inbox_.empty(); ++events) {
      Event event = std::move(inbox_.front());
      inbox_.pop_front();
      deliver(receiver, std::move(event));
    }
    receiving_ = false;
    return events;
  }

  void on_ready(std::function<void()> call) override {
    ready_ = std::move(call);
    if (ready_ && !inbox_.empty()) ready_();
  }

 private:
  Rng& rng() { return network_.simulation().rng(); }

  void push(Event event) {
    if (event.what == What::lost) ++unheard_[event.peer];
    inbox_.push_back(std::move(event));
    if (inbox_.size() == 1 && ready_) ready_();
  }

  // ---- Sending

  std::vector<Piece> cut_up(Lane lane, Frame frame) {
    std::vector<Piece> pieces(1);
    Piece& first = pieces.front();
    first.kind = frame.kind;
    first.head = std::move(frame.head);
    first.payload_bytes = frame.payload.size();
    const std::span<const std::byte> bytes = frame.payload.bytes();
    if (!bytes.empty() && rng().uniform() < options_.by_reference) {
      first.by_reference = true;
      first.checksum = crc32c(bytes);
      first.payload = std::move(frame.payload);
    } else if (!bytes.empty()) {
      std::size_t offset = 0;
      for (std::uint64_t left = 1 + rng().below(4); left > 0 && offset < bytes.size(); --left) {
        const std::size_t rest = bytes.size() - offset;
        const std::size_t size = left == 1 ? rest : 1 + rng().below(rest);
        if (offset > 0) pieces.emplace_back();
        const auto part = bytes.subspan(offset, size);
        pieces.back().offset = offset;
        pieces.back().bytes.assign(part.begin(), part.end());
        offset += size;
      }
    }
    for (Piece& piece : pieces) piece.lane = lane;
    pieces.back().last = true;
    return pieces;
  }

  void send_to(WorkerId peer, Link& link, Kind kind, const Piece* piece = nullptr) {
    ByteWriter out;
    out.put(kind);
    out.put(link.theirs);
    out.put(link.mine);
    if (piece != nullptr) piece->encode(out);
    if (kind == Kind::state) {
      for (const Incoming& in : link.in) {
        out.put(in.next);
        out.put(in.frames_consumed);
        out.put(in.bytes_consumed);
      }
    }
    link.sent = world_.now();
    network_.send(self_, peer,
                  {.bytes = out.take(), .payload = piece == nullptr ? Payload() : piece->payload});
  }

  void send_piece(WorkerId peer, Link& link, const Piece& piece) {
    send_to(peer, link, Kind::piece, &piece);
  }

  void send_reset(WorkerId peer, std::uint64_t unknown_to_us, std::uint64_t theirs) {
    ByteWriter out;
    out.put(Kind::reset);
    out.put(theirs);
    out.put(unknown_to_us);
    network_.send(self_, peer, {.bytes = out.take()});
  }

  // ---- Links

  Link& new_link(WorkerId peer) {
    Link& link = links_[peer];
    link.mine = network_.next_number();
    link.opened = link.heard = link.sent = world_.now();
    if (!ticking_) {
      ticking_ = true;
      timer_ = world_.timers().at(world_.now() + options_.retry_every, [this] { tick(); });
    }
    return link;
  }

  void bring_up(WorkerId peer, Link& link, std::uint64_t theirs) {
    link.theirs = theirs;
    newest_[peer] = std::max(newest_[peer], theirs);
    link.epoch = ++epochs_[peer];
    push({.what = What::up, .peer = peer, .link = link.mine, .epoch = link.epoch});
  }

  void lose(WorkerId peer, Error reason) {
    const auto found = links_.find(peer);
    if (found == links_.end()) return;
    push({.what = What::lost,
          .peer = peer,
          .link = found->second.mine,
          .epoch = found->second.epoch,
          .reason = std::move(reason)});
    links_.erase(found);
  }

  void tick() {
    std::vector<WorkerId> peers;
    for (const auto& [peer, link] : links_) peers.push_back(peer);
    for (const WorkerId peer : peers) tend(peer, links_.at(peer));
    ticking_ = !links_.empty();
    if (ticking_) {
      timer_ = world_.timers().at(world_.now() + options_.retry_every, [this] { tick(); });
    }
  }

  void tend(WorkerId peer, Link& link) {
    const Instant now = world_.now();
    if (!link.is_up()) {
      if (now - link.opened > options_.connect_for) {
        return lose(peer, error(Code::unavailable, "worker {} did not answer for {:.1f} s", peer,
                                (now - link.opened).seconds()));
      }
      return send_to(peer, link, Kind::open);
    }
    if (now - link.heard > options_.silence_max) {
      return lose(peer, error(Code::unavailable, "worker {} was last heard {:.1f} s ago", peer,
                              (now - link.heard).seconds()));
    }
    for (Outgoing& out : link.out) {
      std::size_t again = 0;
      for (Outgoing::Unacknowledged& waiting : out.pieces) {
        if (now - waiting.sent < options_.retry_every || again == pieces_again_max) break;
        waiting.sent = now;
        ++again;
        world_.mark("sim_transport.sent_again");
        send_piece(peer, link, waiting.piece);
      }
    }
    if (now - link.sent >= options_.ping_every) send_to(peer, link, Kind::state);
  }

  // ---- Receiving datagrams

  void on_datagram(WorkerId from, const Datagram& datagram) {
    ByteReader in(datagram.bytes);
    const auto kind = in.get<Kind>();
    const auto mine = in.get<std::uint64_t>(), theirs = in.get<std::uint64_t>();
    if (kind == Kind::open) return on_open(from, theirs);
    const auto found = links_.find(from);
    if (found == links_.end() || found->second.mine != mine) {
      if (kind != Kind::reset && kind != Kind::close) send_reset(from, mine, theirs);
      return;
    }
    Link& link = found->second;
    if (kind == Kind::reset) {
      return lose(from, error(Code::unavailable, "worker {} does not know this link", from));
    }
    if (kind == Kind::close) {
      return lose(from, error(Code::cancelled, "worker {} closed the link", from));
    }
    if (!link.is_up()) bring_up(from, link, theirs);
    link.heard = world_.now();
    if (kind == Kind::piece) on_piece(from, link, in, datagram.payload);
    if (kind == Kind::state) on_state(from, link, in);
  }

  void on_open(WorkerId from, std::uint64_t theirs) {
    const auto found = links_.find(from);
    if (found != links_.end() && found->second.theirs == theirs) {  // our answer was lost
      return send_to(from, found->second, Kind::accept);
    }
    if (theirs <= newest_[from]) {  // from long ago
      world_.mark("sim_transport.stale_open");
      return send_reset(from, 0, theirs);
    }
    if (found != links_.end() && found->second.is_up()) {
      world_.mark("sim_transport.started_over");
      return lose(from, error(Code::unavailable, "worker {} started over", from));
    }
    if (unheard_.contains(from)) return;  // it will ask again
    if (found == links_.end() && links_.size() >= limits::peers_max) return;
    Link& link = found == links_.end() ? new_link(from) : found->second;
    bring_up(from, link, theirs);
    send_to(from, link, Kind::accept);
  }

  void on_piece(WorkerId from, Link& link, ByteReader& in, const Payload& payload) {
    Piece piece;
    piece.decode(in);
    CHECK(in.finish("a piece").has_value());
    piece.payload = payload;
    const Lane lane = piece.lane;
    Incoming& incoming = link.in[static_cast<std::size_t>(lane)];
    if (piece.number < incoming.next) {
      world_.mark("sim_transport.repeated_piece");
    } else {
      if (piece.number > incoming.next) world_.mark("sim_transport.early_piece");
      incoming.early.emplace(piece.number, std::move(piece));
    }
    while (!incoming.early.empty() && incoming.early.begin()->first == incoming.next) {
      ++incoming.next;
      push({.what = What::piece,
            .peer = from,
            .link = link.mine,
            .epoch = link.epoch,
            .lane = lane,
            .piece = std::move(incoming.early.begin()->second)});
      incoming.early.erase(incoming.early.begin());
    }
    send_to(from, link, Kind::state);
  }

  void on_state(WorkerId from, Link& link, ByteReader& in) {
    for (const Lane lane : all_lanes) {
      Outgoing& out = link.out[static_cast<std::size_t>(lane)];
      const auto received = in.get<std::uint64_t>();
      const auto frames = in.get<std::uint64_t>(), bytes = in.get<std::uint64_t>();
      while (!out.pieces.empty() && out.pieces.front().piece.number < received) {
        out.pieces.pop_front();
      }
      if (frames <= out.frames_consumed) continue;  // nothing new, or an old datagram
      const bool told = out.credit.give_back(frames - out.frames_consumed,
                                             bytes - out.bytes_consumed, options_.limits);
      out.frames_consumed = frames;
      out.bytes_consumed = bytes;
      if (told) {
        push({.what = What::may_send,
              .peer = from,
              .link = link.mine,
              .epoch = link.epoch,
              .lane = lane});
      }
    }
  }

  // ---- Calling the receiver

  void deliver(Receiver& receiver, Event event) {
    switch (event.what) {
      case What::up: return receiver.peer_up(event.peer, event.epoch);
      case What::may_send: return receiver.may_send(event.peer, event.lane);
      case What::lost:
        if (--unheard_[event.peer] == 0) unheard_.erase(event.peer);
        drop_assemblies(event.peer);
        return receiver.peer_lost(event.peer, event.epoch, *event.reason);
      case What::piece: break;
    }
    const WorkerId peer = event.peer;
    const std::uint64_t number = event.link;
    Status status = deliver_piece(receiver, std::move(event));
    if (status) return;
    std::erase_if(inbox_, [&](const Event& e) {
      return e.link == number && (e.what == What::piece || e.what == What::may_send);
    });
    if (Link* link = live(peer, number)) {
      send_to(peer, *link, Kind::close);
      lose(peer, std::move(status).error());
    }
  }

  // The link, unless it has been lost or closed.
  Link* live(WorkerId peer, std::uint64_t number) {
    const auto found = links_.find(peer);
    return found == links_.end() || found->second.mine != number ? nullptr : &found->second;
  }

  Status deliver_piece(Receiver& receiver, Event event) {
    const WorkerId peer = event.peer;
    // Held here, because a callback may close the link.
    const std::shared_ptr<Assembly> frame = assembly(peer, event.lane);
    const bool begins = !frame->begun;
    if (begins) {
      frame->begun = true;
      frame->first = event.piece;
    }
    const Piece& first = frame->first;
    const FrameHead head{.peer = peer,
                         .epoch = event.epoch,
                         .lane = event.lane,
                         .kind = first.kind,
                         .head = first.head,
                         .payload_bytes = first.payload_bytes};
    if (begins && first.payload_bytes > 0 && !first.by_reference) {
      Result<std::span<std::byte>> place = receiver.begin_frame(head);
      if (frame->closed) return {};
      TRY(place);
      frame->put_at(*place);
    }
    if (!event.piece.bytes.empty()) {
      std::memcpy(frame->place.data() + event.piece.offset, event.piece.bytes.data(),
                  event.piece.bytes.size());
    }
    if (!event.piece.last) return {};
    assemblies_[peer][static_cast<std::size_t>(event.lane)] = nullptr;
    TRY(receiver.end_frame(head, frame->take_payload()));
    Link* link = frame->closed ? nullptr : live(peer, event.link);
    if (link == nullptr) return {};
    Incoming& in = link->in[static_cast<std::size_t>(event.lane)];
    ++in.frames_consumed;
    in.bytes_consumed += first.head.size() + first.payload_bytes;
    send_to(peer, *link, Kind::state);
    return {};
  }

  std::shared_ptr<Assembly> assembly(WorkerId peer, Lane lane) {
    std::shared_ptr<Assembly>& slot = assemblies_[peer][static_cast<std::size_t>(lane)];
    if (slot == nullptr) slot = std::make_shared<Assembly>();
    return slot;
  }
  void drop_assemblies(WorkerId peer) {
    const auto found = assemblies_.find(peer);
    if (found == assemblies_.end()) return;
    for (const auto& frame : found->second) {
      if (frame != nullptr) frame->closed = true;
    }
    assemblies_.erase(found);
  }

  SimWorld& world_;
  SimNetwork& network_;
  const WorkerId self_;
  const SimTransportOptions options_;
  std::map<WorkerId, Link> links_;
  std::map<WorkerId, LinkEpoch> epochs_;
  std::map<WorkerId, std::uint64_t> newest_;  // of the peer's numbers of links
  std::map<WorkerId, unsigned> unheard_;      // peer_lost still in the inbox
  std::map<WorkerId, std::array<std::shared_ptr<Assembly>, lane_count>> assemblies_;
  std::deque<Event> inbox_;
  std::function<void()> ready_;
  Timers::Id timer_ = 0;
  bool ticking_ = false, receiving_ = false;
};

}  // namespace

std::unique_ptr<Transport> sim_transport(SimWorld& world, SimNetwork& network, WorkerId self,
                                         const SimTransportOptions& options) {
  return std::make_unique<SimTransport>(world, network, self, options);
}

}  // namespace castor::world::sim

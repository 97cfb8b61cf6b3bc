#include "world/local_transport.h"

#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "core/mutex.h"

namespace castor::world {
namespace {

enum class What : std::uint8_t { up, lost, may_send, frame };

struct Event {
  What what;
  WorkerId peer;
  std::uint64_t link;  // number within the network, the same at both ends
  LinkEpoch epoch;
  Lane lane = Lane::control;
  Frame frame = {};
  std::optional<Error> reason = {};
};

// One end of a link.
struct End {
  std::uint64_t link = 0;
  LinkEpoch epoch = 0;
  std::array<LaneCredit, lane_count> credit = {};  // of what this end sends
};

struct Endpoint {
  TransportOptions options;
  std::function<void()> ready = {};
  std::deque<Event> inbox = {};
  std::map<WorkerId, End> ends = {};
  std::map<WorkerId, LinkEpoch> epochs = {};  // of the last link to each peer
  std::map<WorkerId, unsigned> unheard = {};  // peer_lost events still in the inbox

  End* end_of(WorkerId peer) {
    const auto found = ends.find(peer);
    return found == ends.end() ? nullptr : &found->second;
  }

  // `ready` runs under the network's mutex, so that it is never called after its transport is gone;
  // by contract it only wakes a loop.
  void push(Event event) {
    const bool was_empty = inbox.empty();
    if (event.what == What::lost) ++unheard[event.peer];
    inbox.push_back(std::move(event));
    if (was_empty && ready) ready();
  }

  void forget_peer(WorkerId peer) {
    std::erase_if(inbox, [peer](const Event& event) { return event.peer == peer; });
    unheard.erase(peer);
  }
  void forget_frames(std::uint64_t link) {
    std::erase_if(inbox, [link](const Event& event) {
      return event.link == link && event.what == What::frame;
    });
  }
  void forget(std::uint64_t link) {
    std::erase_if(inbox, [link](const Event& event) { return event.link == link; });
  }
};

}  // namespace

struct LocalNetwork::State {
  Mutex mutex;
  std::map<WorkerId, Endpoint> endpoints GUARDED_BY(mutex);
  std::uint64_t links GUARDED_BY(mutex) = 0;

  Endpoint* find(WorkerId worker) REQUIRES_LOCK(mutex) {
    const auto found = endpoints.find(worker);
    return found == endpoints.end() ? nullptr : &found->second;
  }

  // True while peer_lost of the last link waits in the inbox of either.
  bool is_unheard(WorkerId a, WorkerId b) REQUIRES_LOCK(mutex) {
    for (const auto& [at, of] : {std::pair(a, b), std::pair(b, a)}) {
      Endpoint* endpoint = find(at);
      if (endpoint != nullptr && endpoint->unheard.contains(of)) return true;
    }
    return false;
  }

  // Ends the link from the side of `self`: what waits there is dropped, and `mine` reported if
  // given; the peer first takes what waits, then hears `theirs`.
  void end_link(WorkerId self, WorkerId peer, std::optional<Error> mine, Error theirs)
      REQUIRES_LOCK(mutex) {
    Endpoint& here = endpoints.at(self);
    const End* end = here.end_of(peer);
    if (end == nullptr) return;
    const std::uint64_t link = end->link;
    here.forget(link);
    if (mine) {
      here.push({.what = What::lost,
                 .peer = peer,
                 .link = link,
                 .epoch = end->epoch,
                 .reason = std::move(mine)});
    }
    here.ends.erase(peer);
    Endpoint& there = endpoints.at(peer);
    there.push({.what = What::lost,
                .peer = self,
                .link = link,
                .epoch = there.ends.at(self).epoch,
                .reason = std::move(theirs)});
    there.ends.erase(self);
  }
};

namespace {

class LocalTransport final : public Transport {
 public:
  using State = LocalNetwork::State;

  LocalTransport(std::shared_ptr<State> state, WorkerId self)
      : state_(std::move(state)), self_(self) {}

  ~LocalTransport() override {
    const MutexLock lock(state_->mutex);
    Endpoint& here = state_->endpoints.at(self_);
    while (!here.ends.empty()) {
      state_->end_link(self_, here.ends.begin()->first, {}, left());
    }
    state_->endpoints.erase(self_);
  }

  WorkerId self() const override { return self_; }

  Status connect(WorkerId peer) override {
    if (peer == self_) return error(Code::invalid, "worker {} has no link to itself", self_);
    const MutexLock lock(state_->mutex);
    Endpoint& here = state_->endpoints.at(self_);
    if (here.end_of(peer) != nullptr) return {};
    if (state_->is_unheard(self_, peer)) {
      return error(Code::unavailable, "the last link to worker {} is still being given up", peer);
    }
    Endpoint* there = state_->find(peer);
    if (there == nullptr) {
      here.push({.what = What::lost,
                 .peer = peer,
                 .link = 0,
                 .epoch = 0,
                 .reason = error(Code::unavailable, "worker {} is not in this process", peer)});
      return {};
    }
    if (here.ends.size() >= limits::peers_max || there->ends.size() >= limits::peers_max) {
      return error(Code::exhausted, "more than {} peers", limits::peers_max);
    }
    const std::uint64_t link = ++state_->links;
    open_end(here, peer, link);
    open_end(*there, self_, link);
    return {};
  }

  void close(WorkerId peer) override {
    const MutexLock lock(state_->mutex);
    state_->endpoints.at(self_).forget_peer(peer);
    state_->end_link(self_, peer, {}, left());
  }

  Status send(WorkerId peer, Lane lane, Frame&& frame) override {
    TRY(check_size(frame));
    const MutexLock lock(state_->mutex);
    Endpoint& here = state_->endpoints.at(self_);
    End* end = here.end_of(peer);
    if (end == nullptr) return error(Code::unavailable, "no link to worker {}", peer);
    TRY(end->credit[static_cast<std::size_t>(lane)].take(frame.size(), here.options));
    Endpoint& there = state_->endpoints.at(peer);
    there.push({.what = What::frame,
                .peer = self_,
                .link = end->link,
                .epoch = there.ends.at(self_).epoch,
                .lane = lane,
                .frame = std::move(frame)});
    return {};
  }

  std::size_t receive(Receiver& receiver, std::size_t events_max) override {
    CHECK(!receiving_, "receive() inside receive()");
    receiving_ = true;
    std::size_t events = 0;
    for (; events < events_max; ++events) {
      std::optional<Event> event = next();
      if (!event) break;
      deliver(receiver, std::move(*event));
    }
    receiving_ = false;
    return events;
  }

  void on_ready(std::function<void()> call) override {
    const MutexLock lock(state_->mutex);
    Endpoint& here = state_->endpoints.at(self_);
    here.ready = std::move(call);
    if (here.ready && !here.inbox.empty()) here.ready();
  }

 private:
  Error left() const { return error(Code::cancelled, "worker {} closed the link", self_); }

  static void open_end(Endpoint& at, WorkerId peer, std::uint64_t link) {
    const LinkEpoch epoch = ++at.epochs[peer];
    at.ends[peer] = End{.link = link, .epoch = epoch};
    at.push({.what = What::up, .peer = peer, .link = link, .epoch = epoch});
  }

  std::optional<Event> next() {
    const MutexLock lock(state_->mutex);
    Endpoint& here = state_->endpoints.at(self_);
    if (here.inbox.empty()) return {};
    Event event = std::move(here.inbox.front());
    here.inbox.pop_front();
    if (event.what == What::lost && --here.unheard[event.peer] == 0) {
      here.unheard.erase(event.peer);
    }
    return event;
  }

  void deliver(Receiver& receiver, Event event) {
    switch (event.what) {
      case What::up: return receiver.peer_up(event.peer, event.epoch);
      case What::lost: return receiver.peer_lost(event.peer, event.epoch, *event.reason);
      case What::may_send: return receiver.may_send(event.peer, event.lane);
      case What::frame: break;
    }
    const std::size_t bytes = event.frame.size();
    const FrameHead head{.peer = event.peer,
                         .epoch = event.epoch,
                         .lane = event.lane,
                         .kind = event.frame.kind,
                         .head = event.frame.head,
                         .payload_bytes = event.frame.payload.size()};
    Status taken = receiver.end_frame(head, std::move(event.frame.payload));
    const MutexLock lock(state_->mutex);
    End* mine = state_->endpoints.at(self_).end_of(event.peer);
    if (mine == nullptr || mine->link != event.link) {  // lost or closed in the meantime
      if (!taken) state_->endpoints.at(self_).forget_frames(event.link);
      return;
    }
    if (!taken) {
      Error theirs =
          error(Code::corrupt, "worker {} refused a frame: {}", self_, taken.error().message());
      state_->end_link(self_, event.peer, std::move(taken).error(), std::move(theirs));
      return;
    }
    Endpoint& there = state_->endpoints.at(event.peer);
    End& sender = there.ends.at(self_);
    if (sender.credit[static_cast<std::size_t>(event.lane)].give_back(1, bytes, there.options)) {
      there.push({.what = What::may_send,
                  .peer = self_,
                  .link = event.link,
                  .epoch = sender.epoch,
                  .lane = event.lane});
    }
  }

  const std::shared_ptr<State> state_;
  const WorkerId self_;
  bool receiving_ = false;
};

}  // namespace

LocalNetwork::LocalNetwork() : state_(std::make_shared<State>()) {}
LocalNetwork::~LocalNetwork() = default;

Result<std::unique_ptr<Transport>> LocalNetwork::open(WorkerId self,
                                                      const TransportOptions& options) {
  {
    const MutexLock lock(state_->mutex);
    if (!state_->endpoints.try_emplace(self, Endpoint{.options = options}).second) {
      return error(Code::exists, "worker {} already has a transport", self);
    }
  }
  return std::unique_ptr<Transport>(std::make_unique<LocalTransport>(state_, self));
}

}  // namespace castor::world

#include "muster/drivers/zmq/station.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fcntl.h>
#include <sys/epoll.h>
#include <zmq.h>

#include "muster/net/socket_address.h"

namespace muster::drivers::zmq {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Messages before others get their turn.
constexpr int kEventsInARow = 64;
// A suspect is looked for after 1, 2, 4, ... milliseconds, this often.
constexpr int kLooks = 8;
constexpr std::size_t kMostLosses = 256;
constexpr auto kRetry = milliseconds(10);

// The connection's end of its station.
class StationLine final : public Line {
 public:
  StationLine(std::shared_ptr<Station> station, std::string caller)
      : station_(std::move(station)), caller_(std::move(caller)) {}
  ~StationLine() override { StationLine::leave(); }

  Sent send(Packet& packet) override { return station_->send(caller_, packet); }
  void settle() override { station_->settle(); }
  void leave() override {
    if (const auto station = std::exchange(station_, nullptr)) station->leave(caller_);
  }

 private:
  std::shared_ptr<Station> station_;
  std::string caller_;
};

std::span<const std::byte> bytes_of(const std::string& id) { return std::as_bytes(std::span(id)); }

}  // namespace

Result<std::shared_ptr<Station>> Station::open(ZmqShared& shared, int listening,
                                               const std::optional<StationKeys>& keys,
                                               std::string name, Accept accept) {
  auto made = std::make_shared<Station>(Private(), shared, std::move(name), std::move(accept));
  MUSTER_TRY_OK(made->start(listening, keys));
  return made;
}

Station::Station(Private, ZmqShared& shared, std::string name, Accept accept)
    : shared_(shared),
      name_(std::move(name)),
      accept_(std::move(accept)),
      socket_(shared.context.get(), ZMQ_ROUTER),
      probe_([this] {
        const auto self = shared_from_this();
        const bool is_read = pump();
        if (watching_ >= 0) look_for_suspects(true, is_read);
        settle();
      }),
      retry_([this] {
        const auto self = shared_from_this();
        pump();
      }) {}

Station::~Station() { close(); }

Status Station::start(int listening, const std::optional<StationKeys>& keys) {
  if (!socket_.is_open()) return Error(Code::overloaded, zmq_strerror(zmq_errno()));
  shared_.prepare(socket_);
  socket_.set(ZMQ_ROUTER_MANDATORY, 1);
  if (keys) {
    // First: where nobody is asked, libzmq lets in whoever has a key at all.
    MUSTER_TRY_OK(shared_.keep_doors());
    socket_.set(ZMQ_CURVE_SERVER, 1);
    socket_.set(ZMQ_CURVE_SECRETKEY, keys->secret);
    socket_.set(ZMQ_ZAP_DOMAIN, bytes_of(keys->domain));
  }
  monitor_ = shared_.watch(socket_, [this](const Happening& it) { on_happening(it); });
  MUSTER_TRY_OK(monitor_->start());
  const int descriptor = socket_.descriptor();
  MUSTER_TRY_OK(shared_.loop.watch(descriptor, EPOLLIN, *this));
  watching_ = descriptor;
  const int copy = fcntl(listening, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return system_error(Code::overloaded, "copy a descriptor", errno);
  socket_.set(ZMQ_USE_FD, copy);
  MUSTER_TRY_OK(socket_.bind("tcp://127.0.0.1:0"));  // Where, the descriptor says.
  bound_ = socket_.endpoint();
  return ok();
}

void Station::stop_listening() {
  const auto self = shared_from_this();
  accept_.reset();
  close_if_unused();
}

void Station::stop() {
  const auto self = shared_from_this();
  accept_.reset();
  while (!callers_.empty()) lose(std::string(callers_.begin()->first));
  close();
}

// Of one who is gone, what it has sent is still to be read; then it is looked for.
Sent Station::send(const std::string& caller, Packet& packet) {
  const Sent sent = try_to_send(caller, packet);
  if (sent != Sent::gone) return sent;
  suspect(caller);
  return Sent::full;
}

Sent Station::try_to_send(const std::string& caller, Packet& packet) {
  const Sent sent = socket_.send(packet, bytes_of(caller));
  if (sent == Sent::full) {
    blocked_.push_back(caller);
    if (blocked_.size() == 1) shared_.loop.start(retry_, shared_.loop.now() + kRetry);
  }
  return sent;
}

// Whatever asks libzmq anything may take the news that the descriptor tells of.
void Station::settle() {
  if (is_settling_ || watching_ < 0) return;
  const auto self = shared_from_this();  // The last connection may end in here.
  is_settling_ = true;
  write_blocked();
  is_settling_ = false;
  if (watching_ >= 0 && socket_.readiness().to_read) shared_.loop.flush_soon(*this);
}

void Station::leave(const std::string& caller) {
  const auto found = callers_.find(caller);
  if (found == callers_.end()) return;
  found->second.connection = nullptr;
  --live_;
  send_away(caller);
  settle();
  close_if_unused();
}

// Asks a caller to hang up, now or when there is room to say so.
void Station::send_away(const std::string& id) {
  Packet goodbye = make_packet(PacketKind::goodbye);
  const Sent sent = try_to_send(id, goodbye);
  const auto found = callers_.find(id);
  if (found == callers_.end()) return;
  found->second.owes_goodbye = sent == Sent::full;
  if (sent == Sent::gone) callers_.erase(found);
}

void Station::close_if_unused() {
  if (!accept_ && live_ == 0) close();
}

// Who was asked to go, and has not gone, sees the end of it now.
void Station::close() {
  if (watching_ < 0) return;
  shared_.loop.stop(probe_);
  shared_.loop.stop(retry_);
  shared_.loop.forget(*this);
  shared_.loop.unwatch(std::exchange(watching_, -1));
  callers_.clear();
  suspects_.clear();
  if (!bound_.empty()) {
    // libzmq closes what it accepted together with what it listens on.
    zmq_unbind(socket_.get(), bound_.c_str());
    monitor_->wait_until_closed(seconds(1));
  }
  monitor_.reset();
  socket_.close(kLingerMs);
}

bool Station::pump() {
  const auto self = shared_from_this();
  if (watching_ < 0) return true;
  const bool is_empty = read_some();
  if (watching_ < 0) return true;
  const bool will_send = !blocked_.empty() || !suspects_.empty();
  write_blocked();
  if (watching_ < 0) return true;
  look_for_suspects(false, is_empty);
  if (watching_ < 0) return true;
  if (!is_empty) {
    shared_.loop.flush_soon(*this);
  } else if (will_send) {
    settle();
  }
  return is_empty;
}

// True if there is no more.
bool Station::read_some() {
  for (int i = 0; i < kEventsInARow && watching_ >= 0; ++i) {
    if (!socket_.receive(parts_)) return true;
    ++reads_;
    take(parts_);
  }
  return false;
}

void Station::take(std::vector<Message>& parts) {
  if (parts.size() < 2) return;
  const auto bytes = parts[0].bytes();
  const std::string id(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto found = callers_.find(id);
  if (found == callers_.end()) return let_in(id, parts[1]);
  if (ZmqConnection* const connection = found->second.connection) {
    connection->take(std::span(parts).subspan(1));
  }
}

void Station::let_in(const std::string& id, const Message& hello) {
  const Accept accept = accept_;
  if (!accept) return send_away(id);
  if (!is_hello(hello.bytes())) {
    shared_.warn("stranger refused", "at " + name_ + "  why it does not say hello");
    return send_away(id);
  }
  const int descriptor = hello.descriptor();
  newcomers_.erase(descriptor);
  const auto address = net::SocketAddress::parse(hello.origin(), 0);
  const bool is_here = address && address->is_loopback();
  auto connection =
      std::make_unique<ZmqConnection>(shared_, net::Peer{"zmq://" + hello.origin(), is_here, 0});
  ZmqConnection& kept = *connection;
  kept.use(std::make_unique<StationLine>(shared_from_this(), id));
  callers_[id] = {descriptor, &kept, false};
  ++live_;
  const TimePoint old = shared_.loop.now() - seconds(1);
  std::erase_if(losses_, [&](const Loss& loss) { return loss.at < old; });
  if (std::ranges::find(losses_, descriptor, &Loss::descriptor) != losses_.end()) {
    suspect_all_at(descriptor);
  }
  kept.set_sink((*accept)(std::move(connection)));
  kept.stand();
}

void Station::write_blocked() {
  if (blocked_.empty()) return;
  for (const std::string& id : std::exchange(blocked_, {})) {
    const auto found = callers_.find(id);
    if (found == callers_.end()) continue;
    if (found->second.connection != nullptr) {
      found->second.connection->on_writable();
    } else if (found->second.owes_goodbye) {
      send_away(id);
    }
    if (watching_ < 0) return;
  }
  if (!blocked_.empty()) shared_.loop.start(retry_, shared_.loop.now() + kRetry);
}

void Station::on_happening(const Happening& happening) {
  switch (happening.kind) {
    case Happening::Kind::accepted: newcomers_.insert(happening.descriptor); return;
    case Happening::Kind::refused: refusal_ = happening.why; return;
    case Happening::Kind::lost: return on_lost(happening.descriptor);
    case Happening::Kind::proved:
    case Happening::Kind::closed: return;
  }
}

void Station::on_lost(int descriptor) {
  const std::string why = std::exchange(refusal_, {});
  if (newcomers_.erase(descriptor) > 0) {
    // libzmq does not say why it turns away who does not speak its protocol at all.
    const std::string_view guess = "it left without a hello, or does not speak as members do";
    shared_.warn("stranger refused",
                 "at " + name_ + "  why " + (why.empty() ? std::string(guess) : why));
  }
  losses_.push_back({descriptor, shared_.loop.now()});
  if (losses_.size() > kMostLosses) losses_.pop_front();
  suspect_all_at(descriptor);
}

void Station::suspect_all_at(int descriptor) {
  for (const auto& [id, caller] : callers_) {
    if (caller.descriptor == descriptor) suspect(id);
  }
}

// First all that it has sent is read: libzmq holds so many messages of each, and gives
// them out in turn.
void Station::suspect(const std::string& id) {
  suspects_.push_back({id, 0, reads_ + (kMostHeld + 1) * callers_.size()});
  shared_.loop.flush_soon(*this);
}

void Station::look_for_suspects(bool all, bool is_read) {
  if (suspects_.empty()) return;
  std::vector<Suspect> rest;
  int least = kLooks;
  for (Suspect& suspect : std::exchange(suspects_, {})) {
    const bool is_heard = is_read || reads_ >= suspect.heard_at;
    if (!is_heard || (!all && suspect.times > 0)) {
      least = std::min(least, suspect.times);
      rest.push_back(std::move(suspect));
      continue;
    }
    Packet probe = make_packet(PacketKind::probe);
    if (socket_.send(probe, bytes_of(suspect.caller)) == Sent::gone) {
      lose(suspect.caller);
      if (watching_ < 0) return;
    } else if (suspect.times < kLooks) {
      least = std::min(least, suspect.times++);
      rest.push_back(std::move(suspect));
    }
  }
  suspects_.insert(suspects_.end(), rest.begin(), rest.end());
  if (suspects_.empty()) return;
  shared_.loop.start(probe_, shared_.loop.now() + milliseconds(1 << least));
}

void Station::lose(const std::string& id) {
  const auto found = callers_.find(id);
  if (found == callers_.end()) return;
  ZmqConnection* const connection = found->second.connection;
  callers_.erase(found);
  if (connection == nullptr) return;
  --live_;
  connection->end(Error(Code::unavailable, "connection closed by peer"));
  close_if_unused();
}

}  // namespace muster::drivers::zmq

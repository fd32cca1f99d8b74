#include "muster/drivers/shm/shm_connection.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/base/crash_point.h"

namespace muster::drivers::shm {
namespace {

constexpr std::size_t kRingMemory = kRingHeaderSize + kRingCapacity;
// At a ring whose writer has gone: more than it can hold.
constexpr int kLastLooks = 1024;

RingHeader& header_of(const Memory& memory) {
  return *std::launder(reinterpret_cast<RingHeader*>(memory.data()));
}

DirectCell& cell_of(const Memory& memory, std::uint32_t index) {
  static_assert(kDirectCellsOffset + kDirectCells * sizeof(DirectCell) <= kRingHeaderSize);
  return *std::launder(reinterpret_cast<DirectCell*>(memory.data() + kDirectCellsOffset) + index);
}

// Tells the peer, when it goes, that nothing of the peer's memory is held here any more.
class Lifeline {
 public:
  explicit Lifeline(std::shared_ptr<const Descriptor> socket) : socket_(std::move(socket)) {}
  ~Lifeline() {
    // What a forked child lets go its parent may still hold.
    if (getpid() == process_) shutdown(socket_->get(), SHUT_WR);
  }
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

 private:
  std::shared_ptr<const Descriptor> socket_;
  const pid_t process_ = getpid();
};

}  // namespace

ShmConnection::ShmConnection(ShmHub& hub, Descriptor socket, const Credentials& peer)
    : hub_(hub),
      socket_(std::move(socket)),
      credentials_(peer),
      gathering_(hub.loop(), *this, &ShmConnection::write_gathered, Batch::kCapacity) {
  for (std::uint32_t cell = kDirectCells; cell > 0; --cell) free_cells_.push_back(cell - 1);
  releases_ = std::make_shared<arena::ReleaseQueue>([this] {
    // Closed before this object goes, so `this` is there whenever this runs.
    hub_.loop().post([this, alive = std::weak_ptr(alive_)] {
      if (!alive.expired() && !has_ended_) send_releases();
    });
  });
}

Result<std::unique_ptr<ShmConnection>> ShmConnection::start(ShmHub& hub, Descriptor socket,
                                                            const Credentials& peer,
                                                            net::Sink& sink) {
  std::unique_ptr<ShmConnection> made(new ShmConnection(hub, std::move(socket), peer));
  MUSTER_TRY_OK(made->open_own_ring());
  MUSTER_TRY_OK(made->say_hello(0));
  made->set_sink(sink);
  return made;
}

Result<std::unique_ptr<ShmConnection>> ShmConnection::answer(ShmHub& hub, Descriptor socket,
                                                             const Credentials& peer,
                                                             ReceivedMessage hello) {
  std::unique_ptr<ShmConnection> made(new ShmConnection(hub, std::move(socket), peer));
  MUSTER_TRY_OK(made->open_own_ring());
  MUSTER_TRY_OK(made->take_hello(std::move(hello)));
  MUSTER_TRY_OK(made->say_hello(made->abilities_));
  return made;
}

Status ShmConnection::open_own_ring() {
  MUSTER_TRY(slot_, hub_.enrol(*this));
  is_enrolled_ = true;
  MUSTER_TRY(own_, Memory::create("muster-ring", kRingMemory));
  writer_.emplace(header_of(own_.first), own_.first.data() + kRingHeaderSize);
  return ok();
}

Status ShmConnection::say_hello(std::uint32_t abilities) {
  Setup setup;
  setup.slot = slot_;
  setup.abilities = abilities;
  if (hub_.options().use_process_vm) {
    setup.probe = reinterpret_cast<std::uint64_t>(&hub_.probe());
    setup.secret = hub_.probe().secret;
  }
  MUSTER_CRASH_POINT();
  MUSTER_TRY_OK(
      send_message(socket_.get(), &setup, sizeof setup,
                   {own_.second.get(), hub_.door().descriptor(), hub_.loop().wake_descriptor()}));
  own_.second = Descriptor();
  is_introduced_ = true;
  MUSTER_CRASH_POINT();
  return ok();
}

Status ShmConnection::take_hello(ReceivedMessage hello) {
  Setup setup;
  if (hello.size != sizeof setup) return Error(Code::invalid, "not a muster set-up message");
  std::memcpy(&setup, hello.bytes.data(), sizeof setup);
  if (setup.magic != kSetupMagic) return Error(Code::invalid, "not a muster set-up message");
  if (setup.version != kSetupVersion) {
    return Error(Code::unsupported, "the peer speaks version " + std::to_string(setup.version) +
                                        " of the shared-memory set-up, this side version " +
                                        std::to_string(kSetupVersion));
  }
  auto& [ring, door, wake, none] = hello.descriptors;
  if (!ring || !door || !wake || none) {
    return Error(Code::invalid, "a set-up message without its descriptors");
  }
  MUSTER_TRY(theirs_, Memory::open(ring, kRingMemory));
  MUSTER_TRY(door_, PeerDoor::open(door.release(), wake.release(), setup.slot));
  reader_.emplace(header_of(theirs_), theirs_.data() + kRingHeaderSize);
  peer_abilities_ = setup.abilities;
  if (hub_.options().use_process_vm) abilities_ = try_abilities(credentials_.pid, setup);
  return ok();
}

void ShmConnection::set_sink(net::Sink& sink) {
  sink_ = &sink;
  const Status watched = hub_.loop().watch(socket_.get(), EPOLLIN | EPOLLRDHUP, *this);
  if (!watched) {
    fail(watched.error());
    return;
  }
  is_watched_ = true;
  // What the peer wrote before it knew our door was not announced.
  if (reader_) hub_.make_hot(*this);
  if (reader_) reader_->has_more();
}

ShmConnection::~ShmConnection() {
  let_go();
  if (is_enrolled_) hub_.dismiss(*this, slot_);
  hub_.loop().forget(*this);
}

// Ends all that the peer or another thread could still reach.
void ShmConnection::let_go() {
  if (is_watched_) hub_.loop().unwatch(socket_.get());
  is_watched_ = false;
  for (Offer& offer : offers_) offer.copy.withdraw();
  offers_.clear();
  gathering_.stop();
  std::vector<WritableBuffer> endangered;
  for (Incoming& incoming : incoming_) {
    for (Incoming::Fetch& fetch : incoming.fetches) {
      if (fetch.copy.abandon()) endangered.push_back(std::move(fetch.target));
    }
  }
  incoming_.clear();
  if (releases_) part_from_peer(std::move(endangered));
}

// Each side may hold bodies that lie in the other's memory, which must not be used
// again before they are let go, though the link has ended.
void ShmConnection::part_from_peer(std::vector<WritableBuffer> endangered) {
  const std::shared_ptr<arena::ReleaseQueue> releases = std::exchange(releases_, nullptr);
  releases->close();
  auto socket = std::make_shared<const Descriptor>(std::move(socket_));
  const SegmentNotice farewell{kSetupMagic, kFarewell, 0};
  Status told = Error(Code::unavailable, "the peer has not heard of this side");
  if (is_introduced_) told = send_message(socket->get(), &farewell, sizeof farewell, {});
  if (!told && told.error().code() != Code::overloaded) return holdings_.clear();
  // It must hear of the end, be it without knowing what is still held here.
  if (!told) shutdown(socket->get(), SHUT_WR);
  releases->keep(std::make_shared<const Lifeline>(socket));
  if (endangered.empty() && holdings_.count() == 0) return;
  hub_.bury({credentials_.pid, std::move(socket), std::move(endangered), std::move(holdings_)});
}

DirectCell& ShmConnection::own_cell(std::uint32_t index) const {
  return cell_of(own_.first, index);
}
DirectCell& ShmConnection::peer_cell(std::uint32_t index) const { return cell_of(theirs_, index); }

net::Peer ShmConnection::peer() const {
  return {"shm://pid/" + std::to_string(credentials_.pid), true, credentials_.pid};
}

void ShmConnection::close() {
  if (!has_ended_) fail(Error(Code::cancelled, "closed by this side"));
}

// Tells the sink later, from flush(): never from inside its own call.
void ShmConnection::fail(Error why) {
  if (has_ended_) return;
  has_ended_ = true;
  end_ = std::move(why);
  hub_.forget(*this);
  let_go();
  hub_.loop().flush_later(*this);
}

void ShmConnection::flush() {
  if (end_) {
    const Error why = *std::exchange(end_, std::nullopt);
    if (sink_ != nullptr) sink_->on_closed(why);
    return;  // The sink may have destroyed this.
  }
  if (has_ended_ || !writer_->has_unpublished()) return;
  if (writer_->publish()) {
    ring_peer();
  } else {
    hub_.has_found_a_peer_awake();
  }
}

void ShmConnection::on_ready(std::uint32_t) {
  if (Status read = read_notices(); !read) {
    peers_end_ = std::move(read).error();
    follow_peer();
  }
}

// What the peer published before it went is still ours. One that goes on writing is
// not followed for ever.
void ShmConnection::follow_peer() {
  for (int look = 0; look < kLastLooks && reader_ && !has_ended_ && drain(); ++look) {
  }
  fail(*peers_end_);
}

bool ShmConnection::poll() {
  if (has_ended_) return false;
  bool busy = false;
  if (reader_) busy = drain();
  if (!offers_.empty() && !has_ended_) busy |= help_with_offers();
  if (wanted_room_ != 0 && !has_ended_) tell_of_room();
  if (peers_end_ && !has_ended_) follow_peer();
  return busy;
}

// After the end the peer's ring may be gone (let_go()), and this still be known
// to the hub.
void ShmConnection::listen_by_polling() {
  if (reader_ && !has_ended_) reader_->disarm();
}

bool ShmConnection::listen_by_bell() {
  if (!reader_ || has_ended_) return false;
  reader_->arm();
  if (wanted_room_ > 1 && writer_->ask_for_room(wanted_room_)) return true;
  // Waiting for the peer to finish a piece is not work: it rings when it has.
  if (!incoming_.empty()) return false;
  return reader_->has_more();
}

bool ShmConnection::has_left_over() {
  if (has_ended_) return false;
  // What came before it listens by its bell was not rung for.
  if (listen_by_bell()) return true;
  return std::ranges::any_of(incoming_, [](const Incoming& incoming) {
    return std::ranges::any_of(incoming.fetches,
                               [](const auto& one) { return one.copy.can_fetch(); });
  });
}

void ShmConnection::publish_progress() {
  if (has_ended_ || !reader_ || !reader_->has_unpublished()) return;
  if (reader_->publish()) ring_peer();
}

std::uint32_t ShmConnection::peer_processor() const {
  return reader_ && !has_ended_ ? reader_->writer_processor() : UINT32_MAX;
}

}  // namespace muster::drivers::shm

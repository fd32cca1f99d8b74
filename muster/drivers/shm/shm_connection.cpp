#include "muster/drivers/shm/shm_connection.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <sys/epoll.h>
#include <sys/socket.h>

#include "muster/base/crash_point.h"

namespace muster::drivers::shm {
namespace {

constexpr std::size_t kRingMemory = kRingHeaderSize + kRingCapacity;

RingHeader& header_of(const Memory& memory) {
  return *std::launder(reinterpret_cast<RingHeader*>(memory.data()));
}

DirectCell& cell_of(const Memory& memory, std::uint32_t index) {
  static_assert(kDirectCellsOffset + kDirectCells * sizeof(DirectCell) <= kRingHeaderSize);
  return *std::launder(reinterpret_cast<DirectCell*>(memory.data() + kDirectCellsOffset) + index);
}

}  // namespace

ShmConnection::ShmConnection(ShmHub& hub, Descriptor socket, const Credentials& peer)
    : hub_(hub), socket_(std::move(socket)), credentials_(peer) {
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
  releases_->close();
  if (is_watched_) hub_.loop().unwatch(socket_.get());
  is_watched_ = false;
  for (Offer& offer : offers_) offer.copy.withdraw();
  offers_.clear();
  std::vector<WritableBuffer> endangered;
  for (Incoming& incoming : incoming_) {
    for (Incoming::Fetch& fetch : incoming.fetches) {
      if (fetch.copy.abandon()) endangered.push_back(std::move(fetch.target));
    }
  }
  incoming_.clear();
  holdings_.clear();
  if (!endangered.empty() && socket_) {
    // The peer closes its end once it hears of ours, and writes nothing after.
    shutdown(socket_.get(), SHUT_WR);
    hub_.bury(std::move(socket_), std::move(theirs_), std::move(endangered));
  }
  socket_ = Descriptor();
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
  const Status read = read_notices();
  if (read) return;
  // What the peer published before it went is still ours.
  while (reader_ && !has_ended_ && drain()) {
  }
  fail(read.error());
}

bool ShmConnection::poll() {
  if (has_ended_) return false;
  bool busy = false;
  if (reader_) busy = drain();
  if (!offers_.empty() && !has_ended_) busy |= help_with_offers();
  if (wanted_room_ != 0 && !has_ended_) tell_of_room();
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
  for (const Incoming& incoming : incoming_) {
    if (std::ranges::any_of(incoming.fetches, [](const auto& one) { return one.copy.can_fetch(); }))
      return true;
  }
  return listen_by_bell();
}

void ShmConnection::publish_progress() {
  if (has_ended_ || !reader_ || !reader_->has_unpublished()) return;
  if (reader_->publish()) ring_peer();
}

std::uint32_t ShmConnection::peer_processor() const {
  return reader_ && !has_ended_ ? reader_->writer_processor() : UINT32_MAX;
}

}  // namespace muster::drivers::shm

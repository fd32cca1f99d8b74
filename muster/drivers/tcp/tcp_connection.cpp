#include "muster/drivers/tcp/tcp_connection.h"

#include <algorithm>
#include <array>
#include <utility>

#include <sys/epoll.h>

#include "muster/drivers/tcp/plain_stream.h"
#include "muster/drivers/tcp/socket_options.h"
#include "muster/net/driver_limits.h"

namespace muster::drivers::tcp {
namespace {

// Read beyond a large part: the head of the next frame, and little of what
// belongs elsewhere.
constexpr std::size_t kBeyond = 512;
// Read where a large part may follow.
constexpr std::size_t kCautious = std::size_t{4} << 10;
// Reads before others get their turn.
constexpr int kReadsInARow = 8;
// What is held back is written once there is this much: little less than the queue
// stages in one piece.
constexpr std::size_t kBatch = std::size_t{60} << 10;
static_assert(kBatch < WriteQueue::kBlock);
// Runs of bytes in one write; the system takes 1024.
constexpr std::size_t kRuns = 256;

}  // namespace

TcpConnection::TcpConnection(TcpShared& shared, net::Address peer)
    : shared_(shared),
      peer_(std::move(peer)),
      reader_(shared.pool, kMaxBody),
      queue_(shared.pool),
      gathering_(shared.loop, *this, &TcpConnection::write_held, kBatch),
      room_(*this, &TcpConnection::tell_room),
      more_(*this, &TcpConnection::read_more),
      again_(*this, &TcpConnection::start_dialing),
      ending_(*this, &TcpConnection::tell_end) {}

TcpConnection::~TcpConnection() {
  end(Error(Code::cancelled, "destroyed"));
  shared_.loop.forget(ending_);
}

void TcpConnection::dial(net::Sink& sink, bool encrypted) {
  sink_ = &sink;
  is_dialed_ = true;
  is_encrypted_ = encrypted;
  start_dialing();
}

void TcpConnection::start_dialing() {
  state_ = State::waiting;
  dialing_ =
      std::make_unique<Dialing>(shared_.loop, shared_.resolver, peer_, [this](Result<int> socket) {
        if (!socket) return end(std::move(socket).error());
        if (!is_encrypted_) {
          return take_up(std::make_unique<PlainStream>(*socket, shared_.pipes), *sink_);
        }
        take_up((*shared_.tls)->connect(*socket, peer_.host, attempt_), *sink_);
      });
  dialing_->start(shared_.options.connect_timeout);
}

void TcpConnection::take_up(std::unique_ptr<Stream> stream, net::Sink& sink) {
  sink_ = &sink;
  dialing_.reset();
  if (state_ == State::ended) return;  // Closed by whoever was given it.
  stream_ = std::move(stream);
  watched_ = EPOLLIN;
  if (Status watched = shared_.loop.watch(stream_->descriptor(), watched_, *this); !watched) {
    watched_ = 0;
    return end(std::move(watched).error());
  }
  state_ = State::shaking_hands;
  shake_hands();
  if (state_ != State::shaking_hands) return;
  deadline_ = std::make_unique<loop::Timer>([this] {
    end(Error(Code::unavailable, "the peer did not finish it in time").during("TLS handshake"));
  });
  shared_.loop.start(*deadline_, shared_.loop.now() + shared_.options.handshake_timeout);
}

void TcpConnection::shake_hands() {
  switch (stream_->handshake()) {
    case Stream::Handshake::done:
      state_ = State::open;
      if (auto next = stream_->successor()) stream_ = std::move(next);
      max_body_ = stream_->max_body();
      note_neighbour();
      if (deadline_) shared_.loop.stop(*deadline_);
      watch_for(EPOLLIN);
      if (!queue_.empty()) shared_.loop.flush_later(*this);
      if (stream_->has_more()) shared_.loop.flush_soon(more_);
      break;
    case Stream::Handshake::wants_read: watch_for(EPOLLIN); break;
    case Stream::Handshake::wants_write: watch_for(EPOLLIN | EPOLLOUT); break;
    case Stream::Handshake::failed: handshake_failed(); break;
  }
}

void TcpConnection::note_neighbour() {
  const std::optional<SocketAddress> peer = SocketAddress::of_peer(stream_->descriptor());
  is_neighbour_ = peer && peer->is_loopback();
  if (is_neighbour_) shared_.poller.add_neighbour();
}

// While a token is being replaced the peer may know the older one only.
void TcpConnection::handshake_failed() {
  const Error why = stream_->failure();
  if (why.code() != Code::invalid || !has_another_key()) return end(why);
  ++attempt_;
  drop_stream();
  state_ = State::waiting;
  // Later: whoever is called here may be the dialling that goes now.
  shared_.loop.flush_soon(again_);
}

bool TcpConnection::has_another_key() {
  return is_dialed_ && is_encrypted_ && attempt_ + 1 < (*shared_.tls)->attempts();
}

void TcpConnection::drop_stream() {
  if (deadline_) shared_.loop.stop(*deadline_);
  if (stream_ && watched_ != 0) shared_.loop.unwatch(stream_->descriptor());
  watched_ = 0;
  stream_.reset();
}

void TcpConnection::watch_for(std::uint32_t events) {
  if (events == watched_) return;
  watched_ = events;
  shared_.loop.change(stream_->descriptor(), events);
}

// By far the most: small frames that follow each other quickly. False, and nothing has
// happened, if this is none of those.
[[gnu::always_inline]] inline bool TcpConnection::push_held(std::span<const std::byte> head,
                                                            std::span<const std::byte> part) {
  if (!gathering_.holds(queue_.bytes()) || !is_usable()) return false;
  if (queue_.bytes() >= shared_.options.queue_limit || !queue_.push_beside(head, part)) {
    return false;
  }
  if (!gathering_.holds(queue_.bytes())) shared_.loop.flush_later(*this);
  return true;
}

// The next most: a small one when nothing else waits.
inline bool TcpConnection::push_alone(std::span<const std::byte> head,
                                      std::span<const std::byte> part) {
  if (!is_usable() || !queue_.push_alone(head, part)) return false;
  if (!gathering_.holds(queue_.bytes())) shared_.loop.flush_later(*this);
  return true;
}

Status TcpConnection::send_copy(std::span<const std::byte, wire::kUsualHead> head,
                                std::span<const std::byte> part) {
  shared_.loop.check_held();
  if (!part.empty() && (push_held(head, part) || push_alone(head, part))) return ok();
  wire::Frame frame;
  frame.head.assign(head);
  // The queue copies what is this small.
  static_assert(net::kReferenceFrom <= WriteQueue::kCopied);
  frame.parts.push_back(Buffer(part, nullptr));
  return push(frame);
}

Status TcpConnection::send(wire::Frame& frame) {
  shared_.loop.check_held();
  if (wire::is_small_frame(frame, WriteQueue::kCopied + 1)) {
    const std::span<const std::byte> head = frame.head.bytes();
    const std::span<const std::byte> part = frame.parts[0].bytes();
    if (push_held(head, part) || push_alone(head, part)) {
      frame.parts.clear();
      return ok();
    }
  }
  return push(frame);
}

bool TcpConnection::lends() const { return stream_ != nullptr && stream_->lends(); }

Status TcpConnection::lend(wire::Frame& frame) {
  shared_.loop.check_held();
  return push(frame, lends());
}

Status TcpConnection::push(wire::Frame& frame, bool lends) {
  MUSTER_TRY_OK(check(frame));
  if (queue_.bytes() >= shared_.options.queue_limit || !queue_.push(frame, lends)) {
    wants_room_ = true;
    return Error(Code::overloaded, "the connection's queue is full");
  }
  if (!gathering_.holds(queue_.bytes())) shared_.loop.flush_later(*this);
  return ok();
}

Status TcpConnection::check(const wire::Frame& frame) const {
  if (!is_usable()) return Error(Code::unavailable, "the connection has ended");
  return net::check_size(frame, max_body_);
}

Result<WritableBuffer> TcpConnection::allocate(std::size_t size) {
  return net::allocate_from(shared_.pool, size);
}

net::Peer TcpConnection::peer() const {
  const auto known = addresses_without_asking(peer_);
  const bool is_loopback = !known.empty() && known.front().is_loopback();
  return {.address = peer_.to_string(), .is_same_host = is_loopback, .pid = 0};
}

void TcpConnection::flush() {
  if (state_ != State::open || is_blocked_ || queue_.empty()) return;
  if (gathering_.may_write(queue_.bytes())) write();
}

void TcpConnection::write_held() {
  if (!is_blocked_) write();
}

// Writes as much as the socket takes. True if it took anything.
bool TcpConnection::write() {
  bool any = false;
  is_blocked_ = false;
  while (!queue_.empty() && !is_blocked_) {
    std::array<iovec, kRuns> runs;
    const std::size_t count = queue_.gather(runs);
    std::size_t asked = 0;
    for (std::size_t i = 0; i < count; ++i) asked += runs[i].iov_len;
    const Transfer written = queue_.is_lent_next() ? stream_->lend(runs[0])
                                                   : stream_->write(std::span(runs).first(count));
    if (written.state == Transfer::State::failed) {
      write_failed();
      return true;
    }
    any |= written.bytes > 0;
    is_blocked_ = written.bytes < asked;
    if (written.bytes > 0) queue_.consume(written.bytes);
  }
  watch_for(is_blocked_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
  // Not at the end of this turn: a sink that fills the queue each time would
  // never let it end.
  if (wants_room_ && has_room()) shared_.loop.flush_soon(room_);
  return any;
}

// What the peer sent before it went comes first.
void TcpConnection::write_failed() {
  is_write_broken_ = true;
  Error why = stream_->failure();
  std::size_t asked = 0;
  while (state_ == State::open && read_once(asked).state == Transfer::State::moved) continue;
  end(std::move(why));
}

void TcpConnection::tell_room() {
  if (!wants_room_ || !has_room()) return;
  wants_room_ = false;
  sink_->on_room();
}

void TcpConnection::on_ready(std::uint32_t events) {
  if (state_ == State::shaking_hands) return shake_hands();
  bool moved = (events & EPOLLOUT) != 0 && is_blocked_ && write();
  const bool may_read = (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0;
  if (state_ == State::open && may_read) moved |= read();
  if (!moved) return;
  const TimePoint now = shared_.loop.now();
  shared_.poller.saw(*this, now);
  if (state_ == State::open && heat_.warmed(now)) shared_.poller.look_at(*this);
}

bool TcpConnection::look() {
  if (!heat_.is_due()) return false;
  bool found = read();
  if (state_ == State::open && is_blocked_) found |= write();
  if (found) {
    heat_.hit();
  } else if (state_ == State::open && heat_.missed()) {
    shared_.poller.forget(*this);
  }
  return found;
}

bool TcpConnection::is_worth_waiting_for() const {
  return state_ == State::open && !peer_needs_this_processor(stream_->descriptor());
}

bool TcpConnection::read() {
  bool any = false;
  for (int i = 0; i < kReadsInARow && state_ == State::open; ++i) {
    std::size_t asked = 0;
    const Transfer got = read_once(asked);
    if (got.state == Transfer::State::blocked) break;
    any = true;
    if (got.state != Transfer::State::moved) break;
    // The common buffer was full: a thousand messages and more, which are best used while
    // they and their memory are in the processor's caches.
    if (got.bytes == asked && asked == shared_.reading.size()) break;
    if (got.bytes < asked && (state_ != State::open || !stream_->has_more())) break;
  }
  if (any) gathering_.was_read();
  if (state_ == State::open && stream_->has_more()) shared_.loop.flush_soon(more_);
  return any;
}

void TcpConnection::read_more() {
  if (state_ == State::open) read();
}

// Large parts are read into their place, all else into the common buffer.
Transfer TcpConnection::read_once(std::size_t& asked) {
  const std::span<std::byte> wanted = reader_.wanted();
  std::array<iovec, 2> into{};
  std::size_t count = 0;
  std::size_t room = reader_.expects_large() ? kCautious : shared_.reading.size();
  if (!wanted.empty()) {
    into[count++] = {wanted.data(), wanted.size()};
    room = kBeyond;
  }
  into[count++] = {shared_.reading.data(), room};
  asked = wanted.size() + room;
  const Transfer got = stream_->read(std::span(into).first(count));
  switch (got.state) {
    case Transfer::State::blocked: break;
    case Transfer::State::ended: end(Error(Code::unavailable, "connection closed by peer")); break;
    case Transfer::State::failed: end(stream_->failure()); break;
    case Transfer::State::moved:
      if (Status taken = deliver(got.bytes, wanted.size()); !taken)
        refuse(std::move(taken).error());
      break;
  }
  return got;
}

// Of the bytes that came, up to `direct` went where they belong already.
Status TcpConnection::deliver(std::size_t bytes, std::size_t direct) {
  const std::size_t placed = std::min(bytes, direct);
  if (placed > 0) reader_.put(placed, *sink_);
  return reader_.take(std::span(shared_.reading).first(bytes - placed), *sink_);
}

// The peer does not speak as it should.
void TcpConnection::refuse(Error why) {
  shared_.warn("connection refused after bad bytes",
               "peer " + peer_.to_string() + "  why " + why.message());
  end(std::move(why));
}

void TcpConnection::close() {
  shared_.loop.check_held();
  end(Error(Code::cancelled, "closed on this side"));
}

void TcpConnection::end(Error why) {
  if (state_ == State::ended) return;
  state_ = State::ended;
  why_ = std::move(why);
  reader_.stop();
  shared_.poller.forget(*this);
  if (std::exchange(is_neighbour_, false)) shared_.poller.remove_neighbour();
  shared_.loop.forget(*this);
  gathering_.stop();
  shared_.loop.forget(room_);
  shared_.loop.forget(more_);
  shared_.loop.forget(again_);
  if (dialing_) dialing_->stop();
  drop_stream();
  queue_.clear();
  shared_.loop.flush_later(ending_);
}

void TcpConnection::tell_end() {
  if (sink_ != nullptr) sink_->on_closed(*std::move(why_));
}

}  // namespace muster::drivers::tcp

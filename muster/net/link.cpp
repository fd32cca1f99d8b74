// A link's beginning and end: dialling, the handshake, loss, return, goodbye.

#include "muster/net/link.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/net/link_shared.h"

namespace muster::net {
namespace {

// How long the other end may take to hang up after it was told to.
constexpr Duration kHangUp = std::chrono::seconds(1);
// A peer that wants to hear more often than this is not worth a processor.
constexpr Duration kShortestBeat = std::chrono::milliseconds(10);

bool is_hopeless(Code code) { return code == Code::invalid || code == Code::unsupported; }

Error closed_here() { return {Code::cancelled, "the link was closed on this side"}; }

}  // namespace

bool LinkSink::is_ready_for(const wire::Head& /*head*/) { return true; }

WritableBuffer LinkSink::place_body(const wire::Head& /*head*/, std::size_t /*part*/,
                                    std::uint64_t /*size*/) {
  return {};
}

void LinkSink::on_refused(wire::Frame& /*frame*/, Lane /*lane*/, const Error& why) {
  log::warning("message dropped  why " + why.message());
}

void LinkSink::on_down(const Error& /*why*/, bool /*will_retry*/) {}

Link::Link(internal::LinkShared& shared)
    : shared_(shared), lanes_(shared.queued), timer_([this] { on_timer(); }) {}

Link::~Link() {
  shared_.loop.check_held();
  // First, so that nothing is heard any more and the driver lets go of chunks.
  connection_.reset();
  clear_connection();
}

void Link::start_accepted(std::unique_ptr<Connection> connection) {
  connection_ = std::move(connection);
  state_ = State::connecting;
  shared_.loop.start(timer_, shared_.loop.now() + shared_.options.handshake_deadline);
  // The endpoint has checked its options, which is all that can fail here.
  if (Status begun = begin_handshake(Handshake::Role::server); !begun) fail(begun.error());
}

void Link::start_dialing(const std::vector<Address>& addresses, LinkSink& sink,
                         DialOptions options) {
  sink_ = &sink;
  std::vector<std::string_view> schemes;
  for (const Driver* driver : shared_.options.drivers) schemes.push_back(driver->scheme());
  AddressChoice choice = choose_addresses(addresses, schemes, options.where, options.named);
  dialing_ = std::make_unique<internal::Dialing>();
  dialing_->addresses = std::move(choice.order);
  dialing_->choice = std::move(choice.why);
  dialing_->backoff = Backoff(options.first_retry, options.longest_retry);
  dialing_->options = std::move(options);
  // Later: the caller does not have the link yet.
  wait_for(Duration::zero(), State::waiting);
}

void Link::wait_for(Duration duration, State state) {
  state_ = state;
  shared_.loop.start(timer_, shared_.loop.now() + duration);
}

void Link::on_timer() {
  switch (state_) {
    case State::connecting:
      fail(Error(Code::unavailable, "the peer did not finish it in time").during("handshake"));
      break;
    case State::leaving:
      fail(Error(Code::timeout,
                 fmt::format("{} messages were still queued when the time was up", lanes_.count()))
               .during("close the link"));
      break;
    case State::refusing:
    case State::left: hang_up(); break;
    case State::waiting: is_closing_ ? finish(closed_here()) : dial_next(); break;
    default: break;
  }
}

void Link::dial_next() {
  internal::Dialing& dialing = *dialing_;
  if (dialing.addresses.empty()) return finish(Error(Code::unsupported, dialing.choice));
  if (dialing.next == 0) {
    dialing.failures.clear();
    dialing.is_hopeless = true;
  }
  const Address address = dialing.addresses[dialing.next++];
  Driver* const driver = shared_.driver(address.scheme);
  Result<std::unique_ptr<Connection>> dialed = driver->dial(address, *this);
  if (!dialed) return attempt_failed(std::move(dialed).error());
  connection_ = *std::move(dialed);
  wait_for(shared_.options.handshake_deadline, State::connecting);
  if (Status begun = begin_handshake(Handshake::Role::client); !begun) fail(begun.error());
}

Status Link::begin_handshake(Handshake::Role role) {
  MUSTER_TRY(Handshake handshake, shared_.handshake(role));
  handshake_ = std::make_unique<Handshake>(std::move(handshake));
  if (role == Handshake::Role::client) say(handshake_->start());
  return ok();
}

void Link::say(Handshake::Message message) {
  wire::Parts parts;
  if (!message.body.empty()) parts.push_back(Buffer::adopt(std::move(message.body)));
  send_control({.version = kHandshakeVersion, .kind = message.kind}, std::move(parts));
}

void Link::shake_hands(wire::Frame& frame) {
  // Whoever was refused has nothing more to say. One who goes on, as fast as it can,
  // would be read for as long as it may stay.
  if (state_ == State::refusing) return hang_up();
  if (state_ != State::connecting) return;
  LinkHead head;
  if (!read_link_head(frame.head, kHandshakeVersion, head)) {
    return refuse(why_not_a_head(frame.head, kHandshakeVersion).during("handshake"));
  }
  if (frame.parts.size() > 1 || frame.head.size() != kLinkHead || head.credit != 0) {
    return refuse(Error(Code::invalid, "a frame of another form").during("handshake"));
  }
  // Of our own: it is read more than once, and may lie where the peer can still write.
  std::vector<std::byte> body;
  if (!frame.parts.empty()) {
    const std::span<const std::byte> said = frame.parts[0].bytes();
    body.assign(said.begin(), said.begin() + std::min(said.size(), kMaxHandshake + 1));
  }
  auto step = handshake_->receive(head.kind, body);
  if (!step) return refuse(std::move(step).error());
  if (*step) say(**std::move(step));
  if (handshake_->is_done()) become_up();
}

// The connection stays until the other end has read why, and hung up.
void Link::refuse(Error why) {
  const bool is_ours = handshake_->refusal().has_value();
  if (!is_ours) return fail(std::move(why));
  why_ = std::move(why);
  say(*handshake_->refusal());
  wait_for(kHangUp, State::refusing);
}

void Link::become_up() {
  const EndpointOptions& options = shared_.options;
  const Introduction& peer = handshake_->peer();
  const Peer known = connection_->peer();
  peer_ = {.id = peer.id,
           .name = peer.name,
           .address = known.address,
           .scheme = known.address.substr(0, known.address.find("://")),
           .is_same_host = known.is_same_host,
           .pid = known.pid,
           .version = handshake_->version(),
           .features = handshake_->features(),
           .max_body = peer.max_body,
           .window = peer.window};
  version_ = peer_.version;
  send_window_.open(peer.window);
  receive_window_.open(options.window);
  // Often enough for the peer, should it be less patient than we are.
  const Duration wanted = std::chrono::milliseconds(peer.silence_ms) * 5 / 14;
  keep_alive_.start(std::min(options.beat, std::max(wanted, kShortestBeat)), options.silence,
                    shared_.loop.now());
  handshake_.reset();
  shared_.loop.stop(timer_);
  shared_.enlist(*this);
  state_ = State::up;
  up_since_ = shared_.loop.now();
  was_ever_up_ = true;
  if (dialing_) {
    dialing_->next = 0;
    dialing_->backoff.reset();
    if (is_closing_) wait_for(options.close_deadline, State::leaving);
  } else {
    sink_ = &shared_.doorkeeper.admit(*this);
  }
  sink_->on_up(*this);
  pump();
}

void Link::close() {
  shared_.loop.check_held();
  if (is_closing_ || state_ == State::closed) return;
  is_closing_ = true;
  switch (state_) {
    case State::up:
      wait_for(shared_.options.close_deadline, State::leaving);
      pump();
      break;
    case State::connecting:
      // What is queued shall leave first, if the handshake succeeds.
      if (lanes_.empty()) fail(closed_here());
      break;
    case State::waiting: wait_for(Duration::zero(), State::waiting); break;
    default: break;
  }
}

void Link::hang_up() {
  state_ = State::ending;
  shared_.loop.stop(timer_);
  connection_->close();
}

void Link::fail(Error why) {
  if (state_ == State::ending) return;
  why_ = std::move(why);
  hang_up();
}

void Link::protocol_error(const Error& why) {
  fail(Error(Code::unavailable, why.message()).during("the peer broke the protocol"));
}

void Link::on_closed(Error why) {
  if (why_) why = *std::exchange(why_, std::nullopt);
  const bool was_up = place_among_up_ != SIZE_MAX;
  // Both wanted to leave, and the other end was faster.
  if (state_ == State::leaving && is_bye_said_ && is_bye_heard_) why = closed_here();
  const std::uint32_t unconfirmed = send_window_.unconfirmed();
  // Whoever is told now may want to send, or close.
  state_ = State::ending;
  connection_.reset();
  clear_connection();
  if (!was_up) return attempt_failed(std::move(why));
  if (unconfirmed > 0 && !is_closing_) {
    why = Error(why.code(), fmt::format("{}; messages that cost {} bytes may not have arrived",
                                        why.message(), unconfirmed));
  }
  lost(std::move(why));
}

void Link::clear_connection() {
  shared_.loop.stop(timer_);
  shared_.loop.forget(*this);
  shared_.strike_off(*this);
  if (gate_) gate_->link = nullptr;
  gate_.reset();
  chunks_out_ = 0;
  has_room_ = has_chunk_room_ = true;
  is_bye_said_ = is_bye_heard_ = false;
  handshake_.reset();
  control_.clear();
  lanes_.restart();
  send_window_.open(0);
  last_offered_ = last_offer_seen_ = 0;
  const auto receiving = std::exchange(receiving_, {});
  for (const auto& one : receiving) {
    shared_.grants.withdraw(this, one->transfer.id());
    if (one->transfer.is_granted()) shared_.grants.finish(one->transfer.bytes());
    // The user never gets it, and so is never done with it.
    receive_window_.done(one->cost);
  }
  receive_window_.open(0);
  if (!receiving.empty()) shared_.grant_more();
}

bool Link::will_retry() const { return dialing_ && dialing_->options.reconnect && !is_closing_; }

void Link::attempt_failed(Error why) {
  if (!dialing_) return shared_.doorkeeper.turn_away(*this, why);
  if (is_closing_) return finish(closed_here());
  internal::Dialing& dialing = *dialing_;
  dialing.is_hopeless &= is_hopeless(why.code());
  const std::string address = dialing.addresses[dialing.next - 1].to_string();
  // A driver may have named the address already.
  if (why.message().find(address) == std::string::npos) {
    why = std::move(why).during("connect to " + address);
  }
  if (!dialing.failures.empty()) dialing.failures += "; ";
  dialing.failures += why.message();
  if (dialing.next < dialing.addresses.size()) return wait_for(Duration::zero(), State::waiting);

  dialing.next = 0;
  Error all(dialing.is_hopeless ? why.code() : Code::unavailable, dialing.failures);
  // One who was let in before is not put off by a stranger in the peer's place.
  if (will_retry() && (was_ever_up_ || !dialing.is_hopeless)) return retry_later(all);
  finish(std::move(all));
}

void Link::lost(Error why) {
  if (is_closing_) return finish(std::move(why));
  why = std::move(why).during(fmt::format("link to {} at {}", peer_.name, peer_.address));
  if (will_retry()) return retry_later(why);
  sink_->on_down(why, false);
  finish(std::move(why));
}

void Link::retry_later(const Error& why) {
  wait_for(dialing_->backoff.next(shared_.options.random()), State::waiting);
  sink_->on_down(why, true);
}

void Link::finish(Error why) {
  state_ = State::closed;
  is_closing_ = true;
  shared_.loop.stop(timer_);
  // The last: it may destroy this.
  sink_->on_closed(std::move(why));
}

LinkState Link::state() const {
  switch (state_) {
    case State::idle:
    case State::connecting:
    case State::refusing: return is_closing_ ? LinkState::closing : LinkState::connecting;
    case State::waiting: return is_closing_ ? LinkState::closing : LinkState::waiting;
    case State::up: return LinkState::up;
    case State::leaving:
    case State::left:
    case State::ending: return LinkState::closing;
    case State::closed: return LinkState::closed;
  }
  return LinkState::closed;
}

LinkCounters Link::counters() const {
  LinkCounters counters = counters_;
  counters.messages_queued = lanes_.count();
  counters.bytes_queued = lanes_.bytes();
  counters.cost_unconfirmed = send_window_.unconfirmed();
  return counters;
}

Duration Link::age() const {
  return is_established() ? shared_.loop.now() - up_since_ : Duration::zero();
}

Duration Link::silence() const {
  return is_established() ? keep_alive_.silent_for(shared_.loop.now()) : Duration::zero();
}

Result<WritableBuffer> Link::allocate(std::size_t size) {
  if (connection_) return connection_->allocate(size);
  WritableBuffer memory = shared_.bodies.take(size);
  if (memory.size() < size) return Error(Code::overloaded, "no memory for a body");
  return memory;
}

void Link::tick(TimePoint now) {
  // Whoever is to have them has had its time.
  for (std::size_t i = 0; i < receiving_.size(); ++i) admit(*receiving_[i]);
  switch (keep_alive_.check(now)) {
    case KeepAlive::Verdict::fine: break;
    case KeepAlive::Verdict::beat:
      if (has_room_) send_control(head_for(Kind::beat));
      break;
    case KeepAlive::Verdict::lost:
      const auto silence =
          std::chrono::duration_cast<std::chrono::milliseconds>(keep_alive_.silence());
      fail(Error(Code::unavailable, fmt::format("nothing was heard for {} ms", silence.count())));
  }
}

}  // namespace muster::net

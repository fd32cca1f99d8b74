#include "muster/registries/embedded/member.h"

#include <algorithm>

namespace muster::registries::embedded {
namespace {

using std::chrono::milliseconds;

// A change of who serves takes less.
constexpr Duration kDoubt = milliseconds(100);
// How long the registry may take to answer a goodbye.
constexpr Duration kGoodbye = milliseconds(500);
// A timer that comes this late was held up by something.
constexpr Duration kHeldUp = milliseconds(20);

Error reason_of(const Message& message) { return {message.code, message.text}; }

}  // namespace

EmbeddedMember::EmbeddedMember(loop::Loop& loop, std::unique_ptr<Road> road,
                               msg::JoinRequest request, msg::RegistrySink& sink)
    : loop_(loop),
      road_(std::move(road)),
      request_(std::move(request)),
      sink_(sink),
      backoff_(road_->backoff()),
      why_unreachable_(Code::unavailable, "nobody has answered yet"),
      attempt_timer_([this] { attempt(); }),
      doubt_timer_([this] { doubt(); }),
      missing_timer_([this] { tell_missing(); }),
      beat_timer_([this] { beat(); }),
      end_timer_([this] { why_ended_ ? end() : hear_nothing(); }) {
  request_.self.incarnation = 0;
  loop_.start(attempt_timer_, loop_.now());
  loop_.start(doubt_timer_, loop_.now() + kDoubt);
}

void EmbeddedMember::attempt() {
  CarrierSink& sink = *this;
  auto carrier = road_->open(sink);
  if (!carrier) return retry(carrier.error());
  carrier_ = *std::move(carrier);
  announce();
}

void EmbeddedMember::retry(const Error& why) {
  why_unreachable_ = why;
  loop_.start(attempt_timer_, loop_.now() + backoff_.next(random_bits()));
}

void EmbeddedMember::announce() {
  heard_ = loop_.now();
  view_.begin_roll_call();
  Message message{.kind = Kind::announce};
  message.lease = std::chrono::duration_cast<milliseconds>(request_.lease);
  message.member = request_.self;
  message.group = request_.group;
  message.is_remote = road_->is_remote();
  carrier_->send(message);
  if (is_leaving_) say_goodbye();
  loop_.start(beat_timer_, loop_.now() + request_.lease / 4);
}

void EmbeddedMember::doubt() {
  if (is_admitted_ || is_unreachable_ || why_ended_ || is_leaving_) return;
  is_unreachable_ = true;
  sink_.on_unreachable(why_unreachable_.during("reach the registry of group " + request_.group));
}

void EmbeddedMember::on_packet(std::span<const std::byte> bytes) {
  if (why_ended_) return;
  heard_ = loop_.now();
  const Result<Message> message = decode(bytes);
  if (!message) return end_later(message.error());
  take(*message);
}

void EmbeddedMember::take(const Message& message) {
  switch (message.kind) {
    case Kind::admitted: return take_admission(message);
    case Kind::joined:
      if (message.member.name != request_.self.name && view_.see(message.member)) {
        sink_.on_joined(message.member);
      }
      return;
    case Kind::left:
      if (const auto member = view_.remove(message.member.name, message.member.incarnation)) {
        sink_.on_left(*member);
      }
      return;
    case Kind::lost: return tell_lost(message.member, reason_of(message));
    case Kind::refused: return end_later(reason_of(message));
    case Kind::released: return end_later(Error(Code::cancelled, "the component has left"));
    case Kind::beat:
      if (is_unreachable_ && is_admitted_) {
        is_unreachable_ = false;
        sink_.on_admitted(request_.self);
      }
      return;
    case Kind::announce:
    case Kind::leave:
    case Kind::ask:
    case Kind::counted:
    case Kind::remind: return;
  }
}

void EmbeddedMember::take_admission(const Message& message) {
  const bool is_news = std::exchange(request_.self.incarnation, message.member.incarnation) !=
                       message.member.incarnation;
  is_admitted_ = true;
  backoff_.reset();
  loop_.stop(doubt_timer_);
  if (message.is_complete) {
    tell_missing();
  } else {
    loop_.start(missing_timer_, loop_.now() + request_.lease);
  }
  if (std::exchange(was_told_, true) && !is_unreachable_ && !is_news) return;
  is_unreachable_ = false;
  sink_.on_admitted(request_.self);
}

void EmbeddedMember::tell_missing() {
  for (const msg::Member& member : view_.missing()) {
    tell_lost(member, Error(Code::unavailable, member.name + " was gone with who served then"));
  }
}

void EmbeddedMember::tell_lost(const msg::Member& member, const Error& why) {
  if (const auto known = view_.remove(member.name, member.incarnation)) sink_.on_lost(*known, why);
}

void EmbeddedMember::on_gone(const Error& why) {
  carrier_.reset();
  const bool was_in = std::exchange(is_admitted_, false);
  loop_.stop(beat_timer_);
  loop_.stop(missing_timer_);
  if (why_ended_) return;
  why_unreachable_ = why;
  if (!doubt_timer_.is_armed()) loop_.start(doubt_timer_, loop_.now() + kDoubt);
  // Whoever serves next on this host is there in a moment; a gateway is not.
  if (was_in && !road_->is_remote()) return attempt();
  retry(why);
}

void EmbeddedMember::beat() {
  const TimePoint now = loop_.now();
  const TimePoint due = beat_timer_.due();
  carrier_->send({.kind = Kind::beat});
  loop_.start(beat_timer_, now + request_.lease / 4);
  // One who was held up has not listened, either.
  if (now - due > request_.lease / 8) heard_ += now - due;
  if (is_admitted_ && !is_unreachable_ && !is_leaving_ && now - heard_ > request_.lease) {
    is_unreachable_ = true;
    sink_.on_unreachable(Error(Code::timeout, "the registry of group " + request_.group +
                                                  " says nothing, as one that was stopped"));
  }
}

void EmbeddedMember::leave() {
  if (is_leaving_ || why_ended_) return;
  is_leaving_ = true;
  if (request_.self.incarnation == 0 && !carrier_) {
    return end_later(Error(Code::cancelled, "the component has left before it was in"));
  }
  gives_up_ = loop_.now() + std::max<Duration>(request_.lease, kGoodbye);
  say_goodbye();
}

// Whoever serves may be leaving too, and so may who serves next: each has its time to
// answer. After a lease the others know without it.
void EmbeddedMember::say_goodbye() {
  if (carrier_) carrier_->send({.kind = Kind::leave});
  loop_.start(end_timer_, std::min(loop_.now() + kGoodbye, gives_up_));
}

void EmbeddedMember::hear_nothing() {
  const TimePoint now = loop_.now();
  // One who was held up has not listened, either.
  if (now - end_timer_.due() > kHeldUp && now < gives_up_) {
    return loop_.start(end_timer_, std::min(now + kGoodbye, gives_up_));
  }
  why_ended_ = Error(Code::cancelled, "the component has left unheard");
  end();
}

void EmbeddedMember::remind(const msg::Member& known) {
  if (!is_admitted_ || is_leaving_ || why_ended_) return;
  Message message{.kind = Kind::remind};
  message.member = known;
  carrier_->send(message);
}

void EmbeddedMember::end_later(Error why) {
  if (!why_ended_) why_ended_ = std::move(why);
  loop_.stop(attempt_timer_);
  loop_.start(end_timer_, loop_.now());
}

void EmbeddedMember::end() {
  carrier_.reset();
  for (loop::Timer* timer : {&attempt_timer_, &doubt_timer_, &missing_timer_, &beat_timer_}) {
    loop_.stop(*timer);
  }
  sink_.on_ended(*why_ended_);
}

}  // namespace muster::registries::embedded

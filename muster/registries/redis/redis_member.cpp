#include "muster/registries/redis/redis_member.h"

#include <algorithm>

namespace muster::registries::redis {
namespace {

using std::chrono::milliseconds;

constexpr Duration kFirstRetry = milliseconds(20);
constexpr Duration kLongestRetry = milliseconds(500);
// Many who come at once make one question.
constexpr Duration kGather = milliseconds(10);
constexpr std::size_t kMostReminded = 1000;
constexpr Duration kGoodbye = milliseconds(1000);

// A reply later than this means that Redis is away; short leases leave little.
Duration patience_for(Duration lease) {
  return std::clamp<Duration>(lease / 2, milliseconds(200), std::chrono::seconds(5));
}

}  // namespace

RedisMember::RedisMember(loop::Loop& loop, const RedisSetting& setting, msg::JoinRequest request,
                         msg::RegistrySink& sink)
    : loop_(loop),
      setting_(setting),
      request_(std::move(request)),
      sink_(sink),
      backoff_(kFirstRetry, kLongestRetry),
      connect_timer_([this] { connect(); }),
      renew_timer_([this] { renew(); }),
      roll_timer_([this] { ask_roll(); }),
      end_timer_([this] { end(); }) {
  request_.self.incarnation = 0;
  loop_.start(connect_timer_, loop_.now());
}

void RedisMember::connect() {
  RedisClientSink& sink = *this;
  client_ = std::make_unique<RedisClient>(loop_, setting_, patience_for(request_.lease), sink);
  client_->start();
}

void RedisMember::on_ready() {
  is_connected_ = true;
  backoff_.reset();
  // Pushed, not answered, in RESP3.
  client_->subscribe(news_channel(request_.group));
  remind_of(highest_);
  renew();
}

void RedisMember::on_push(const Reply& push) {
  if (push.items.empty() || push.items[0].text != "message" || why_ended_) return;
  if (!roll_timer_.is_armed()) loop_.start(roll_timer_, loop_.now() + kGather);
}

void RedisMember::on_gone(const Error& why) {
  client_.reset();
  is_connected_ = false;
  is_asking_ = false;
  is_admitted_ = false;
  loop_.stop(renew_timer_);
  loop_.stop(roll_timer_);
  if (why_ended_) return;
  if (why.code() == Code::invalid && !was_admitted_) return end_later(why);
  loop_.start(connect_timer_, loop_.now() + backoff_.next(random_bits()));
  if (!std::exchange(is_unreachable_, true) && !is_leaving_) sink_.on_unreachable(why);
}

void RedisMember::renew() {
  loop_.start(renew_timer_, loop_.now() + request_.lease / 4);
  announce();
  if (is_leaving_) return say_goodbye();
  ask_roll();
}

void RedisMember::announce() {
  client_->send(announce_command(request_), [this](const Reply& reply) { take_announced(reply); });
}

void RedisMember::take_announced(const Reply& reply) {
  if (why_ended_ || is_trouble(reply)) return;
  const auto incarnation = read_announced(reply);
  if (!incarnation) return abandon(incarnation.error());
  if (!*incarnation) {
    return end_later(
        Error(Code::invalid, "a younger incarnation bears the name " + request_.self.name));
  }
  take_incarnation(**incarnation);
}

// With another one we are told that we are in, again.
void RedisMember::take_incarnation(std::uint64_t incarnation) {
  if (std::exchange(request_.self.incarnation, incarnation) != incarnation) is_admitted_ = false;
}

void RedisMember::remind(const msg::Member& known) {
  if (is_connected_ && !is_leaving_ && known.incarnation < msg::kMaxIncarnation) {
    remind_of({{known.name, known}});
  }
}

void RedisMember::remind_of(const std::map<std::string, msg::Member>& known) {
  if (known.empty()) return;
  client_->send(remind_command(request_.group, known),
                [this](const Reply& reply) { is_trouble(reply); });
}

void RedisMember::ask_roll() {
  if (!is_connected_ || is_leaving_) return;
  if (std::exchange(is_asking_, true)) {
    // What has changed since may not be in the answer.
    if (!roll_timer_.is_armed()) loop_.start(roll_timer_, loop_.now() + kGather);
    return;
  }
  client_->send(roll_command(request_.group, request_.lease), [this](const Reply& reply) {
    is_asking_ = false;
    take_roll(reply);
  });
}

void RedisMember::take_roll(const Reply& reply) {
  if (why_ended_ || is_trouble(reply)) return;
  const Result<Roll> roll = read_roll(reply);
  if (!roll) return abandon(roll.error());
  take_listed(*roll);
  if (why_ended_) return;
  take_missing(*roll);
  if (std::exchange(is_admitted_, true) || request_.self.incarnation == 0) return;
  was_admitted_ = true;
  is_unreachable_ = false;
  sink_.on_admitted(request_.self);
}

void RedisMember::take_listed(const Roll& roll) {
  view_.begin_roll_call();
  bool has_us = false;
  for (const Listed& listed : roll.listed) {
    const msg::Member& member = listed.member;
    if (member.name == request_.self.name) {
      has_us = listed.is_leased;
      if (member.id == request_.self.id) {
        take_incarnation(member.incarnation);
      } else if (member.incarnation > request_.self.incarnation) {
        return end_later(
            Error(Code::invalid, "a younger incarnation bears the name " + member.name));
      }
      continue;
    }
    // Whose lease has run out is nobody to be told of, but stays if it was told.
    const msg::Member* const known = view_.find(member.name);
    if (!listed.is_leased && (known == nullptr || *known != member)) continue;
    missing_since_.erase(member.name);
    if (view_.see(member)) tell_joined(member);
  }
  if (has_us || is_leaving_) return;
  // Somebody has emptied Redis.
  remind_of(highest_);
  announce();
}

void RedisMember::tell_joined(const msg::Member& member) {
  const auto highest = highest_.find(member.name);
  if (highest == highest_.end()) {
    if (highest_.size() < kMostReminded) highest_.emplace(member.name, member);
  } else if (highest->second.id != member.id && highest->second.incarnation >= member.incarnation) {
    remind(highest->second);  // Redis has forgotten it.
  } else {
    highest->second = member;
  }
  sink_.on_joined(member);
}

void RedisMember::take_missing(const Roll& roll) {
  const TimePoint now = loop_.now();
  for (const msg::Member& member : view_.missing()) {
    const auto gone = roll.gone.find(member.name);
    if (gone != roll.gone.end() && gone->second.incarnation >= member.incarnation) {
      view_.remove(member.name, member.incarnation);
      missing_since_.erase(member.name);
      if (gone->second.has_left) {
        sink_.on_left(member);
      } else {
        sink_.on_lost(member, Error(Code::timeout, member.name + " did not renew its lease"));
      }
      continue;
    }
    const TimePoint since = missing_since_.try_emplace(member.name, now).first->second;
    if (now - since < request_.lease) continue;
    view_.remove(member.name, member.incarnation);
    missing_since_.erase(member.name);
    sink_.on_lost(member, Error(Code::timeout, member.name + " did not come back when Redis did"));
  }
}

bool RedisMember::is_trouble(const Reply& reply) {
  if (!reply.is_error()) return false;
  const Error why(Code::invalid, "Redis said " + reply.text.substr(0, 200) +
                                     "; the registry's page tells what it must be allowed");
  // A Redis that is loading, busy or full may get over it.
  const bool is_final = reply.text.starts_with("NOPERM") || reply.text.starts_with("WRONGTYPE");
  if (is_final && !was_admitted_) {
    end_later(why);
  } else {
    abandon(why);
  }
  return true;
}

// The next connection may find a Redis that is well.
void RedisMember::abandon(const Error& why) {
  client_->abandon(Error(Code::unavailable, why.message()));
}

void RedisMember::leave() {
  if (is_leaving_ || why_ended_) return;
  is_leaving_ = true;
  if (!was_admitted_ && !is_connected_) {
    return end_later(Error(Code::cancelled, "the component has left before it was in"));
  }
  if (is_connected_) say_goodbye();
  // Nobody may be there to say it to.
  loop_.start(end_timer_, loop_.now() + kGoodbye);
}

void RedisMember::say_goodbye() {
  client_->send(leave_command(request_), [this](const Reply&) {
    end_later(Error(Code::cancelled, "the component has left"));
  });
}

void RedisMember::end_later(Error why) {
  if (!why_ended_) why_ended_ = std::move(why);
  loop_.stop(connect_timer_);
  loop_.stop(renew_timer_);
  loop_.stop(roll_timer_);
  loop_.start(end_timer_, loop_.now());
}

void RedisMember::end() {
  client_.reset();
  for (loop::Timer* timer : {&connect_timer_, &renew_timer_, &roll_timer_}) loop_.stop(*timer);
  if (!why_ended_) why_ended_ = Error(Code::cancelled, "the component has left unheard");
  sink_.on_ended(*why_ended_);
}

}  // namespace muster::registries::redis

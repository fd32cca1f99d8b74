// RedisMember: one membership. Keeps its lease, asks who is there whenever there
// is news and now and then besides, and starts over when Redis was away.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "muster/loop/loop.h"
#include "muster/msg/registry.h"
#include "muster/msg/registry_view.h"
#include "muster/net/backoff.h"
#include "muster/registries/redis/client.h"
#include "muster/registries/redis/layout.h"

namespace muster::registries::redis {

class RedisMember final : public msg::Membership, private RedisClientSink {
 public:
  // `setting` outlives it.
  RedisMember(loop::Loop& loop, const RedisSetting& setting, msg::JoinRequest request,
              msg::RegistrySink& sink);
  RedisMember(const RedisMember&) = delete;
  RedisMember& operator=(const RedisMember&) = delete;

  void leave() override;
  void remind(const msg::Member& known) override;

 private:
  // The connection.
  void connect();
  void on_ready() override;
  void on_push(const Reply& push) override;
  void on_gone(const Error& why) override;

  // What is asked and answered.
  void renew();
  void announce();
  void take_incarnation(std::uint64_t incarnation);
  void remind_of(const std::map<std::string, msg::Member>& known);
  void take_announced(const Reply& reply);
  void ask_roll();
  void take_roll(const Reply& reply);
  void take_listed(const Roll& roll);
  void tell_joined(const msg::Member& member);
  void take_missing(const Roll& roll);
  void say_goodbye();
  // True, and ends or drops the connection, if `reply` is an error.
  bool is_trouble(const Reply& reply);
  void abandon(const Error& why);

  void end_later(Error why);
  void end();

  loop::Loop& loop_;
  const RedisSetting& setting_;
  msg::JoinRequest request_;  // Its member carries the incarnation, once there is one.
  msg::RegistrySink& sink_;
  msg::RegistryView view_;
  // Who was told, and is not in Redis any more, which does not say why: it may
  // have come back empty.
  std::map<std::string, TimePoint> missing_since_;
  // The highest of each name, present or not, for a Redis that has forgotten.
  std::map<std::string, msg::Member> highest_;
  std::unique_ptr<RedisClient> client_;
  net::Backoff backoff_;
  std::optional<Error> why_ended_;

  bool is_connected_ = false;  // And Redis knows us.
  bool is_asking_ = false;     // For the roll.
  bool is_admitted_ = false;   // Over this connection.
  bool was_admitted_ = false;  // Ever.
  bool is_unreachable_ = false;
  bool is_leaving_ = false;

  loop::Timer connect_timer_;
  loop::Timer renew_timer_;
  loop::Timer roll_timer_;  // Soon after news, for many at once.
  loop::Timer end_timer_;
};

}  // namespace muster::registries::redis

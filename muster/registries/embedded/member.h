// EmbeddedMember: one membership. Comes to whoever serves its group by its road,
// and announces itself again whenever that one is gone.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "muster/loop/loop.h"
#include "muster/msg/registry.h"
#include "muster/msg/registry_view.h"
#include "muster/net/backoff.h"
#include "muster/registries/embedded/road.h"

namespace muster::registries::embedded {

class EmbeddedMember final : public msg::Membership, private CarrierSink {
 public:
  EmbeddedMember(loop::Loop& loop, std::unique_ptr<Road> road, msg::JoinRequest request,
                 msg::RegistrySink& sink);
  EmbeddedMember(const EmbeddedMember&) = delete;
  EmbeddedMember& operator=(const EmbeddedMember&) = delete;

  void leave() override;
  void remind(const msg::Member& known) override;

 private:
  // Finding whoever serves.
  void attempt();
  void retry(const Error& why);
  void doubt();

  // What it says.
  void on_packet(std::span<const std::byte> bytes) override;
  void on_gone(const Error& why) override;
  void take(const Message& message);
  void take_admission(const Message& message);
  void ask_for_missing();
  void tell_lost(const msg::Member& member, const Error& why);

  void announce();
  void beat();
  void say_goodbye();
  void hear_nothing();
  void end_later(Error why);
  void end();

  loop::Loop& loop_;
  std::unique_ptr<Road> road_;
  msg::JoinRequest request_;  // Its member carries the incarnation, once there is one.
  msg::RegistrySink& sink_;
  msg::RegistryView view_;
  std::unique_ptr<Carrier> carrier_;
  net::Backoff backoff_;
  Error why_unreachable_;
  std::optional<Error> why_ended_;

  bool is_admitted_ = false;     // By the one that serves now.
  bool is_unreachable_ = false;  // And the sink knows.
  bool was_told_ = false;        // The sink knows that we are in.
  bool is_leaving_ = false;
  TimePoint gives_up_{};  // At the latest, once it is leaving.
  TimePoint heard_{};     // The last of the registry.

  loop::Timer attempt_timer_;
  loop::Timer doubt_timer_;    // Is the gap too long to keep it from the sink?
  loop::Timer missing_timer_;  // Have all had time to announce themselves?
  loop::Timer beat_timer_;
  loop::Timer end_timer_;
};

}  // namespace muster::registries::embedded

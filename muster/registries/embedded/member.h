// EmbeddedMember: one membership. Finds whoever serves its group, serves itself
// if nobody does, and announces itself again whenever that one is gone.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "muster/loop/loop.h"
#include "muster/msg/registry.h"
#include "muster/msg/registry_view.h"
#include "muster/net/backoff.h"
#include "muster/registries/embedded/channel.h"
#include "muster/registries/embedded/folder.h"

namespace muster::registries::embedded {

// What a member needs of the registry that it belongs to.
class Hosting {
 public:
  // Nobody seems to serve `group`. Serves it, if the lock can be had.
  virtual Status try_to_serve(const std::string& group, Folder folder) = 0;
  // A member of `group` is gone.
  virtual void release(const std::string& group) = 0;

 protected:
  ~Hosting() = default;
};

class EmbeddedMember final : public msg::Membership, private ChannelSink {
 public:
  EmbeddedMember(loop::Loop& loop, Hosting& hosting, std::string base, msg::JoinRequest request,
                 msg::RegistrySink& sink);
  ~EmbeddedMember() override;
  EmbeddedMember(const EmbeddedMember&) = delete;
  EmbeddedMember& operator=(const EmbeddedMember&) = delete;

  void leave() override;

 private:
  // Finding whoever serves.
  void attempt();
  Status connect();
  void retry(const Error& why);
  void doubt();

  // What it says.
  void on_packet(std::span<const std::byte> bytes) override;
  void on_gone(const Error& why) override;
  void take(const Message& message);
  void take_admission(const Message& message);
  void tell_missing();
  void tell_lost(const msg::Member& member, const Error& why);

  void announce();
  void beat();
  void end_later(Error why);
  void end();

  loop::Loop& loop_;
  Hosting& hosting_;
  std::string base_;
  msg::JoinRequest request_;  // Its member carries the incarnation, once there is one.
  msg::RegistrySink& sink_;
  msg::RegistryView view_;
  std::unique_ptr<Channel> channel_;
  net::Backoff backoff_;
  Error why_unreachable_;
  std::optional<Error> why_ended_;

  bool is_admitted_ = false;     // By the one that serves now.
  bool is_unreachable_ = false;  // And the sink knows.
  bool was_told_ = false;        // The sink knows that we are in.
  bool is_leaving_ = false;
  TimePoint heard_{};  // The last of the registry.

  loop::Timer attempt_timer_;
  loop::Timer doubt_timer_;    // Is the gap too long to keep it from the sink?
  loop::Timer missing_timer_;  // Have all had time to announce themselves?
  loop::Timer beat_timer_;
  loop::Timer end_timer_;
};

}  // namespace muster::registries::embedded

// Fabric: the members that found each other under one name, and their links.
//
// Communicators made from each other share one. A link that breaks is a loss,
// and stays one: who comes back is somebody new. All of it under the baton, but
// for what says otherwise.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/arena/segment.h"
#include "muster/base/result.h"
#include "muster/collectives/communicator_options.h"
#include "muster/collectives/remains.h"
#include "muster/collectives/seat.h"
#include "muster/loop/loop.h"
#include "muster/msg/registry.h"
#include "muster/net/endpoint.h"

namespace muster::collectives::internal {

class Crew;

struct FabricOptions {
  std::string group;   // In the registry.
  std::string member;  // The same.
  std::string digest;  // What all members must say alike, whatever it is.
  CommunicatorOptions common;
};

// You are in: what a newcomer is told.
struct Welcome {
  std::uint64_t context = 0;
  std::vector<Id> members;  // By rank.
};

class Fabric final : private msg::RegistrySink, private loop::Flusher {
 public:
  // Any thread. Announces this member and begins to look for the others.
  static Result<std::shared_ptr<Fabric>> open(loop::Loop& loop, FabricOptions options);
  // Any thread. Says goodbye.
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  // Any thread, these.
  loop::Loop& loop() const { return loop_; }
  const CommunicatorOptions& options() const { return options_.common; }
  const std::string& member() const { return options_.member; }
  Id id() const { return id_; }
  const Process& process() const { return process_; }

  // Everybody who was ever there.
  const std::vector<std::shared_ptr<Seat>>& seats() const { return seats_; }
  std::shared_ptr<Seat> find(Id id) const;
  // Why this member is not in the registry any more, if so.
  const std::optional<Error>& ended() const { return ended_; }
  const std::optional<Error>& away() const { return away_; }
  // The communicator stands: from here on, others are newcomers.
  void become_founded();
  const std::optional<Welcome>& welcome() const { return welcome_; }
  // Members wait for these newcomers, of whom some of them may never have heard: who loses one
  // tells the others, until it is called with false.
  void watch(const std::vector<Id>& newcomers, bool is_watched);
  // Both are told of each other: the registry may never do so.
  void bring_together(Seat& one, Seat& other);
  // They will not be taken in: who has not met them waits no more.
  void tell_gone(const std::vector<Id>& newcomers);

  void enlist(Crew& crew);
  void strike_off(Crew& crew);
  Remains& remains() { return remains_; }

  // Large messages that nobody was ready for are looked at again, before the baton is given up.
  void resume_later();
  // Ends the link to a member, who is lost by that.
  void cut(Seat& seat, const Error& why) { lose(seat, why); }

  // Memory that peers on this host read where it lies, and all know: any thread.
  Result<WritableBuffer> allocate(std::size_t bytes);
  // Tells peers of this host of the segment that `memory` lies in, if it lies in one: any thread.
  void introduce(const Buffer& memory);
  // The segment of ours that has these bytes, by its number, if `readers` all
  // know it; the offset.
  std::optional<std::pair<std::uint32_t, std::uint64_t>> find_own(
      const void* data, std::uint64_t bytes, const std::vector<std::shared_ptr<Seat>>& readers);

  // From seats.
  void seat_up(Seat& seat);
  void message_came(Seat& seat, wire::Frame& frame);
  bool is_ready_for(const Seat& seat, const wire::Head& head) const;
  WritableBuffer place(Seat& seat, const wire::Head& head, std::uint64_t size);
  void room_came(Seat& seat);
  void message_refused(Seat& seat, const wire::Head& head, const Error& why);
  void seat_closed(Seat& seat, const Error& why);
  void dial(Seat& seat);

 private:
  struct OwnSegment {
    std::uint32_t number;
    std::weak_ptr<arena::Segment> segment;
    const std::byte* base;
    std::size_t size;
  };

  Fabric(loop::Loop& loop, FabricOptions options);
  Status open();
  Seat& seat_for(Id id, const std::string& name);
  Hello own_hello() const;
  void take_hello(Seat& seat, const wire::Frame& frame);
  void take_ready(Seat& seat, const Note& note, const wire::Frame& frame);
  void take_segment(Seat& seat, const Note& note, const wire::Frame& frame);
  void take_away(Seat& seat, const Note& note);
  void take_welcome(const Note& note, const wire::Frame& frame);
  void tell_of(const Seat& one, Seat& whom);
  void take_known(const Seat& from, const wire::Frame& frame);
  void tell_gone(const Seat& gone);
  bool has_dialled_most() const;
  void take_gone(const Seat& from, const wire::Frame& frame);
  void introduce_sample(const Buffer& sample);
  void await_readers();
  void lose(Seat& seat, const Error& why);
  void bury(std::unique_ptr<net::Link> link);

  void on_admitted(const msg::Member& self) override;
  void on_joined(const msg::Member& member) override;
  void on_left(const msg::Member& member) override;
  void on_lost(const msg::Member& member, const Error& why) override;
  void on_unreachable(const Error& why) override { away_ = why; }
  void on_ended(Error why) override;
  void flush() override;

  loop::Loop& loop_;
  const FabricOptions options_;
  const Id id_;
  const Process process_;
  std::unique_ptr<net::Endpoint> endpoint_;
  std::unique_ptr<msg::Membership> membership_;
  std::vector<std::shared_ptr<Seat>> seats_;
  std::vector<Id> watched_;
  std::vector<std::unique_ptr<net::Link>> doomed_;
  std::multimap<std::uint64_t, Crew*> crews_;  // By context.
  Remains remains_;
  std::vector<OwnSegment> own_segments_;
  std::uint32_t last_segment_ = 0;
  std::optional<Error> ended_;
  std::optional<Error> away_;  // Why the registry cannot be reached.
  std::optional<Welcome> welcome_;
  bool is_admitted_ = false;
  bool is_founded_ = false;
  bool is_closing_ = false;
  bool wants_resume_ = false;
};

}  // namespace muster::collectives::internal

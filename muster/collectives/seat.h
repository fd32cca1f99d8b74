// Seat: one other member of a fabric, and the link to it. All of it under the baton.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "muster/arena/segment.h"
#include "muster/base/buffer.h"
#include "muster/base/id.h"
#include "muster/collectives/agreement.h"
#include "muster/collectives/note.h"
#include "muster/collectives/whereabouts.h"
#include "muster/loop/timers.h"
#include "muster/msg/registry.h"
#include "muster/net/link.h"

namespace muster::collectives::internal {

class Fabric;

// What a member says of itself when a link comes up.
struct Hello {
  Rank rank = 0;
  Rank size = 0;
  bool is_founded = false;  // Its communicator stands already.
  Id digest;                // Of what all members must say alike.
  Process process;          // Where it runs.
};
Buffer encode(const Hello& hello);
std::optional<Hello> decode_hello(const Buffer& body);

class Seat final : public net::LinkSink {
 public:
  Seat(Fabric& fabric, Id id, std::string name);
  ~Seat();
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  // What a context's `ready` brought, before or after we are in it ourselves.
  struct Ready {
    Buffer desk;   // Empty: it has none for us.
    Buffer reach;  // Whose memory it can read (crew_setup.h).
    // What it said in the context before we were in it.
    std::vector<std::pair<Note, wire::Frame>> early;
  };

  const Id id;
  const std::string name;
  msg::Member member;                                                 // As the registry has it.
  bool is_registered = false;                                         // The registry has it.
  int dials_left = 0;                                                 // If others have told of it.
  std::unique_ptr<net::Link> link;                                    // Null: none yet, or no more.
  std::optional<Hello> hello;                                         // Once the link is up.
  std::optional<Error> lost;                                          // Why, once it is.
  bool has_left = false;                                              // It said goodbye.
  std::map<std::uint64_t, Ready> readies;                             // By context.
  std::map<std::uint32_t, std::shared_ptr<arena::Segment>> segments;  // Of its arena.
  std::set<std::uint32_t> introduced;  // Segments of ours that it knows.
  std::set<std::uint64_t> away_from;   // Contexts that it was left out of, as it says.

  bool is_here() const { return link != nullptr && hello.has_value() && !lost; }
  bool may_be_dialled() const { return is_registered || dials_left > 0; }
  // What is known of it, once it is lost.
  Loss loss() const;
  // Sends, or says why not. Numbers may find the link's queue full: then room_came() follows.
  // All else is said by nobody again, and waits here.
  Status send(const Note& note, wire::Parts parts = {});
  // True if bodies pass by reference: the peer can read memory of ours.
  bool shares_memory();

 private:
  void on_up(net::Link& up) override;
  void on_message(wire::Frame& frame, net::Lane lane, std::size_t cost) override;
  bool is_ready_for(const wire::Head& head) override;
  WritableBuffer place_body(const wire::Head& head, std::size_t part, std::uint64_t size) override;
  void on_room() override;
  void on_refused(wire::Frame& frame, net::Lane lane, const Error& why) override;
  void on_closed(Error why) override;

  Fabric& fabric_;
  std::optional<bool> shares_memory_;
  std::deque<wire::Frame> held_;  // What the link had no room for.

 public:
  loop::Timer redial;
};

}  // namespace muster::collectives::internal

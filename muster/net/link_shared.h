// What the links of one endpoint share. Internal to net.

#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "muster/base/buffer_pool.h"
#include "muster/loop/loop.h"
#include "muster/net/backoff.h"
#include "muster/net/grants.h"
#include "muster/net/lanes.h"
#include "muster/net/link.h"
#include "muster/net/link_options.h"
#include "muster/net/transfer.h"

namespace muster::net::internal {

// Who decides about connections that come in.
class Doorkeeper {
 public:
  // It has proved itself. Whoever keeps it now says who hears from it.
  virtual LinkSink& admit(Link& link) = 0;
  // It has not, and is over. Destroys it.
  virtual void turn_away(Link& link, const Error& why) = 0;

 protected:
  ~Doorkeeper() = default;
};

struct LinkShared {
  LinkShared(loop::Loop& the_loop, EndpointOptions the_options, Doorkeeper& the_doorkeeper);

  Driver* driver(std::string_view scheme) const;
  Introduction introduction() const;
  Result<Handshake> handshake(Handshake::Role role) const;

  // Links that are up are looked at by one timer for all.
  void enlist(Link& link);
  void strike_off(Link& link);
  void tick();

  // Grants what the budget allows by now.
  void grant_more();

  loop::Loop& loop;
  const EndpointOptions options;
  Doorkeeper& doorkeeper;
  BufferPool bodies;
  QueuedPool queued;
  Grants grants;
  std::vector<Link*> up;
  loop::Timer timer;
  bool is_granting = false;
};

// A link's addresses, and where it stands with them.
struct Dialing {
  std::vector<Address> addresses;  // The best first.
  std::string choice;              // Why, for people.
  DialOptions options;
  Backoff backoff;
  std::size_t next = 0;
  std::string failures;     // Of this round.
  bool is_hopeless = true;  // All of them were.
};

// A large message on its way in.
struct Receiving {
  IncomingTransfer transfer;
  wire::Head head;
  Lane lane;
  std::uint32_t cost = 0;
  std::uint64_t pause = 0;   // When so much is there its sender waits to be told; 0: never.
  bool is_postponed = true;  // Until the sink is ready for it.
};

// How chunks tell their link that the driver has let go of them, also after
// the link or the connection has gone.
struct ChunkGate {
  loop::Loop& loop;
  Link* link;

  void released(std::size_t bytes);
};

// A part of `whole` that tells `gate` when it is let go.
Buffer make_chunk(std::span<const std::byte> bytes, Buffer whole, std::shared_ptr<ChunkGate> gate);

}  // namespace muster::net::internal

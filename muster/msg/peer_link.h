// PeerLink: one link of a proxy, and whom it is to.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "muster/msg/incoming.h"
#include "muster/net/link.h"

namespace muster::msg::internal {

class ProxyCore;

class PeerLink final : public net::LinkSink {
 public:
  // `peer` is whom it dials; none: it was accepted, and is to say who it is.
  PeerLink(ProxyCore& core, std::uint64_t number, PeerId whom)
      : peer(whom), serial(number), core_(core) {}

  std::unique_ptr<net::Link> link;
  PeerId peer;
  Names names;                  // Of both, once it is introduced.
  bool is_introduced = false;   // It has told us who it is,
  bool has_introduced = false;  // and we have told it.
  bool has_begun = false;       // Both: messages may go,
  bool is_for_users = false;    // and those of users, too: the peer has not said goodbye.
  bool is_dead = false;         // Waits to be destroyed; what it says counts no more.
  const std::uint64_t serial;
  std::uint64_t choice = 0;  // Of ours, by which it stands (proxy_introductions.cpp); 0: of none.
  std::uint32_t heard = 0;   // Of how many messages the peer has told us that they are done.
  // Of which it has, too, but that do not count yet: replies that were announced, and
  // all that was told behind them.
  struct Told {
    MessageId id;       // None: it was not kept.
    SessionId awaited;  // Until this has its reply; none: it is kept no more.
  };
  std::deque<Told> told;

 private:
  void on_up(net::Link& up) override;
  void on_message(wire::Frame& frame, net::Lane lane, std::size_t cost) override;
  void on_room() override;
  void on_refused(wire::Frame& frame, net::Lane lane, const Error& why) override;
  void on_closed(Error why) override;

  ProxyCore& core_;
};

}  // namespace muster::msg::internal

// What a component says of itself when it is asked: who it is, whom it knows,
// and what has gone over each link.
//
// A program has its own by Proxy::report(); `muster peers` asks for all of a
// group's (survey.h). docs/reference/observing.md has the fields.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/msg/message.h"
#include "muster/msg/peer_table.h"
#include "muster/wire/value.h"

namespace muster::msg {

struct PeerInfo {
  PeerId id = {};
  std::string name = {};
  std::string type = {};
  std::uint64_t incarnation = 0;
  Presence presence = Presence::connecting;
  std::vector<std::string> addresses = {};
  std::string driver = {};   // Of the link that stands, else empty.
  std::string address = {};  // The same.
  Duration age = {};         // How long the link stands.
  Duration silence = {};     // How long nothing has come by it, to a tenth of a beat.
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_sent = 0;  // Of bodies.
  std::uint64_t bytes_received = 0;
  std::size_t queued = 0;  // Messages that wait to be sent.
  std::size_t kept = 0;    // Until the peer is done with them.
};

struct ProxyCounters {
  std::size_t waiting = 0;        // Messages for receive().
  std::size_t waiting_bytes = 0;  // The same.
  std::size_t open_sessions = 0;  // That wait for an answer.
  std::size_t sessions = 0;       // The same, and those whose outcome nobody has taken:
                                  // what max_sessions bounds.
  std::size_t kept = 0;           // Sent to be handled at least once, and not done.
  std::uint64_t dropped = 0;      // For peers that were away, or whose link broke.
  std::uint64_t refused = 0;      // From peers.
  std::uint64_t unwanted = 0;     // Answers that were late, repeated or for no session.
};

struct Report {
  std::string group = {};
  std::string name = {};
  std::string type = {};
  std::uint64_t incarnation = 0;  // 0: the registry has not given one yet.
  int pid = 0;
  Duration age = {};  // Since it was admitted.
  ProxyCounters counters = {};
  std::vector<PeerInfo> peers = {};  // In the order of names, those that are gone too.
};

// As it travels. Peers lose their ids, which mean nothing elsewhere.
wire::Value to_value(const Report& report);
// Code::invalid for what is no report. What a later version adds is passed over.
Result<Report> to_report(const wire::Value& value);

}  // namespace muster::msg

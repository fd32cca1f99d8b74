// What can be said about a proxy, and what it starts with.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/id.h"
#include "muster/msg/dedup_store.h"
#include "muster/msg/kept_messages.h"
#include "muster/msg/message_codec.h"
#include "muster/msg/outbox.h"
#include "muster/msg/outbox_store.h"
#include "muster/msg/peer_table.h"
#include "muster/msg/proxy_event.h"
#include "muster/msg/registry.h"
#include "muster/net/driver.h"
#include "muster/net/token_source.h"

namespace muster::msg {

// What is to be done when there were too few peers for too long.
enum class TooFew : std::uint8_t {
  wait,   // For as long again; then it is asked again.
  go_on,  // With who is here.
  end,    // The proxy leaves: all calls end with Code::unavailable.
};

struct ProxyOptions {
  // Letters, digits, '_', '-' and '.', at most 64 bytes each.
  std::string group = {};
  std::string type = {};
  std::string name = {};  // Empty: the type and a number that nobody else has.

  // All outlive the proxy.
  Registry* registry = nullptr;
  std::vector<net::Driver*> drivers = {};
  // The secret of the group, at least net::kMinToken bytes.
  std::vector<std::byte> token = {};
  // Instead of `token`, where it may be replaced: asked for each link that begins.
  // A program gets it from net::find_tokens().
  std::shared_ptr<net::TokenSource> tokens = nullptr;
  // Where to be dialled. Empty: on this host only, by each driver that is chosen
  // unasked (net/address_choice.h), or by all if none is.
  std::vector<std::string> listen = {};

  // join() waits for these.
  std::vector<Expected> expected = {};

  // Told as events: fewer are here, enough are again, too few for too long.
  std::vector<Expected> minimum = {};
  Duration minimum_deadline = std::chrono::seconds(300);
  // Decides then, given who is missing. Called as on_event is; null: the proxy
  // goes on, and the program decides on the event.
  std::function<TooFew(const std::string& missing)> on_too_few = nullptr;

  // How long the registry keeps us without a word; links lose a silent peer
  // after `silence`.
  Duration lease = std::chrono::milliseconds(2800);
  Duration beat = std::chrono::seconds(1);
  Duration silence = std::chrono::milliseconds(2800);
  Duration first_redial = std::chrono::milliseconds(20);
  Duration longest_redial = std::chrono::seconds(2);
  Duration close_deadline = std::chrono::seconds(5);

  // Bytes of messages that wait for receive(); from there on, or from a thousand
  // messages on, each sender is held back once it has sent a `window` more.
  std::size_t max_waiting = std::size_t{64} << 20;
  std::uint32_t window = std::uint32_t{1} << 20;
  // Bytes that wait to be sent to one peer; then isend() says overloaded.
  std::size_t max_queued = std::size_t{64} << 20;
  // What gives way then. A notification that does is told as one for an absent
  // peer is; tasks and answers never do, they are refused, or wait.
  DropPolicy when_full = DropPolicy::refuse;
  std::size_t max_sessions = std::size_t{1} << 20;
  std::uint64_t max_body = std::uint64_t{16} << 30;
  BodyLimits body_limits = {};
  // Messages come with Message::encoded() instead of body(), for who reads the
  // bytes into values of another language. Whether they are a body is then
  // theirs to find out, and to say with Proxy::unreadable().
  bool keeps_encoded = false;
  // Messages for a peer that is not there just now, per peer.
  OutboxLimits absent = {};
  // Messages that a peer is to handle at least once, per peer.
  KeptLimits kept = {};
  // Both outlive the proxy; null: there is none. What was handled, so that no
  // later incarnation of this name gets it again.
  DedupStore* dedup = nullptr;
  // What is kept, so that the next incarnation of this name sends it.
  OutboxStore* outbox = nullptr;
  // Peers that are lost or have left and are remembered all the same.
  std::size_t max_absent_peers = 1024;
  // Events that nobody has taken; the oldest give way, and are told as missed. 0: none.
  std::size_t max_events = 4096;

  // Called with each event by threads that are inside a blocking call of the
  // proxy, which wake for it, never under the baton. Null: next_event() has them.
  // What it throws, or on_too_few does, leaves by that call. The call's own sessions,
  // whose ids only it knows, are then forgotten; ids that were given to it can be waited
  // for again. The next call has the message that it had received, calls with the events
  // that followed, and asks on_too_few again.
  std::function<void(const ProxyEvent&)> on_event = nullptr;

  // A folder for a trace of all messages (trace.h); empty: the one that the
  // environment names in MUSTER_TRACE, and if there is none, no trace.
  std::string trace = {};

  std::function<std::uint64_t()> random = random_bits;
};

}  // namespace muster::msg

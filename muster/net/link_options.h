// What can be said about links, and what each starts with.

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
#include "muster/net/address_choice.h"
#include "muster/net/driver.h"
#include "muster/net/handshake.h"
#include "muster/net/token_source.h"

namespace muster::net {

// For all links of an endpoint.
struct EndpointOptions {
  // The secret that both ends must know, at least kMinToken bytes.
  std::vector<std::byte> token;
  // Instead of `token`, where it may be replaced: asked at each handshake. A
  // program gets it from find_tokens() (token_search.h).
  std::shared_ptr<TokenSource> tokens = nullptr;
  Id id = Id::random();
  std::string name;                // At most kMaxName bytes.
  std::vector<Driver*> drivers;    // They outlive the endpoint.
  std::uint64_t features = 0;      // A bit each; both ends see what they share.
  VersionRange versions = {2, 3};  // 1 knew no brief frames, 2 no pauses in transfers.

  // The largest body that is taken.
  std::uint64_t max_body = std::uint64_t{16} << 30;
  // Bytes of messages that may wait here, per link. With much less, one who sends small
  // messages as fast as it can often waits until the receiver's turn is over.
  std::uint32_t window = std::uint32_t{4} << 20;
  // Bytes of small messages that may wait to be sent, per link, and as many of
  // those with bodies above 64 KiB.
  std::size_t max_queued = std::size_t{64} << 20;
  // Bytes of large bodies that may be under way to us, over all links.
  std::uint64_t grant_budget = std::uint64_t{1} << 30;
  // Bodies from this size on are lent where that spares a copy: it costs a round trip.
  std::uint64_t lent_from = std::uint64_t{4} << 20;
  // Bytes of memory for bodies that are kept for the next ones.
  std::size_t idle_memory = std::size_t{256} << 20;

  // How often to say something, and how long a silence means loss.
  Duration beat = std::chrono::seconds(1);
  Duration silence = std::chrono::milliseconds(2800);
  Duration handshake_deadline = std::chrono::seconds(5);
  // How long close() waits for what is queued to leave.
  Duration close_deadline = std::chrono::seconds(5);
  // Connections that have not proved themselves yet; the oldest is dropped.
  std::size_t max_strangers = 256;

  std::function<std::uint64_t()> random = random_bits;
};

// For one link that dials.
struct DialOptions {
  // Dial again whenever the link is lost, until close().
  bool reconnect = false;
  Duration first_retry = std::chrono::milliseconds(50);
  Duration longest_retry = std::chrono::seconds(5);
  Whereabouts where;
  // Schemes that were asked for by name.
  std::vector<std::string> named;
};

}  // namespace muster::net

// The zmq driver: frames over libzmq, encrypted by CURVE.
//
// zmq://10.0.0.7:7000, zmq://[::1]:0, zmq://localhost:7000-7100. Both ends know
// each other by keys that are made of the token; nobody else gets past the
// handshake. Without encryption only where asked for, zmq://127.0.0.1:0?curve=off,
// and on loopback only.
//
// libzmq listens with one key per port. So a listener has a second port, told as
// ?also=PORT and chosen in the same way: while a token is being replaced, one
// serves the new generation and the other the old.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/loop/loop.h"
#include "muster/net/driver.h"
#include "muster/net/token_source.h"

namespace muster::drivers {

// What has passed through libzmq: bodies, without heads. Any thread.
struct ZmqCounters {
  std::atomic<std::uint64_t> frames_sent = 0;
  std::atomic<std::uint64_t> bytes_sent = 0;
  std::atomic<std::uint64_t> frames_received = 0;
  std::atomic<std::uint64_t> bytes_received = 0;
};

struct ZmqOptions {
  // A program gets them from net::find_tokens(). Without them nothing is
  // encrypted, and so nothing leaves loopback.
  std::shared_ptr<net::TokenSource> tokens = nullptr;
  // The host that listeners tell others. Empty: the one they bind or, if that is
  // all addresses, the first of this host that is not loopback.
  std::string advertised_host = {};
  // How long looking up a name, and then each attempt to connect, may take.
  Duration connect_timeout = std::chrono::seconds(5);
  // How long a caller may take to prove itself.
  Duration handshake_timeout = std::chrono::seconds(5);
  // How long a peer may be silent, below anything that links say, before its
  // connection is given up.
  Duration silence = std::chrono::seconds(60);
  // How often a listener asks for tokens that are new.
  Duration token_refresh = std::chrono::seconds(1);
  // A connection refuses frames while this many bytes wait to be handed over.
  std::size_t queue_limit = std::size_t{4} << 20;
  // Counted here if given.
  std::shared_ptr<ZmqCounters> counters = nullptr;
};

// Any thread. Code::unsupported if this build has no libzmq, and what to install.
Status check_zmq();

// Any thread. The loop outlives the driver. Where check_zmq() fails it is one
// that refuses every address, for the same reason.
std::unique_ptr<net::Driver> make_zmq_driver(loop::Loop& loop, ZmqOptions options = {});

}  // namespace muster::drivers

// What the connections and listeners of one zmq driver have in common.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/buffer_pool.h"
#include "muster/drivers/zmq/context.h"
#include "muster/drivers/zmq/curve_keys.h"
#include "muster/drivers/zmq/doorkeeper.h"
#include "muster/drivers/zmq/monitor.h"
#include "muster/drivers/zmq/socket.h"
#include "muster/drivers/zmq/vigil.h"
#include "muster/drivers/zmq/zmq.h"
#include "muster/net/complaints.h"
#include "muster/net/resolver.h"

namespace muster::drivers::zmq {

// Messages that libzmq holds, for each direction of each connection. Few, since
// each may be a packet of many frames, or a body.
inline constexpr int kMostHeld = 32;
// How long what libzmq was given may take to leave once we let go.
inline constexpr int kLingerMs = 200;

class ZmqShared {
 public:
  // Goes after all sockets were closed; waits for what lingers, as Context does.
  ZmqShared(loop::Loop& the_loop, ZmqOptions the_options);
  ZmqShared(const ZmqShared&) = delete;
  ZmqShared& operator=(const ZmqShared&) = delete;

  // The tokens that count now. Code::unsupported if there are none at all.
  Result<std::vector<net::Token>> tokens();
  // Made once for each token.
  const CurveKeys& keys(const net::Token& token);

  // Lets those in who have the keys of a token that counts. Code::overloaded if
  // there is no socket for it.
  Status keep_doors();

  // What all sockets with peers need.
  void prepare(Socket& socket) const;
  std::unique_ptr<Monitor> watch(Socket& socket, Monitor::Tell tell);

  // Logs a warning, unless there was one a moment ago.
  void warn(std::string_view event, std::string_view detail);

  void count_sent(std::uint64_t frames, std::uint64_t bytes);
  void count_received(std::uint64_t frames, std::uint64_t bytes);

  loop::Loop& loop;
  const ZmqOptions options;
  const Context context;
  net::Resolver resolver;
  BufferPool pool;
  Vigil vigil;

 private:
  std::vector<std::pair<net::Token, CurveKeys>> keys_;
  std::unique_ptr<Doorkeeper> doorkeeper_;
  std::uint64_t monitors_ = 0;
  net::Complaints complaints_{"zmq"};
};

}  // namespace muster::drivers::zmq

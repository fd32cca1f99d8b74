// Resolver: host names to addresses, each on a short-lived thread of its own,
// since the system's resolver blocks.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "muster/base/result.h"
#include "muster/loop/loop.h"
#include "muster/net/socket_address.h"

namespace muster::net {

using Addresses = Result<std::vector<SocketAddress>>;

// Asks the system. Any thread; may take as long as the network likes.
Addresses look_up(const std::string& host, std::uint16_t port);

class Resolver {
 public:
  using LookUp = std::function<Addresses(const std::string& host, std::uint16_t port)>;
  using Done = std::function<void(Addresses)>;

  explicit Resolver(loop::Loop& loop, LookUp look_up = &net::look_up)
      : loop_(loop), look_up_(std::move(look_up)), self_(std::make_shared<Resolver*>(this)) {}
  // Waits for look-ups that are under way; nobody hears of them any more.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Calls `done` later, under the baton, unless the ticket is given back
  // first. Code::overloaded if too many are under way.
  Result<std::uint64_t> resolve(const std::string& host, std::uint16_t port, Done done);
  void cancel(std::uint64_t ticket);

 private:
  struct Query {
    std::jthread thread;  // Ends by posting, which never waits for the baton.
    Done done;
    bool is_over = false;
  };

  void finish(std::uint64_t ticket, Addresses addresses);
  void join_finished();

  loop::Loop& loop_;
  LookUp look_up_;
  std::map<std::uint64_t, Query> queries_;
  std::uint64_t next_ = 1;
  // Lets a task that comes too late know.
  std::shared_ptr<Resolver*> self_;
};

}  // namespace muster::net

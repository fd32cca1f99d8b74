// Endpoint: where links begin. Listens, dials, and lets in who knows the token.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "muster/base/result.h"
#include "muster/loop/loop.h"
#include "muster/net/address.h"
#include "muster/net/link.h"
#include "muster/net/link_options.h"

namespace muster::net {

// All but making and destroying one needs the loop's baton.
class Endpoint final {
 public:
  // Gets a link to keep, which is up, and says who hears from it; on_up()
  // follows.
  using OnLink = std::function<LinkSink&(std::unique_ptr<Link>)>;

  // Code::invalid if the token is too short, or an option out of bounds.
  static Result<std::unique_ptr<Endpoint>> make(loop::Loop& loop, EndpointOptions options);
  ~Endpoint();  // After its links.
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // Listens on all of `addresses`, or on none. Gives them back with all that
  // was left open filled in.
  Result<std::vector<Address>> listen(std::span<const Address> addresses, OnLink on_link);
  // Stops listening, and drops who has not proved itself yet. Links stay.
  void stop_listening();

  // Dials a peer that has these addresses, the best first. The link may be
  // used at once: what is sent waits until it is up.
  std::unique_ptr<Link> connect(const std::vector<Address>& addresses, LinkSink& sink,
                                DialOptions options = {});

  // Connections that have not proved themselves yet.
  std::size_t strangers() const;

 private:
  class Door;

  explicit Endpoint(std::unique_ptr<Door> door);
  std::unique_ptr<Door> door_;
};

}  // namespace muster::net

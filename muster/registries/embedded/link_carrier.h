// LinkCarrier: messages of the registry over a link, a packet in each.

#pragma once

#include <memory>
#include <vector>

#include "muster/net/endpoint.h"
#include "muster/registries/embedded/road.h"

namespace muster::registries::embedded {

// False if `link` does not take it.
bool send_packet(net::Link& link, std::span<const std::byte> bytes);

// The packet in `frame`; empty if it has none, or one that is too long.
std::span<const std::byte> packet_in(const wire::Frame& frame);

class LinkCarrier final : public Carrier, private net::LinkSink {
 public:
  LinkCarrier(net::Endpoint& endpoint, const std::vector<net::Address>& addresses,
              CarrierSink& sink);
  LinkCarrier(const LinkCarrier&) = delete;
  LinkCarrier& operator=(const LinkCarrier&) = delete;

  bool send(const Message& message) override;

 private:
  void on_up(net::Link&) override {}
  void on_message(wire::Frame& frame, net::Lane lane, std::size_t cost) override;
  void on_closed(Error why) override { sink_.on_gone(why); }

  CarrierSink& sink_;
  std::unique_ptr<net::Link> link_;
};

}  // namespace muster::registries::embedded

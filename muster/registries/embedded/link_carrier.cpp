#include "muster/registries/embedded/link_carrier.h"

namespace muster::registries::embedded {

bool send_packet(net::Link& link, std::span<const std::byte> bytes) {
  wire::Frame frame;
  frame.head.resize(net::kLinkHead);
  frame.parts.push_back(Buffer::copy_of(bytes));
  return link.send(frame).has_value();
}

std::span<const std::byte> packet_in(const wire::Frame& frame) {
  if (frame.parts.size() != 1 || frame.parts[0].size() > kMaxMessage) return {};
  return frame.parts[0].bytes();
}

LinkCarrier::LinkCarrier(net::Endpoint& endpoint, const std::vector<net::Address>& addresses,
                         CarrierSink& sink)
    : sink_(sink), link_(endpoint.connect(addresses, *this)) {}

bool LinkCarrier::send(const Message& message) { return send_packet(*link_, encode(message)); }

void LinkCarrier::on_message(wire::Frame& frame, net::Lane, std::size_t cost) {
  const std::span<const std::byte> packet = packet_in(frame);
  if (packet.empty()) return link_->close();
  sink_.on_packet(packet);
  link_->done(cost);
}

}  // namespace muster::registries::embedded

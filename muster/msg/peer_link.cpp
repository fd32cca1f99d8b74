#include "muster/msg/peer_link.h"

#include "muster/msg/proxy_core.h"

namespace muster::msg::internal {

void PeerLink::on_up(net::Link&) {
  if (!is_dead) core_.link_up(*this);
}

void PeerLink::on_message(wire::Frame& frame, net::Lane lane, std::size_t cost) {
  if (!is_dead) core_.message_came(*this, frame, lane, cost);
}

void PeerLink::on_room() {
  if (!is_dead) core_.room_came(*this);
}

void PeerLink::on_refused(wire::Frame& frame, net::Lane, const Error& why) {
  if (!is_dead) core_.message_refused(*this, frame, why);
}

void PeerLink::on_closed(Error why) {
  if (!is_dead) core_.link_closed(*this, why);
}

}  // namespace muster::msg::internal

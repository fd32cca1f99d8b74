#include "muster/net/driver.h"

namespace muster::net {

Status Connection::send_copy(std::span<const std::byte, wire::kUsualHead> head,
                             std::span<const std::byte> part) {
  wire::Frame frame;
  frame.head.assign(head);
  frame.parts.push_back(Buffer::copy_of(part));
  return send(frame);
}

}  // namespace muster::net

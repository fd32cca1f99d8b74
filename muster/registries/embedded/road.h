// Road: how a member comes to whoever serves its group. On one host by a socket
// in the group's folder, from another by a link to a gateway.

#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "muster/base/result.h"
#include "muster/net/backoff.h"
#include "muster/registries/embedded/message.h"

namespace muster::registries::embedded {

// Who hears from a carrier.
class CarrierSink {
 public:
  // A packet, whole. Must not destroy the carrier.
  virtual void on_packet(std::span<const std::byte> bytes) = 0;
  // The last call: all that was sent has been heard. The carrier may be
  // destroyed here.
  virtual void on_gone(const Error& why) = 0;

 protected:
  ~CarrierSink() = default;
};

// Carries messages to one other end. Its sink hears nothing after its end.
class Carrier {
 public:
  virtual ~Carrier() = default;
  // Sends, or queues. False if the queue is full, or the other end is gone.
  virtual bool send(const Message& message) = 0;
};

class Road {
 public:
  virtual ~Road() = default;
  // Messages may be sent over it at once. An error: try again later.
  virtual Result<std::unique_ptr<Carrier>> open(CarrierSink& sink) = 0;
  // Whether the end of a carrier says nothing of the member.
  virtual bool is_remote() const = 0;
  virtual net::Backoff backoff() const = 0;
};

}  // namespace muster::registries::embedded

// PlainStream: a connected socket as it is, without encryption.

#pragma once

#include "muster/drivers/tcp/stream.h"

namespace muster::drivers::tcp {

class PlainStream final : public Stream {
 public:
  // Takes over `socket`, which does not block.
  explicit PlainStream(int socket);
  ~PlainStream() override;
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

  Handshake handshake() override { return Handshake::done; }
  Transfer read(std::span<const iovec> into) override;
  Transfer write(std::span<const iovec> from) override;
  Error failure() const override;
  std::size_t max_body() const override { return is_near_ ? kNearBody : kFarBody; }
  int descriptor() const override { return socket_; }

 private:
  Transfer outcome(ssize_t result, Transfer::State at_zero);

  int socket_;
  bool is_near_;
  int error_ = 0;
};

}  // namespace muster::drivers::tcp

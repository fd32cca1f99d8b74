// PlainStream: a connected socket as it is, without encryption.

#pragma once

#include <optional>

#include "muster/drivers/tcp/page_lender.h"
#include "muster/drivers/tcp/stream.h"

namespace muster::drivers::tcp {

class PlainStream final : public Stream {
 public:
  // Takes over `socket`, which does not block. The shelf outlives it.
  PlainStream(int socket, PipeShelf& pipes);
  ~PlainStream() override;
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

  Handshake handshake() override { return Handshake::done; }
  Transfer read(std::span<const iovec> into) override;
  Transfer write(std::span<const iovec> from) override;
  bool lends() const override;
  Transfer lend(const iovec& from) override;
  Error failure() const override;
  std::size_t max_body() const override { return is_near_ ? kNearBody : kFarBody; }
  int descriptor() const override { return socket_; }

 private:
  Transfer outcome(ssize_t result, Transfer::State at_zero);

  int socket_;
  PageLender lender_;
  bool is_near_;
  bool is_lending_refused_ = false;
  mutable std::optional<bool> is_peer_ours_;  // Once it was asked.
  int error_ = 0;
};

}  // namespace muster::drivers::tcp

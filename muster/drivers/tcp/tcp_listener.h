// TcpListener: takes in connections at one address.

#pragma once

#include <cstdint>
#include <memory>

#include "muster/drivers/tcp/tcp_shared.h"
#include "muster/loop/loop.h"
#include "muster/net/driver.h"

namespace muster::drivers::tcp {

class TcpListener final : public net::Listener, loop::FdHandler {
 public:
  // Code::unsupported if it needs encryption and there is none,
  // Code::unavailable if the port, or each of the range, is taken.
  static Result<std::unique_ptr<net::Listener>> open(TcpShared& shared, const net::Address& address,
                                                     net::Driver::Accept accept);
  // Takes over `socket`, which listens.
  TcpListener(TcpShared& shared, int socket, net::Address address, bool encrypted,
              net::Driver::Accept accept);
  ~TcpListener() override;
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;

  net::Address address() const override { return address_; }

 private:
  void on_ready(std::uint32_t events) override;
  void hand_over(int socket);
  void pause(int error);

  TcpShared& shared_;
  int socket_;
  net::Address address_;
  // Shared with a call of it that is under way, which may destroy the listener.
  std::shared_ptr<net::Driver::Accept> accept_;
  loop::Timer resume_;
  const bool is_encrypted_;
  bool is_watched_ = false;
};

}  // namespace muster::drivers::tcp

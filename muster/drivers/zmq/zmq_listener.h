// ZmqListener: two ports, for two generations of the token.
//
// A port serves one generation, and cannot take up another without losing who
// came in by it. So a new generation takes the port that the one before the
// last had, whose members have come back long since.

#pragma once

#include <array>
#include <memory>
#include <optional>

#include "muster/base/descriptor.h"
#include "muster/drivers/zmq/address_plan.h"
#include "muster/drivers/zmq/station.h"
#include "muster/drivers/zmq/zmq_shared.h"
#include "muster/net/driver.h"

namespace muster::drivers::zmq {

class ZmqListener final : public net::Listener {
 public:
  // Code::unsupported if it needs encryption and there is none,
  // Code::unavailable if the port, or each of the range, is taken.
  static Result<std::unique_ptr<net::Listener>> open(ZmqShared& shared, const net::Address& address,
                                                     net::Driver::Accept accept);
  ~ZmqListener() override;
  ZmqListener(const ZmqListener&) = delete;
  ZmqListener& operator=(const ZmqListener&) = delete;

  net::Address address() const override { return address_; }

 private:
  // A port, and who is served there at present.
  struct Port {
    Descriptor socket;
    std::shared_ptr<Station> station = nullptr;  // Null: reserved, but nobody listens.
    std::optional<net::Token> token = std::nullopt;
  };

  ZmqListener(ZmqShared& shared, net::Driver::Accept accept);
  Status serve_plainly();
  void refresh();
  Port* port_for(const net::Token& token, const net::Token& other);
  Status serve(Port& port, const net::Token& token);
  Result<std::shared_ptr<Station>> open_station(const Port& port,
                                                const std::optional<StationKeys>& keys) const;

  ZmqShared& shared_;
  std::shared_ptr<net::Driver::Accept> accept_;
  net::Address address_;
  std::array<Port, 2> ports_;
  loop::Timer refresh_;
};

}  // namespace muster::drivers::zmq

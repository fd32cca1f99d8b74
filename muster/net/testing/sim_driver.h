// The driver of one host of a SimNet.

#pragma once

#include <memory>
#include <string>

#include "muster/net/testing/sim_world.h"

namespace muster::net::testing::internal {

class SimListener final : public Listener {
 public:
  SimListener(SimWorld& world, SimPlace place, std::string name, Driver::Accept accept);
  ~SimListener() override;
  Address address() const override;

  void let_in(const std::shared_ptr<SimPipe>& pipe);

 private:
  SimWorld& world_;
  const SimPlace place_;
  const std::string name_;  // HOST/NAME
  std::shared_ptr<const Driver::Accept> accept_;
};

class SimDriver final : public Driver {
 public:
  SimDriver(SimWorld& world, SimPlace place) : world_(world), place_(place) {}

  std::string_view scheme() const override { return "sim"; }
  Result<std::unique_ptr<Listener>> listen(const Address& address, Accept accept) override;
  Result<std::unique_ptr<Connection>> dial(const Address& address, Sink& sink) override;

 private:
  SimWorld& world_;
  const SimPlace place_;
};

}  // namespace muster::net::testing::internal

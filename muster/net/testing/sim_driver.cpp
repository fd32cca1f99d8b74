#include "muster/net/testing/sim_driver.h"

#include <utility>

#include "muster/net/testing/sim_pipe.h"

namespace muster::net::testing::internal {
namespace {

Status check_address(const Address& address) {
  if (address.scheme == "sim" && address.host.find('/') != std::string::npos) return ok();
  return Error(Code::invalid, "this driver serves sim://HOST/NAME only")
      .during(address.to_string());
}

}  // namespace

SimListener::SimListener(SimWorld& world, SimPlace place, std::string name, Driver::Accept accept)
    : world_(world),
      place_(place),
      name_(std::move(name)),
      accept_(std::make_shared<const Driver::Accept>(std::move(accept))) {
  world_.listeners.emplace(name_, this);
}

SimListener::~SimListener() {
  world_.loop.check_held();
  // After a restart the name may be another's.
  const auto found = world_.listeners.find(name_);
  if (found != world_.listeners.end() && found->second == this) world_.listeners.erase(found);
}

Address SimListener::address() const {
  return {.scheme = "sim", .host = name_, .port = 0, .last_port = 0};
}

void SimListener::let_in(const std::shared_ptr<SimPipe>& pipe) {
  const auto accept = accept_;  // Accepting may end the listener.
  pipe->stand((*accept)(pipe->accept(place_)));
}

Result<std::unique_ptr<Listener>> SimDriver::listen(const Address& address, Accept accept) {
  world_.loop.check_held();
  MUSTER_TRY_OK(check_address(address));
  const SimHost& host = world_.hosts[place_.host];
  const std::string attempt = "listen on " + address.to_string();
  if (!world_.is_alive(place_)) return Error(Code::unavailable, "the host is down").during(attempt);
  if (!address.host.starts_with(host.name + "/")) {
    return Error(Code::invalid, "this is host " + host.name).during(attempt);
  }
  if (world_.listeners.contains(address.host)) {
    return Error(Code::invalid, "somebody listens there already").during(attempt);
  }
  return std::unique_ptr<Listener>(
      std::make_unique<SimListener>(world_, place_, address.host, std::move(accept)));
}

Result<std::unique_ptr<Connection>> SimDriver::dial(const Address& address, Sink& sink) {
  world_.loop.check_held();
  MUSTER_TRY_OK(check_address(address));
  const auto pipe = std::make_shared<SimPipe>(world_, place_, address.host);
  world_.add(pipe);
  auto connection = std::make_unique<SimConnection>(pipe, 0, &sink);
  if (world_.is_alive(place_)) {
    pipe->dial();
  } else {
    pipe->kill(0, false);
  }
  return std::unique_ptr<Connection>(std::move(connection));
}

}  // namespace muster::net::testing::internal

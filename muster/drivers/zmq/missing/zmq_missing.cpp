// The zmq driver of a build without libzmq: says what is missing.

#include <utility>

#include "muster/drivers/zmq/zmq.h"

namespace muster::drivers {
namespace {

Error missing() {
  return {Code::unsupported,
          "this build has no zmq driver; install libzmq (Debian: libzmq3-dev) and build again"};
}

class MissingZmqDriver final : public net::Driver {
 public:
  std::string_view scheme() const override { return "zmq"; }
  Result<std::unique_ptr<net::Listener>> listen(const net::Address& address, Accept) override {
    return missing().during("listen on " + address.to_string());
  }
  Result<std::unique_ptr<net::Connection>> dial(const net::Address& address, net::Sink&) override {
    return missing().during("dial " + address.to_string());
  }
};

}  // namespace

Status check_zmq() { return missing(); }

// NOLINTNEXTLINE(performance-unnecessary-value-param): as the header has it.
std::unique_ptr<net::Driver> make_zmq_driver(loop::Loop&, ZmqOptions) {
  return std::make_unique<MissingZmqDriver>();
}

}  // namespace muster::drivers

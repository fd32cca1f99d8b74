#include <utility>

#include <zmq.h>

#include "muster/drivers/zmq/dialed_line.h"
#include "muster/drivers/zmq/zmq.h"
#include "muster/drivers/zmq/zmq_connection.h"
#include "muster/drivers/zmq/zmq_listener.h"
#include "muster/drivers/zmq/zmq_shared.h"

namespace muster::drivers {
namespace zmq {
namespace {

Status check_target(const net::Address& to) {
  if (to.port == 0) return Error(Code::invalid, "a port is missing");
  if (to.last_port != to.port) return Error(Code::invalid, "a port range is only for listening");
  return ok();
}

class ZmqDriver final : public net::Driver {
 public:
  ZmqDriver(loop::Loop& loop, ZmqOptions options) : shared_(loop, std::move(options)) {
    const loop::Turn turn(loop);
    loop.add(shared_.vigil);
  }
  ~ZmqDriver() override {
    const loop::Turn turn(shared_.loop);
    shared_.loop.remove(shared_.vigil);
  }

  std::string_view scheme() const override { return "zmq"; }

  Result<std::unique_ptr<net::Listener>> listen(const net::Address& address,
                                                Accept accept) override {
    shared_.loop.check_held();
    return ZmqListener::open(shared_, address, std::move(accept));
  }

  Result<std::unique_ptr<net::Connection>> dial(const net::Address& address,
                                                net::Sink& sink) override {
    shared_.loop.check_held();
    Result<std::unique_ptr<net::Connection>> dialed = begin(address, sink);
    if (!dialed) return std::move(dialed).error().during("dial " + address.to_string());
    return dialed;
  }

 private:
  Result<std::unique_ptr<net::Connection>> begin(const net::Address& address, net::Sink& sink) {
    MUSTER_TRY(const AddressPlan plan, plan_for(address));
    MUSTER_TRY_OK(check_target(address));
    std::vector<net::Token> tokens;
    if (plan.is_encrypted) {
      MUSTER_TRY(tokens, shared_.tokens());
    }
    const auto known = net::addresses_without_asking(address);
    const bool is_here = !known.empty() && known.front().is_loopback();
    auto connection =
        std::make_unique<ZmqConnection>(shared_, net::Peer{address.to_string(), is_here, 0});
    connection->set_sink(sink);
    auto line =
        std::make_unique<DialedLine>(shared_, *connection, address, plan, std::move(tokens));
    DialedLine& started = *line;
    connection->use(std::move(line));
    started.start();
    return std::unique_ptr<net::Connection>(std::move(connection));
  }

  ZmqShared shared_;
};

}  // namespace
}  // namespace zmq

Status check_zmq() {
  if (zmq_has("curve") == 0) {
    return Error(Code::unsupported,
                 "libzmq was built without CURVE; install one with it (Debian: libzmq3-dev)");
  }
  return ok();
}

std::unique_ptr<net::Driver> make_zmq_driver(loop::Loop& loop, ZmqOptions options) {
  return std::make_unique<zmq::ZmqDriver>(loop, std::move(options));
}

}  // namespace muster::drivers

#include <utility>

#include "muster/drivers/tcp/dialing.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/drivers/tcp/tcp_connection.h"
#include "muster/drivers/tcp/tcp_listener.h"
#include "muster/drivers/tcp/tcp_shared.h"

namespace muster::drivers {
namespace tcp {
namespace {

class TcpDriver final : public net::Driver {
 public:
  TcpDriver(loop::Loop& loop, TcpOptions options) : shared_(loop, std::move(options)) {
    const loop::Turn turn(loop);
    loop.add(shared_.poller);
  }
  ~TcpDriver() override {
    const loop::Turn turn(shared_.loop);
    shared_.loop.remove(shared_.poller);
  }

  std::string_view scheme() const override { return "tcp"; }

  Result<std::unique_ptr<net::Listener>> listen(const net::Address& address,
                                                Accept accept) override {
    shared_.loop.check_held();
    return TcpListener::open(shared_, address, std::move(accept));
  }

  Result<std::unique_ptr<net::Connection>> dial(const net::Address& address,
                                                net::Sink& sink) override {
    shared_.loop.check_held();
    const auto attempt = [&] { return "dial " + address.to_string(); };
    if (Status possible = Dialing::check(address); !possible) {
      return std::move(possible).error().during(attempt());
    }
    const Result<bool> encrypted = shared_.encrypts(address);
    if (!encrypted) return encrypted.error().during(attempt());
    auto connection = std::make_unique<TcpConnection>(shared_, address);
    connection->dial(sink, *encrypted);
    return std::unique_ptr<net::Connection>(std::move(connection));
  }

 private:
  TcpShared shared_;
};

}  // namespace
}  // namespace tcp

Status check_tls(const TlsOptions& options) {
  MUSTER_TRY(const auto context, tcp::TlsContext::make(options));
  return ok();
}

std::unique_ptr<net::Driver> make_tcp_driver(loop::Loop& loop, TcpOptions options) {
  return std::make_unique<tcp::TcpDriver>(loop, std::move(options));
}

}  // namespace muster::drivers

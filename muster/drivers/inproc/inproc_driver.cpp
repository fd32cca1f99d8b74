#include <utility>

#include "muster/drivers/inproc/inproc.h"
#include "muster/drivers/inproc/inproc_listener.h"

namespace muster::drivers {
namespace {

using internal::InprocConnection;
using internal::InprocDock;
using internal::InprocDoor;
using internal::InprocListener;
using internal::InprocPair;

class InprocDriver final : public net::Driver {
 public:
  InprocDriver(loop::Loop& loop, InprocOptions options)
      : options_(std::move(options)), dock_(std::make_shared<InprocDock>(loop)) {
    if (!options_.hub) options_.hub = make_inproc_hub();
  }
  ~InprocDriver() override { dock_->close(); }

  std::string_view scheme() const override { return "inproc"; }
  Result<std::unique_ptr<net::Listener>> listen(const net::Address& address,
                                                Accept accept) override;
  Result<std::unique_ptr<net::Connection>> dial(const net::Address& address,
                                                net::Sink& sink) override;

 private:
  InprocConnection::Limits limits() const { return {options_.max_frames, options_.max_bytes}; }
  // True if whoever listens at `door` will answer, sooner or later.
  bool knock(const std::shared_ptr<InprocDoor>& door, InprocConnection& connection,
             const std::shared_ptr<InprocPair>& pair) const;

  InprocOptions options_;
  std::shared_ptr<InprocDock> dock_;
};

Error wrong_scheme(const net::Address& address) {
  return Error(Code::invalid, "this driver serves inproc:// only").during(address.to_string());
}

Result<std::unique_ptr<net::Listener>> InprocDriver::listen(const net::Address& address,
                                                            Accept accept) {
  dock_->loop().check_held();
  if (address.scheme != scheme()) return wrong_scheme(address);
  auto door =
      std::make_shared<InprocDoor>(InprocDoor{address.host, std::move(accept), dock_, limits()});
  if (const Status opened = options_.hub->open(door); !opened) {
    return opened.error().during("listen on " + address.to_string());
  }
  return std::unique_ptr<net::Listener>(
      std::make_unique<InprocListener>(options_.hub, std::move(door)));
}

Result<std::unique_ptr<net::Connection>> InprocDriver::dial(const net::Address& address,
                                                            net::Sink& sink) {
  dock_->loop().check_held();
  if (address.scheme != scheme()) return wrong_scheme(address);
  const std::shared_ptr<InprocDoor> door = options_.hub->find(address.host);
  auto pair = std::make_shared<InprocPair>();
  pair->sides[0].dock = dock_;
  pair->sides[1].dock = door ? door->dock : dock_;
  auto connection = std::make_unique<InprocConnection>(pair, 0, limits(), address.to_string());
  connection->set_sink(sink);
  if (!door || !knock(door, *connection, pair)) {
    connection->lose(
        Error(Code::unavailable, "nobody listens").during("dial " + address.to_string()));
  }
  return std::unique_ptr<net::Connection>(std::move(connection));
}

bool InprocDriver::knock(const std::shared_ptr<InprocDoor>& door, InprocConnection& connection,
                         const std::shared_ptr<InprocPair>& pair) const {
  if (&door->dock->loop() != &dock_->loop()) {
    return door->dock->push([door, pair] { let_in(door, pair); });
  }
  connection.knock_later([door, pair] { let_in(door, pair); });
  return true;
}

}  // namespace

std::shared_ptr<InprocHub> make_inproc_hub() { return std::make_shared<InprocHub>(); }

std::unique_ptr<net::Driver> make_inproc_driver(loop::Loop& loop, InprocOptions options) {
  return std::make_unique<InprocDriver>(loop, std::move(options));
}

}  // namespace muster::drivers

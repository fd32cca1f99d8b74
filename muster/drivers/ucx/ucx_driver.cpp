#include <utility>

#include "muster/drivers/ucx/ucx.h"
#include "muster/drivers/ucx/ucx_connection.h"
#include "muster/drivers/ucx/ucx_hub.h"
#include "muster/drivers/ucx/ucx_listener.h"

namespace muster::drivers {
namespace ucx {
namespace {

class UcxDriver final : public net::Driver {
 public:
  explicit UcxDriver(std::unique_ptr<UcxHub> hub) : hub_(std::move(hub)) {}

  std::string_view scheme() const override { return "ucx"; }

  Result<std::unique_ptr<net::Listener>> listen(const net::Address& address,
                                                Accept accept) override {
    hub_->loop().check_held();
    MUSTER_TRY_OK(check(address, "listen on "));
    MUSTER_TRY(auto listener, UcxListener::open(*hub_, address, std::move(accept)));
    return std::unique_ptr<net::Listener>(std::move(listener));
  }

  Result<std::unique_ptr<net::Connection>> dial(const net::Address& address,
                                                net::Sink& sink) override {
    hub_->loop().check_held();
    MUSTER_TRY_OK(check(address, "dial "));
    auto connection = std::make_unique<UcxConnection>(*hub_);
    if (Status dialed = connection->dial(address, sink); !dialed) {
      return std::move(dialed).error().during("dial " + address.to_string());
    }
    return std::unique_ptr<net::Connection>(std::move(connection));
  }

 private:
  static Status check(const net::Address& address, const char* attempt) {
    const char* wrong = nullptr;
    if (address.scheme != "ucx") wrong = "it is not an address of ucx";
    if (!address.options.empty()) wrong = "ucx has no options";
    if (wrong == nullptr) return ok();
    return Error(Code::invalid, wrong).during(attempt + address.to_string());
  }

  std::unique_ptr<UcxHub> hub_;
};

}  // namespace
}  // namespace ucx

Result<std::unique_ptr<net::Driver>> make_ucx_driver(loop::Loop& loop,
                                                     std::unique_ptr<net::Driver> control,
                                                     UcxOptions options) {
  MUSTER_TRY(auto hub, ucx::UcxHub::make(loop, std::move(control), std::move(options)));
  return std::unique_ptr<net::Driver>(std::make_unique<ucx::UcxDriver>(std::move(hub)));
}

Result<std::vector<std::string>> ucx_fabrics(const UcxOptions& options) {
  MUSTER_TRY(const auto context, ucx::Context::open(options));
  return context->fabrics();
}

}  // namespace muster::drivers

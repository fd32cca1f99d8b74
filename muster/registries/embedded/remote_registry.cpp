#include "muster/registries/embedded/inquiry.h"
#include "muster/registries/embedded/link_carrier.h"
#include "muster/registries/embedded/member.h"
#include "muster/registries/embedded/remote.h"

namespace muster::registries {
namespace {

// The road by way of a gateway.
class RemoteRoad final : public embedded::Road {
 public:
  RemoteRoad(net::Endpoint& endpoint, const std::vector<net::Address>& gateways)
      : endpoint_(endpoint), gateways_(gateways) {}

  Result<std::unique_ptr<embedded::Carrier>> open(embedded::CarrierSink& sink) override {
    return std::unique_ptr<embedded::Carrier>(
        std::make_unique<embedded::LinkCarrier>(endpoint_, gateways_, sink));
  }
  bool is_remote() const override { return true; }
  net::Backoff backoff() const override {
    return net::Backoff(std::chrono::milliseconds(20), std::chrono::milliseconds(500));
  }

 private:
  net::Endpoint& endpoint_;
  const std::vector<net::Address>& gateways_;
};

class RemoteRegistry final : public msg::Registry {
 public:
  RemoteRegistry(loop::Loop& loop, std::unique_ptr<net::Endpoint> endpoint,
                 std::vector<net::Address> gateways)
      : loop_(loop), endpoint_(std::move(endpoint)), gateways_(std::move(gateways)) {}

  Result<std::unique_ptr<msg::Membership>> join(const msg::JoinRequest& request,
                                                msg::RegistrySink& sink) override {
    MUSTER_TRY_OK(msg::check(request));
    return std::unique_ptr<msg::Membership>(std::make_unique<embedded::EmbeddedMember>(
        loop_, std::make_unique<RemoteRoad>(*endpoint_, gateways_), request, sink));
  }

  Result<std::unique_ptr<msg::Inquiry>> ask(const std::string& group, OnRoll done) override {
    const auto open = [this](embedded::CarrierSink& sink) {
      return Result<std::unique_ptr<embedded::Carrier>>(
          std::make_unique<embedded::LinkCarrier>(*endpoint_, gateways_, sink));
    };
    return embedded::ask_who_is_there(loop_, group, open, std::move(done));
  }

 private:
  loop::Loop& loop_;
  std::unique_ptr<net::Endpoint> endpoint_;
  std::vector<net::Address> gateways_;
};

}  // namespace

Result<std::unique_ptr<msg::Registry>> make_remote_registry(loop::Loop& loop,
                                                            RemoteOptions options) {
  if (options.gateways.empty()) {
    return Error(Code::invalid, "reach a registry on another host: no gateway's address is given");
  }
  MUSTER_TRY(auto endpoint, net::Endpoint::make(loop, std::move(options.links)));
  return std::unique_ptr<msg::Registry>(
      std::make_unique<RemoteRegistry>(loop, std::move(endpoint), std::move(options.gateways)));
}

}  // namespace muster::registries

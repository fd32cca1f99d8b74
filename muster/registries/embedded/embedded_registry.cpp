#include "muster/registries/embedded/embedded.h"
#include "muster/registries/embedded/folder.h"
#include "muster/registries/embedded/hosting.h"
#include "muster/registries/embedded/inquiry.h"
#include "muster/registries/embedded/member.h"

namespace muster::registries {
namespace {

class EmbeddedRegistry final : public msg::Registry {
 public:
  EmbeddedRegistry(loop::Loop& loop, EmbeddedOptions options)
      : loop_(loop), hosts_(loop, std::move(options)) {}

  Result<std::unique_ptr<msg::Membership>> join(const msg::JoinRequest& request,
                                                msg::RegistrySink& sink) override {
    MUSTER_TRY_OK(msg::check(request));
    return std::unique_ptr<msg::Membership>(std::make_unique<embedded::EmbeddedMember>(
        loop_, std::make_unique<embedded::LocalRoad>(hosts_, request.group), request, sink));
  }

  Result<std::unique_ptr<msg::Inquiry>> ask(const std::string& group, OnRoll done) override {
    const auto open = [this, group](embedded::CarrierSink& sink) {
      return hosts_.find(group, sink);
    };
    return embedded::ask_who_is_there(loop_, group, open, std::move(done));
  }

 private:
  loop::Loop& loop_;
  embedded::GroupHosts hosts_;
};

}  // namespace

Status prepare_folder(const std::string& folder) {
  return embedded::prepare(folder.empty() ? embedded::default_base() : folder);
}

std::unique_ptr<msg::Registry> make_embedded_registry(loop::Loop& loop, EmbeddedOptions options) {
  return std::make_unique<EmbeddedRegistry>(loop, std::move(options));
}

}  // namespace muster::registries

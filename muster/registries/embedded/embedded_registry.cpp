#include <map>

#include "muster/registries/embedded/embedded.h"
#include "muster/registries/embedded/member.h"
#include "muster/registries/embedded/server.h"

namespace muster::registries {
namespace {

using embedded::EmbeddedMember;
using embedded::Folder;
using embedded::Server;

class EmbeddedRegistry final : public msg::Registry, private embedded::Hosting {
 public:
  EmbeddedRegistry(loop::Loop& loop, EmbeddedOptions options)
      : loop_(loop), options_(std::move(options)) {
    if (options_.folder.empty()) options_.folder = embedded::default_base();
  }

  Result<std::unique_ptr<msg::Membership>> join(const msg::JoinRequest& request,
                                                msg::RegistrySink& sink) override {
    MUSTER_TRY_OK(msg::check(request));
    ++groups_[request.group].members;
    Hosting& hosting = *this;
    return std::unique_ptr<msg::Membership>(
        std::make_unique<EmbeddedMember>(loop_, hosting, options_.folder, request, sink));
  }

 private:
  struct Group {
    int members = 0;
    std::unique_ptr<Server> server;  // If it is us who serve.
  };

  Status try_to_serve(const std::string& group, Folder folder) override;
  void release(const std::string& group) override;

  loop::Loop& loop_;
  EmbeddedOptions options_;
  std::map<std::string, Group> groups_;
};

Status EmbeddedRegistry::try_to_serve(const std::string& group, Folder folder) {
  std::unique_ptr<Server>& server = groups_.at(group).server;
  if (server) return ok();
  MUSTER_TRY(auto lock, folder.try_lock());
  if (!lock) return ok();
  MUSTER_TRY(server, Server::open(loop_, std::move(folder), *std::move(lock), group,
                                  {options_.stranger_patience, options_.folder_check},
                                  [&server] { server.reset(); }));
  return ok();
}

// Whoever has nobody of the group does not serve it.
void EmbeddedRegistry::release(const std::string& group) {
  const auto place = groups_.find(group);
  if (--place->second.members == 0) groups_.erase(place);
}

}  // namespace

std::unique_ptr<msg::Registry> make_embedded_registry(loop::Loop& loop, EmbeddedOptions options) {
  return std::make_unique<EmbeddedRegistry>(loop, std::move(options));
}

}  // namespace muster::registries

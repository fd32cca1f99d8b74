#include "muster/registries/embedded/hosting.h"

#include <algorithm>

#include "muster/registries/embedded/channel.h"
#include "muster/registries/embedded/process.h"
#include "muster/registries/embedded/state.h"

namespace muster::registries::embedded {

GroupHosts::GroupHosts(loop::Loop& loop, EmbeddedOptions options)
    : loop_(loop), options_(std::move(options)) {
  if (options_.folder.empty()) options_.folder = default_base();
}

Result<std::unique_ptr<Carrier>> GroupHosts::reach(const std::string& group, CarrierSink& sink) {
  MUSTER_TRY(Folder folder, Folder::open(options_.folder, group));
  Result<Descriptor> socket = folder.connect();
  if (socket) {
    auto channel = Channel::open(loop_, *std::move(socket), sink);
    if (channel) return std::unique_ptr<Carrier>(*std::move(channel));
    // A socket that a child of a dead process holds open is as good as none.
    if (channel.error().code() != Code::unavailable) return std::move(channel).error();
  }
  MUSTER_TRY_OK(try_to_serve(group, std::move(folder)));
  return Error(Code::unavailable, "nobody serves the group " + group + " yet");
}

Result<std::unique_ptr<Carrier>> GroupHosts::find(const std::string& group,
                                                  CarrierSink& sink) const {
  MUSTER_TRY(const Folder folder, Folder::find(options_.folder, group));
  if (Result<Descriptor> socket = folder.connect()) {
    auto channel = Channel::open(loop_, *std::move(socket), sink);
    if (channel) return std::unique_ptr<Carrier>(*std::move(channel));
    if (channel.error().code() != Code::unavailable) return std::move(channel).error();
  }
  // Nobody serves: because nobody is there, or because whoever did has just ended.
  const auto bytes = folder.load(kMaxState);
  if (bytes && *bytes) {
    const Result<DirectoryState> state = decode_state(**bytes);
    const auto lives = [](const Entry& entry) {
      return entry.is_present && entry.pid > 0 && !has_ended(entry.pid);
    };
    if (state && std::ranges::any_of(state->entries, lives)) {
      return Error(Code::unavailable, "nobody serves the group " + group + " just now");
    }
  }
  return Error(Code::not_found, "nobody is in the group " + group);
}

Status GroupHosts::try_to_serve(const std::string& group, Folder folder) {
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
void GroupHosts::release(const std::string& group) {
  const auto place = groups_.find(group);
  if (--place->second.users == 0) groups_.erase(place);
}

}  // namespace muster::registries::embedded

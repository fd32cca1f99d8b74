// How a Communicator comes to be: by name alone, or over the components of a group.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/collectives/communicator_core.h"
#include "muster/collectives/places.h"
#include "muster/msg/proxy.h"

namespace muster::collectives {

using internal::CommunicatorCore;
using internal::Fabric;
using internal::FabricOptions;

namespace {

constexpr Rank kMaxRanks = 1U << 16;

Status check(const CommunicatorOptions& options) {
  if (!msg::is_name(options.name)) {
    return Error(Code::invalid,
                 "join: the communicator's name must be 1 to 64 of A-Z a-z 0-9 _ - . and not "
                 "begin with a dot");
  }
  if (options.size == 0 || options.size > kMaxRanks || options.rank >= options.size) {
    return Error(Code::invalid,
                 fmt::format("join: rank {} of {} ranks cannot be", options.rank, options.size));
  }
  if (options.registry == nullptr) return Error(Code::invalid, "join: there is no registry");
  if (options.drivers.empty()) return Error(Code::invalid, "join: there is no driver");
  return ok();
}

Result<std::unique_ptr<Communicator>> join_as(loop::Loop& loop, FabricOptions options,
                                              const msg::Wait& wait) {
  const Manners manners = options.common.manners;
  MUSTER_TRY(std::shared_ptr<Fabric> fabric, Fabric::open(loop, std::move(options)));
  MUSTER_TRY(auto crew, internal::meet(fabric, manners, internal::bounded(wait, manners, loop)));
  return std::make_unique<Communicator>(
      std::make_unique<CommunicatorCore>(std::move(crew), manners));
}

// A name for the registry from two others.
std::string joined_name(const std::string& group, const std::string& name) {
  std::string joined = fmt::format("{}.{}", group, name);
  if (joined.size() <= msg::kMaxName) return joined;
  return fmt::format("{}.{:016x}", group.substr(0, msg::kMaxName / 2),
                     std::hash<std::string>{}(joined));
}

}  // namespace

Result<std::unique_ptr<Communicator>> Communicator::join(loop::Loop& loop,
                                                         CommunicatorOptions options,
                                                         const msg::Wait& wait) {
  MUSTER_TRY_OK(check(options));
  if (!options.id) options.id = Id::random();
  FabricOptions made;
  made.group = options.name;
  made.member = fmt::format("rank_{}_{:08x}", options.rank, options.id.low & 0xFFFFFFFF);
  made.digest = options.name;
  made.common = std::move(options);
  return join_as(loop, std::move(made), wait);
}

Result<std::unique_ptr<Communicator>> Communicator::over(msg::Proxy& proxy, const std::string& name,
                                                         const std::vector<std::string>& members,
                                                         const Manners& manners,
                                                         const msg::Wait& wait) {
  const auto own = std::ranges::find(members, proxy.name());
  if (own == members.end()) {
    return Error(Code::invalid, fmt::format("join: {} is not among the members", proxy.name()));
  }
  for (auto one = members.begin(); one != members.end(); ++one) {
    // It would have two ranks, and be waited for as the second of them.
    if (std::find(std::next(one), members.end(), *one) == members.end()) continue;
    return Error(Code::invalid, fmt::format("join: {} is among the members twice", *one));
  }
  const msg::ProxyOptions& given = proxy.options();
  CommunicatorOptions options;
  options.name = name;
  options.size = static_cast<Rank>(members.size());
  options.rank = static_cast<Rank>(own - members.begin());
  options.manners = manners;
  options.registry = given.registry;
  options.drivers = given.drivers;
  options.listen = internal::places_beside(given.listen);
  options.token = given.token;
  options.tokens = given.tokens;
  options.beat = given.beat;
  options.silence = given.silence;
  MUSTER_TRY_OK(check(options));
  FabricOptions made;
  made.group = joined_name(proxy.group(), name);
  made.member = proxy.name();
  made.digest = fmt::format("{} {}", name, fmt::join(members, " "));
  made.common = std::move(options);
  return join_as(proxy.loop(), std::move(made), wait);
}

Result<std::unique_ptr<Communicator>> Communicator::over_type(msg::Proxy& proxy,
                                                              const std::string& name,
                                                              const std::string& type, Rank size,
                                                              const Manners& manners,
                                                              const msg::Wait& wait) {
  if (proxy.type() != type) {
    return Error(Code::invalid,
                 fmt::format("join: {} is of type {}, not {}", proxy.name(), proxy.type(), type));
  }
  const msg::Wait until = internal::bounded(wait, manners, proxy.loop());
  if (size > 1) {
    MUSTER_TRY_OK(proxy.wait_for_peers({{.type = type, .count = size - 1}}, until));
  }
  std::vector<std::string> members = proxy.peer_names(type);
  members.push_back(proxy.name());
  std::ranges::sort(members);
  if (members.size() != size) {
    return Error(Code::invalid, fmt::format("join: there are {} components of type {}, not {}",
                                            members.size(), type, size));
  }
  return over(proxy, name, members, manners, until);
}

}  // namespace muster::collectives

// `muster peers`: who is in a group, and how each does.

#include <chrono>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/muster/commands.h"
#include "apps/muster/exit.h"
#include "apps/muster/peers_view.h"
#include "muster/registries/embedded/remote.h"
#include "muster/registries/redis/redis.h"
#include "muster/runtime/runtime.h"

namespace muster::app {
namespace {

struct Options {
  std::string group;
  std::string registry;
  std::string token_file;
  double wait_s = 3;
  bool json = false;
};

// The one that `url` names.
Result<std::unique_ptr<msg::Registry>> make_registry(Runtime& runtime, const std::string& url) {
  const loop::Turn turn(runtime.loop());
  if (url.starts_with("redis://") || url.starts_with("rediss://")) {
    MUSTER_TRY(registries::RedisOptions options, registries::RedisOptions::parse(url));
    return registries::make_redis_registry(runtime.loop(), std::move(options));
  }
  MUSTER_TRY(net::Address gateway, net::Address::parse(url));
  registries::RemoteOptions options;
  options.links.tokens = runtime.tokens();
  options.links.name = "onlooker";
  options.links.drivers = runtime.drivers();
  options.gateways = {std::move(gateway)};
  return registries::make_remote_registry(runtime.loop(), std::move(options));
}

Status run(const Options& options) {
  MUSTER_TRY(const auto runtime, Runtime::make({.token = {.file = options.token_file}}));
  std::unique_ptr<msg::Registry> registry;
  if (!options.registry.empty()) {
    MUSTER_TRY(registry, make_registry(*runtime, options.registry));
  }
  const std::chrono::duration<double> patience(options.wait_s);
  const auto found = runtime->survey({.group = options.group, .registry = registry.get()},
                                     msg::Wait(std::chrono::duration_cast<Duration>(patience)));
  {
    const loop::Turn turn(runtime->loop());
    registry.reset();
  }
  if (!found) return found.error();
  if (found->empty() && !options.json) {
    fmt::print("nobody is in the group {}\n", options.group);
    return ok();
  }
  fmt::print("{}", options.json ? to_json(*found) : to_table(*found));
  return ok();
}

}  // namespace

void add_peers(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<Options>();
  auto* cmd = app.add_subcommand("peers", "Who is in a group, and how each does");
  cmd->add_option("group", options->group, "The group's name")->required();
  cmd->add_option("--registry", options->registry,
                  "redis://HOST, rediss://HOST, or the address of a gateway, such as "
                  "tcp://HOST:PORT; without it, the groups of this user on this host");
  cmd->add_option("--token-file", options->token_file, "The token file, if not the user's own");
  cmd->add_option("--wait", options->wait_s, "Seconds that the members may take to answer")
      ->check(CLI::Range(0.01, 3600.0));
  cmd->add_flag("--json", options->json, "Print all there is, for scripts");
  cmd->callback([options, &exit] { exit.with(run(*options)); });
}

}  // namespace muster::app

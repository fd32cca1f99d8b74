#include "muster/registries/redis/redis.h"

#include "muster/base/check.h"
#include "muster/msg/testing/registry_suite.h"
#include "muster/registries/redis/testing/redis_server.h"

namespace muster::msg::testing {
namespace {

using registries::RedisOptions;
using registries::redis::RedisServer;
using registries::redis::RedisServerOptions;

// What the registry's page says that an ACL user needs.
constexpr const char* kAclUser =
    "muster on >secret resetchannels &suite::* &one::* &two::* resetkeys ~suite:* ~one:* ~two:* "
    "-@all +hello +select +subscribe +eval +hget +hset +hdel +hlen +hgetall +get +set +del +exists "
    "+sadd +smembers +pexpire +publish +time";

class RedisWorld final : public RegistryWorld {
 public:
  explicit RedisWorld(const RedisServerOptions& options, std::string user)
      : options_(options), server_(options), user_(std::move(user)) {}

  // A URL, and the file of the authority.
  std::string whereabouts() const override {
    return std::string(options_.has_tls ? "rediss" : "redis") + "://" + user_ +
           "127.0.0.1:" + std::to_string(server_.port()) + "/" + "|" + server_.ca_file();
  }
  void break_down() override {
    if (options_.keeps_data) return server_.shut_down();
    server_.kill_it();
  }
  void repair() override { server_.start(); }

 private:
  RedisServerOptions options_;
  RedisServer server_;
  std::string user_;
};

std::unique_ptr<Registry> make_registry(loop::Loop& loop, const std::string& whereabouts) {
  const std::size_t bar = whereabouts.find('|');
  RedisOptions options = *RedisOptions::parse(whereabouts.substr(0, bar));
  options.tls.ca_file = whereabouts.substr(bar + 1);
  auto registry = registries::make_redis_registry(loop, options);
  MUSTER_CHECK(registry.has_value(), "the test's certificate can be read");
  return *std::move(registry);
}

RegistrySubject redis(const std::string& name, const RedisServerOptions& options,
                      const std::string& user = "") {
  return {.name = name,
          .make_world = [=] { return std::make_unique<RedisWorld>(options, user); },
          .make_registry = make_registry,
          .knows_at_once = false};
}

MUSTER_REGISTRY_SUITE(Redis, redis("redis", {}),
                      redis("redis_kept", {.password = "secret", .keeps_data = true}, ":secret@"),
                      redis("redis_acl_tls", {.acl_user = kAclUser, .has_tls = true},
                            "muster:secret@"));

}  // namespace
}  // namespace muster::msg::testing

#include "muster/registries/redis/redis.h"
#include "muster/registries/redis/redis_inquiry.h"
#include "muster/registries/redis/redis_member.h"

namespace muster::registries {
namespace {

class RedisRegistry final : public msg::Registry {
 public:
  RedisRegistry(loop::Loop& loop, RedisOptions options, redis::TlsContext tls)
      : loop_(loop), resolver_(loop), setting_{std::move(options), std::move(tls), resolver_} {}

  Result<std::unique_ptr<msg::Membership>> join(const msg::JoinRequest& request,
                                                msg::RegistrySink& sink) override {
    MUSTER_TRY_OK(msg::check(request));
    return std::unique_ptr<msg::Membership>(
        std::make_unique<redis::RedisMember>(loop_, setting_, request, sink));
  }

  Result<std::unique_ptr<msg::Inquiry>> ask(const std::string& group, OnRoll done) override {
    return redis::ask_who_is_there(loop_, setting_, group, std::move(done));
  }

 private:
  loop::Loop& loop_;
  net::Resolver resolver_;
  redis::RedisSetting setting_;
};

}  // namespace

Result<std::unique_ptr<msg::Registry>> make_redis_registry(loop::Loop& loop, RedisOptions options) {
  redis::TlsContext tls;
  if (options.tls.is_on) {
    MUSTER_TRY(tls, redis::make_tls_context(options.tls));
  }
  return std::unique_ptr<msg::Registry>(
      std::make_unique<RedisRegistry>(loop, std::move(options), std::move(tls)));
}

}  // namespace muster::registries

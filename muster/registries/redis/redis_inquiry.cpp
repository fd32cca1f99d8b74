#include "muster/registries/redis/redis_inquiry.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "muster/registries/redis/layout.h"

namespace muster::registries::redis {
namespace {

using Members = Result<std::vector<msg::Member>>;

constexpr Duration kPatience = std::chrono::seconds(5);

class RollInquiry final : public msg::Inquiry, private RedisClientSink {
 public:
  RollInquiry(loop::Loop& loop, const RedisSetting& setting, std::string group,
              msg::Registry::OnRoll done)
      : loop_(loop),
        group_(std::move(group)),
        done_(std::move(done)),
        end_timer_([this] { tell(); }) {
    RedisClientSink& sink = *this;
    client_ = std::make_unique<RedisClient>(loop, setting, kPatience, sink);
    client_->start();
  }
  RollInquiry(const RollInquiry&) = delete;
  RollInquiry& operator=(const RollInquiry&) = delete;

 private:
  void on_ready() override {
    const Duration lease = msg::JoinRequest{}.lease;
    client_->send(roll_command(group_, lease), [this](const Reply& reply) { take(reply); });
  }
  void on_push(const Reply&) override {}
  void on_gone(const Error& why) override {
    client_.reset();
    finish(why.during("ask who is in " + group_));
  }

  void take(const Reply& reply) {
    Result<Roll> roll = read_roll(reply);
    if (!roll) return finish(roll.error());
    std::vector<msg::Member> found;
    for (Listed& listed : roll->listed) {
      if (listed.is_leased) found.push_back(std::move(listed.member));
    }
    std::ranges::sort(found, {}, &msg::Member::name);
    finish(std::move(found));
  }

  // Later: the client is in the middle of something.
  void finish(const Members& members) {
    if (members_) return;
    members_ = members;
    loop_.start(end_timer_, loop_.now());
  }
  void tell() {
    client_.reset();
    const auto done = std::move(done_);
    done(*std::move(members_));
  }

  loop::Loop& loop_;
  const std::string group_;
  msg::Registry::OnRoll done_;
  std::unique_ptr<RedisClient> client_;
  std::optional<Members> members_;
  loop::Timer end_timer_;
};

}  // namespace

Result<std::unique_ptr<msg::Inquiry>> ask_who_is_there(loop::Loop& loop,
                                                       const RedisSetting& setting,
                                                       const std::string& group,
                                                       msg::Registry::OnRoll done) {
  MUSTER_TRY_OK(msg::check_group(group));
  return std::unique_ptr<msg::Inquiry>(
      std::make_unique<RollInquiry>(loop, setting, group, std::move(done)));
}

}  // namespace muster::registries::redis

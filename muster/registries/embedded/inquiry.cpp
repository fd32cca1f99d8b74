#include "muster/registries/embedded/inquiry.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace muster::registries::embedded {
namespace {

using Roll = Result<std::vector<msg::Member>>;

constexpr Duration kPatience = std::chrono::seconds(2);
// A change of who serves takes less.
constexpr Duration kRetry = std::chrono::milliseconds(5);

class RollInquiry final : public msg::Inquiry, private CarrierSink {
 public:
  RollInquiry(loop::Loop& loop, std::string group, OpenCarrier open, msg::Registry::OnRoll done)
      : loop_(loop),
        group_(std::move(group)),
        open_(std::move(open)),
        done_(std::move(done)),
        attempt_timer_([this] { attempt(); }),
        deadline_timer_([this] { finish(why_not_.during("ask who is in " + group_)); }),
        end_timer_([this] { tell(); }) {
    loop_.start(attempt_timer_, loop_.now());
    loop_.start(deadline_timer_, loop_.now() + kPatience);
  }
  RollInquiry(const RollInquiry&) = delete;
  RollInquiry& operator=(const RollInquiry&) = delete;

 private:
  void attempt() {
    found_.clear();
    CarrierSink& sink = *this;
    auto carrier = open_(sink);
    if (!carrier && carrier.error().code() == Code::not_found) return finish(found_);
    if (!carrier && carrier.error().code() != Code::unavailable) return finish(carrier.error());
    if (!carrier) return on_gone(carrier.error());
    carrier_ = *std::move(carrier);
    Message question{.kind = Kind::ask};
    question.group = group_;
    carrier_->send(question);
  }

  void on_packet(std::span<const std::byte> bytes) override {
    Result<Message> message = decode(bytes);
    if (!message) return finish(message.error());
    if (message->kind == Kind::joined) return found_.push_back(std::move(message->member));
    if (message->kind == Kind::refused) return finish(Error(message->code, message->text));
    if (message->kind == Kind::counted) finish(std::move(found_));
  }
  void on_gone(const Error& why) override {
    carrier_.reset();
    why_not_ = Error(Code::unavailable, why.message());
    if (!roll_) loop_.start(attempt_timer_, loop_.now() + kRetry);
  }

  // Later: the carrier is in the middle of something.
  void finish(Roll roll) {
    if (roll_) return;
    roll_ = std::move(roll);
    loop_.start(end_timer_, loop_.now());
  }
  void tell() {
    for (loop::Timer* timer : {&attempt_timer_, &deadline_timer_}) loop_.stop(*timer);
    carrier_.reset();
    if (*roll_) std::ranges::sort(**roll_, {}, &msg::Member::name);
    const auto done = std::move(done_);
    done(*std::move(roll_));
  }

  loop::Loop& loop_;
  const std::string group_;
  OpenCarrier open_;
  msg::Registry::OnRoll done_;
  std::unique_ptr<Carrier> carrier_;
  std::vector<msg::Member> found_;
  std::optional<Roll> roll_;
  Error why_not_{Code::timeout, "whoever serves does not answer"};
  loop::Timer attempt_timer_;
  loop::Timer deadline_timer_;
  loop::Timer end_timer_;
};

}  // namespace

Result<std::unique_ptr<msg::Inquiry>> ask_who_is_there(loop::Loop& loop, const std::string& group,
                                                       OpenCarrier open,
                                                       msg::Registry::OnRoll done) {
  MUSTER_TRY_OK(msg::check_group(group));
  return std::unique_ptr<msg::Inquiry>(
      std::make_unique<RollInquiry>(loop, group, std::move(open), std::move(done)));
}

}  // namespace muster::registries::embedded

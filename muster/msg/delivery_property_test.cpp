// KeptMessages and Arrivals against each other: a sender and a receiver whose link
// breaks and whose receiver dies whenever chance wants it.

#include <array>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "muster/msg/arrivals.h"
#include "muster/msg/kept_messages.h"

namespace muster::msg {
namespace {

constexpr KeptLimits kLimits{.max_messages = 6, .max_bytes = 1 << 20};

class Pair {
 public:
  explicit Pair(bool has_store) : has_store_(has_store) {}

  void step(std::uint8_t chance) {
    const std::size_t choice = chance >> 4;
    switch (chance % 10) {
      case 0:
      case 1: push(choice % net::kPriorities); break;
      case 2:
      case 3: send(); break;
      case 4:
      case 5: arrive(choice % net::kPriorities); break;
      case 6: handle(choice); break;
      case 7: report(); break;
      case 8: begin_link(); break;
      case 9:
        break_link();
        if (choice % 4 == 0) die();
        break;
    }
  }

  // All is handled in the end.
  void finish() {
    for (int round = 0; round < 100 && !kept_.empty(); ++round) {
      begin_link();
      send();
      for (std::size_t lane = 0; lane < net::kPriorities; ++lane) {
        while (arrive(lane)) {
        }
      }
      while (!held_.empty()) handle(0);
      report();
    }
    RC_ASSERT(kept_.empty() && kept_.bytes() == 0U);
    for (std::uint64_t i = 1; i <= last_; ++i) {
      const int times = handled_[MessageId{7, i}];
      const bool is_enough = has_store_ ? times == 1 : times >= 1;
      RC_ASSERT(is_enough);
    }
  }

 private:
  struct Sent {
    MessageId id;
    bool is_redelivered;
    std::uint32_t heard;
  };

  void push(std::size_t priority) {
    KeptMessage kept;
    kept.message.head.message = {7, last_ + 1};
    kept.message.priority = static_cast<Priority>(priority);
    const bool is_full = kept_.count() == kLimits.max_messages;
    RC_ASSERT(kept_.push(kept).has_value() != is_full);
    if (!is_full) ++last_;
  }

  void send() {
    while (KeptMessage* kept = kept_.next()) {
      lanes_[static_cast<std::size_t>(kept->message.priority)].push_back(
          {kept->message.head.message, kept->may_have_come, heard_});
      kept_.sent(*kept);
    }
  }

  bool arrive(std::size_t lane) {
    if (lanes_[lane].empty()) return false;
    const Sent sent = lanes_[lane].front();
    lanes_[lane].pop_front();
    std::vector<MessageId> forgotten;
    RC_ASSERT(arrivals_.confirm(sent.heard, forgotten));
    for (const MessageId& id : forgotten) store_.erase(id);
    RC_ASSERT(arrivals_.take(sent.id));          // Never twice to one incarnation,
    RC_ASSERT(sent.id.low > last_taken_[lane]);  // and in order.
    RC_ASSERT(sent.is_redelivered || handled_[sent.id] == 0);
    RC_ASSERT(!has_store_ || handled_[sent.id] == 0);
    last_taken_[lane] = sent.id.low;
    held_.push_back(sent.id);
    RC_ASSERT(arrivals_.held() + arrivals_.unconfirmed() <= 2 * kLimits.max_messages);
    return true;
  }

  void handle(std::size_t which) {
    if (held_.empty()) return;
    const auto at = held_.begin() + static_cast<std::ptrdiff_t>(which % held_.size());
    ++handled_[*at];
    if (has_store_) store_.insert(*at);
    RC_ASSERT(arrivals_.done(*at) && !arrivals_.done(*at));
    held_.erase(at);
  }

  // To the end of the link, where it may still be lost.
  void report() {
    if (!is_linked_) return;
    const DeliveryReport report = arrivals_.unreported(3);
    arrivals_.told(report.done.size());
    for (const DoneMessage& one : report.done) hear(one);
  }
  void hear(const DoneMessage& one) {
    kept_.remove(one.id);
    ++heard_;
  }

  void begin_link() {
    break_link();
    is_linked_ = true;
    const DeliveryReport holdings = arrivals_.begin_link();
    arrivals_.told(holdings.done.size());
    for (const DoneMessage& one : holdings.done) hear(one);
    kept_.link_began({1, incarnation_}, holdings.held);
  }

  void break_link() {
    is_linked_ = false;
    heard_ = 0;
    for (auto& lane : lanes_) lane.clear();
    kept_.link_broke();
  }

  void die() {
    ++incarnation_;
    arrivals_ = Arrivals();
    held_.clear();
    last_taken_ = {};
    for (const MessageId& id : store_) arrivals_.restore(id);
  }

  const bool has_store_;
  KeptMessages kept_{kLimits};
  Arrivals arrivals_;
  std::array<std::deque<Sent>, net::kPriorities> lanes_;
  std::array<std::uint64_t, net::kPriorities> last_taken_{};
  std::vector<MessageId> held_;
  std::set<MessageId> store_;
  std::map<MessageId, int> handled_;
  std::uint64_t last_ = 0;
  std::uint64_t incarnation_ = 1;
  std::uint32_t heard_ = 0;
  bool is_linked_ = false;
};

RC_GTEST_PROP(DeliveryProperty, EveryMessageIsHandledAtLeastOnceAndOnceByOneIncarnation,
              (const std::vector<std::uint8_t>& chances)) {
  Pair pair(false);
  for (const std::uint8_t chance : chances) pair.step(chance);
  pair.finish();
}

RC_GTEST_PROP(DeliveryProperty, WithAStoreEveryMessageIsHandledExactlyOnce,
              (const std::vector<std::uint8_t>& chances)) {
  Pair pair(true);
  for (const std::uint8_t chance : chances) pair.step(chance);
  pair.finish();
}

TEST(Arrivals, RefuseToForgetWhatTheSenderWasNotTold) {
  Arrivals arrivals;
  std::vector<MessageId> forgotten;
  arrivals.begin_link();
  EXPECT_TRUE(arrivals.take({1, 1}));
  EXPECT_TRUE(arrivals.done({1, 1}));
  EXPECT_FALSE(arrivals.confirm(1, forgotten));
  arrivals.told(1);
  EXPECT_TRUE(arrivals.confirm(1, forgotten));
  EXPECT_EQ(forgotten, (std::vector<MessageId>{{1, 1}}));
  EXPECT_TRUE(arrivals.confirm(0, forgotten)) << "what was said before is no news";
  EXPECT_FALSE(arrivals.confirm(2, forgotten));
}

TEST(KeptMessages, GivesUpWhatIsDueUnlessItIsUnderWay) {
  KeptMessages kept(kLimits);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    KeptMessage one;
    one.message.head.message = {1, i};
    one.deadline = TimePoint() + std::chrono::seconds(i);
    ASSERT_TRUE(kept.push(one));
  }
  kept.link_began({1, 1}, {});
  kept.sent(*kept.next());
  const auto expired = kept.expire(TimePoint() + std::chrono::seconds(2));
  ASSERT_EQ(expired.size(), 1U);
  EXPECT_EQ(expired[0].head.message, (MessageId{1, 2}));
  EXPECT_EQ(kept.next()->message.head.message, (MessageId{1, 3}));
  kept.link_broke();
  EXPECT_EQ(kept.expire(kForever).size(), 2U);
  EXPECT_EQ(kept.bytes(), 0U);
}

RC_GTEST_PROP(DeliveryReportCodec, ReadsWhatItWrote,
              (const std::vector<std::pair<std::uint64_t, bool>>& done,
               const std::vector<std::uint64_t>& held)) {
  DeliveryReport report;
  for (const auto& [low, is_refused] : done) {
    report.done.push_back(
        {{3, low}, is_refused ? std::optional(Error(Code::failed, "why")) : std::nullopt});
    report.done.back().reply = static_cast<DoneMessage::Reply>(low % 3);
  }
  for (const std::uint64_t low : held) report.held.push_back({4, low});
  const auto body = encode_report(report);
  RC_ASSERT(body.has_value());
  const auto read = decode_report(body->form, body->compression, body->parts);
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == report);
}

TEST(DeliveryReportCodec, RefusesWhatIsNoReport) {
  const auto is_refused = [](const wire::Value& value) {
    const auto body = *encode_body(value);
    const auto report = decode_report(body.form, body.compression, body.parts);
    return !report && report.error().code() == Code::invalid;
  };
  const Buffer one = Buffer::adopt(std::vector<std::byte>(16, std::byte{1}));
  EXPECT_TRUE(is_refused(wire::Value()));
  EXPECT_TRUE(is_refused(Buffer::copy_of("fifteen bytes..")));
  EXPECT_TRUE(is_refused(Buffer::adopt(std::vector<std::byte>(16))));
  EXPECT_TRUE(is_refused(wire::Value::Map{{"done", one}, {"held", one}}));
  EXPECT_TRUE(is_refused(wire::Value::Map{
      {"done", one}, {"held", one}, {"refused", wire::Value::List{wire::Value::List{1, "x"}}}}));
  EXPECT_TRUE(
      is_refused(wire::Value::Map{{"done", one}, {"held", 7}, {"refused", wire::Value::List{}}}));
  const auto with_replies = [&](const Buffer& replies) {
    return wire::Value::Map{
        {"done", one}, {"held", one}, {"refused", wire::Value::List{}}, {"replies", replies}};
  };
  EXPECT_FALSE(is_refused(with_replies(Buffer::copy_of("\x02"))));
  EXPECT_TRUE(is_refused(with_replies(Buffer::copy_of("\x03")))) << "there is no such";
  EXPECT_TRUE(is_refused(with_replies(Buffer::copy_of("\x01\x01")))) << "one too many";
}

}  // namespace
}  // namespace muster::msg

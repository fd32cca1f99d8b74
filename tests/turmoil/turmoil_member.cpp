// One of the eight.

#include <atomic>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "muster/base/check.h"
#include "muster/msg/file_dedup_store.h"
#include "muster/msg/file_outbox.h"
#include "muster/net/testing/child_process.h"
#include "tests/turmoil/site.h"
#include "tests/turmoil/turmoil.h"

namespace muster::tests {
namespace {

using msg::Delivery;
using msg::Message;
using msg::Proxy;
using msg::SessionId;
using msg::SessionType;
using msg::Wait;
using std::chrono::milliseconds;

// What survives a kill is in the kernel; nobody turns the power off.
constexpr JournalOptions kNoSync{.syncs = false};
constexpr int kEffectsPerSnapshot = 20'000;

// FileOutbox, and the last number for each that it holds.
class NumberedOutbox final : public msg::OutboxStore {
 public:
  explicit NumberedOutbox(const std::string& path)
      : file_(*msg::FileOutbox::open(path, {.journal = kNoSync})) {}

  Result<std::vector<msg::StoredMessage>> load() override {
    MUSTER_TRY(auto all, file_->load());
    for (const msg::StoredMessage& one : all) {
      const auto body =
          msg::decode_body(one.message.head.form, one.message.head.compression, one.message.parts);
      std::uint64_t& last = last_[one.destination];
      last = std::max(last, body->as_unsigned().value_or(0));
    }
    return all;
  }
  Status write(std::span<const msg::StoredMessage> added,
               std::span<const msg::MessageId> removed) override {
    return file_->write(added, removed);
  }
  std::uint64_t last(const std::string& name) { return last_[name]; }

 private:
  std::unique_ptr<msg::FileOutbox> file_;
  std::map<std::string, std::uint64_t> last_;
};

class Member {
 public:
  Member(net::testing::Parent& parent)
      : pipe_(parent.pipe),
        name_(parent.arguments[1]),
        numbers_(std::stoull(parent.arguments[3])),
        begin_(TimePoint(Duration(std::stoll(parent.arguments[4])))),
        time_(std::stoll(parent.arguments[5])),
        outbox_(parent.arguments[0] + "/" + name_ + ".outbox"),
        site_(parent.arguments[0], parent.arguments[2]) {
    store_ = *msg::FileDedupStore::open(
        parent.arguments[0] + "/" + name_ + ".handled",
        [this](std::span<const std::byte> effect) { apply(effect); }, {.journal = kNoSync});
    for (int i = 0; i < kMembers; ++i) {
      const std::string other = "member_" + std::to_string(i);
      if (other != name_) others_[other] = {};
    }
    msg::ProxyOptions options = site_.options(name_);
    options.dedup = store_.get();
    options.outbox = &outbox_;
    proxy_ = site_.join(options);
  }

  // Until it is told to leave; then its exit code.
  int run() {
    std::thread listener([this] { listen(); });
    while (!is_told_to_leave_) {
      const bool has_sent = send();
      serve(has_sent ? Duration::zero() : Duration(milliseconds(5)));
      if (is_told_to_report_.exchange(false)) pipe_.write_line(report());
    }
    listener.join();
    return proxy_->leave(std::chrono::seconds(60)) ? 0 : 1;
  }

 private:
  struct Other {
    SessionId asked = {};    // What it has of ours.
    std::uint64_t next = 0;  // 0: it has not said.
    bool is_known = false;
  };

  void listen() {
    for (;;) {
      const Result<std::string> line = pipe_.read_line(std::chrono::minutes(10));
      if (!line) std::_Exit(2);
      if (*line == "report") is_told_to_report_ = true;
      if (*line == "leave") {
        is_told_to_leave_ = true;
        return;
      }
    }
  }

  std::string report() const {
    std::string text = "handled";
    for (const auto& [name, last] : last_) text += " " + name + "=" + std::to_string(last);
    return text;
  }

  // An effect is a line "NAME NUMBER", a snapshot several.
  void apply(std::span<const std::byte> effect) {
    std::istringstream lines(
        std::string(reinterpret_cast<const char*>(effect.data()), effect.size()));
    std::string name;
    std::uint64_t number = 0;
    while (lines >> name >> number) last_[name] = number;
  }

  void serve(Duration patience) {
    std::vector<Message> handled;
    for (int i = 0; i < 256; ++i) {
      const auto message = proxy_->receive_once(Wait(i == 0 ? patience : Duration::zero()));
      MUSTER_CHECK(message.has_value(), "nobody takes the name of one that lives");
      if (!*message) break;
      if ((*message)->is("last")) {
        static_cast<void>(proxy_->reply(**message, last_[std::string((*message)->source())], {},
                                        milliseconds(0)));
      } else {
        handle(**message);
        handled.push_back(**message);
      }
    }
    if (!handled.empty()) MUSTER_CHECK(proxy_->done(handled).has_value(), "it was not done before");
  }

  void handle(const Message& message) {
    const std::string source(message.source());
    const std::uint64_t number = message.body().as_unsigned().value_or(0);
    const std::string effect = source + " " + std::to_string(number) + "\n";
    if (number != last_[source] + 1) {
      pipe_.write_line("broken: after " + std::to_string(last_[source]) + " came " + effect);
      std::_Exit(3);
    }
    MUSTER_CHECK(store_->commit(message, std::as_bytes(std::span(effect))).has_value(),
                 "a handled message does not come again");
    last_[source] = number;
    if (++effects_ % kEffectsPerSnapshot != 0) return;
    std::string snapshot;
    for (const auto& [name, last] : last_) snapshot += name + " " + std::to_string(last) + "\n";
    MUSTER_CHECK(store_->compact(std::as_bytes(std::span(snapshot))).has_value(), "there is room");
  }

  // False if there is nothing to send just now.
  bool send() {
    bool has_sent = false;
    bool is_over = true;
    for (auto& [name, other] : others_) {
      if (other.is_known) {
        has_sent |= send_numbers(name, other);
      } else {
        ask(name, other);
      }
      is_over &= other.is_known && other.next > numbers_;
    }
    if (is_over && !has_announced_ && proxy_->counters().kept == 0) {
      pipe_.write_line("sent");
      has_announced_ = true;
    }
    return has_sent;
  }

  // All that was ever sent is either here, in the outbox, or handled there.
  void ask(const std::string& name, Other& other) {
    if (!other.asked) {
      const auto asked = proxy_->isend({.tag = "last",
                                        .destination = name,
                                        .deadline = site_.loop().now() + std::chrono::seconds(5)});
      if (asked) other.asked = *asked;
      return;
    }
    if (!proxy_->is_answered(other.asked)) return;
    const auto replies = proxy_->receive_by_id({std::exchange(other.asked, {})}, milliseconds(0));
    if (!replies || replies->messages.empty()) return;
    const std::uint64_t handled = replies->messages[0].body().as_unsigned().value_or(0);
    other.next = std::max(handled, outbox_.last(name)) + 1;
    other.is_known = true;
  }

  // No faster than that there is something to lose all the time.
  bool send_numbers(const std::string& name, Other& other) {
    const double part = static_cast<double>((site_.loop().now() - begin_).count()) /
                        static_cast<double>(time_.count());
    const auto due =
        std::min(numbers_, static_cast<std::uint64_t>(static_cast<double>(numbers_) * part));
    bool has_sent = false;
    for (int i = 0; i < 64 && other.next <= due; ++i) {
      const auto sent = proxy_->isend({.tag = "number",
                                       .destination = name,
                                       .body = other.next,
                                       .session_type = SessionType::notification,
                                       .delivery = Delivery::at_least_once});
      if (!sent) break;
      ++other.next;
      has_sent = true;
    }
    return has_sent;
  }

  net::testing::LinePipe& pipe_;
  const std::string name_;
  const std::uint64_t numbers_;
  const TimePoint begin_;
  const Duration time_;
  std::map<std::string, std::uint64_t> last_;
  std::unique_ptr<msg::FileDedupStore> store_;
  NumberedOutbox outbox_;
  Site site_;
  std::unique_ptr<Proxy> proxy_;
  std::map<std::string, Other> others_;
  int effects_ = 0;
  bool has_announced_ = false;
  std::atomic<bool> is_told_to_report_{false};
  std::atomic<bool> is_told_to_leave_{false};
};

}  // namespace

MUSTER_ROLE(turmoil_member) { return Member(parent).run(); }

}  // namespace muster::tests

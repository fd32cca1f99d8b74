// ProxyCore: what is behind a Proxy. All of it under the loop's baton.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/result.h"
#include "muster/loop/loop.h"
#include "muster/msg/mailbox.h"
#include "muster/msg/outbox.h"
#include "muster/msg/peer_link.h"
#include "muster/msg/peer_table.h"
#include "muster/msg/proxy.h"
#include "muster/msg/proxy_options.h"
#include "muster/msg/registry.h"
#include "muster/msg/session_table.h"
#include "muster/msg/trace.h"
#include "muster/net/backoff.h"
#include "muster/net/endpoint.h"

namespace muster::msg::internal {

// How one peer is reached.
struct Channel {
  Channel(const ProxyOptions& options, std::function<void()> dial)
      : outbox(options.absent),
        backoff(options.first_redial, options.longest_redial),
        redial(std::move(dial)) {}

  std::unique_ptr<PeerLink> link;     // Introduced both ways.
  std::unique_ptr<PeerLink> dialing;  // Not yet.
  Outbox outbox;
  net::Backoff backoff;
  loop::Timer redial;
  bool was_here = false;
  net::LinkCounters past;  // Of links that are no more.
};

class ProxyCore final : private RegistrySink, private loop::Flusher {
 public:
  static Result<std::unique_ptr<ProxyCore>> make(loop::Loop& loop, ProxyOptions options);
  ~ProxyCore();  // Takes the baton itself.
  ProxyCore(const ProxyCore&) = delete;
  ProxyCore& operator=(const ProxyCore&) = delete;

  // Any thread. Code::invalid in a child of the process that made it.
  Status check_process() const;
  bool is_this_process() const { return forks_ == current_forks(); }

  // Membership (proxy_members.cpp).
  void leave();
  bool has_left() const;
  bool is_joined() const { return is_admitted_ && !end_; }
  bool has(const std::vector<Expected>& expected) const;
  std::string missing_of(const std::vector<Expected>& expected) const;

  // Links (proxy_links.cpp).
  void link_up(PeerLink& link);
  void link_closed(PeerLink& link, const Error& why);
  void room_came() { ++rooms_; }
  net::Link* some_link(std::string_view scheme) const;

  // Sending (proxy_transmit.cpp).
  Result<PeerId> resolve(const Destination& destination) const;
  // Opens a session, if anybody is to wait for the answer, and sends. `body` is
  // moved from unless there is an error; then there is no session either.
  Result<SessionId> submit(PeerId peer, const Draft& draft, EncodedBody& body,
                           std::function<void(SessionTable::Outcome)> done = nullptr);
  // Hands `message` to the peer's link, or keeps it for its return. It is moved
  // from unless there is an error.
  Status transmit(PeerId peer, OutgoingMessage& message);
  MessageHead head_for(const Draft& draft, const EncodedBody& body, SessionId session);
  MessageId next_message_id() { return {nonce_, ++last_message_}; }
  std::uint32_t time_left(TimePoint deadline) const;
  void message_refused(PeerLink& link, wire::Frame& frame, const Error& why);
  // Changes whenever what was overloaded may not be so any more.
  std::uint64_t rooms() const { return rooms_ + sessions_.released(); }

  // Receiving (proxy_deliver.cpp).
  void message_came(PeerLink& link, wire::Frame& frame, net::Lane lane, std::size_t cost);
  bool has_waiting() const { return !mailbox_.empty(); }
  // The next for receive(). Sends its receipt, if it wants one.
  Incoming take_waiting();
  // Any thread: the body is decoded here.
  Result<Message> make_message(const Incoming& incoming) const {
    return MessageMaker::make(incoming, own_name_, options_.body_limits, options_.keeps_encoded);
  }
  void when_receivable(std::function<void()> action);
  // Its body is not what its head says: tells the sender, and us.
  void refuse(const Incoming& incoming, const Error& why);

  void tell(ProxyEvent event);
  std::deque<ProxyEvent>& events() { return events_; }
  // Any thread, without the baton.
  bool has_events() const { return event_count_.load(std::memory_order_relaxed) != 0; }
  void counted_events() { event_count_.store(events_.size(), std::memory_order_relaxed); }

  loop::Loop& loop() const { return loop_; }
  const ProxyOptions& options() const { return options_; }
  const std::optional<Error>& end() const { return end_; }
  SessionTable& sessions() { return sessions_; }
  const SessionTable& sessions() const { return sessions_; }
  PeerTable& peers() { return peers_; }
  const PeerTable& peers() const { return peers_; }
  const Buffer& own_name() const { return own_name_; }
  // Counts up whenever a peer comes, goes or returns.
  std::uint64_t changes() const { return changes_; }
  std::uint64_t incarnation() const { return self_.incarnation; }
  // After sessions were opened or ended.
  void sessions_changed();
  ProxyCounters counters() const;

  // What can be seen of it (proxy_observe.cpp).
  PeerInfo describe(const PeerRecord& record) const;
  Report report() const;

 private:
  ProxyCore(loop::Loop& loop, ProxyOptions options);
  static std::uint32_t current_forks();
  Status open();

  void on_admitted(const Member& self) override;
  void on_joined(const Member& member) override;
  void on_left(const Member& member) override;
  void on_lost(const Member& member, const Error& why) override;
  void on_unreachable(const Error& why) override;
  void on_ended(Error why) override;
  void end_with(const Error& why);
  void gone(PeerRecord& record, Presence presence, const Error& why);
  void presence_changed();
  void minimum_missed();
  void forget_absent();

  Channel& channel(PeerId id);
  const Channel* find_channel(PeerId id) const;
  void consider_dialing(PeerId id);
  void dial(PeerId id);
  void introduce(PeerLink& link, std::uint64_t fenced_by = 0);
  void introduction_came(PeerLink& link, const MessageHead& head, const wire::Frame& frame);
  void bind(PeerLink& link, const Member& member);
  std::unique_ptr<PeerLink> take_link(PeerLink& link);
  // Not now: it may be inside a call of its own.
  void destroy_later(std::unique_ptr<PeerLink> link);
  void drop_link(PeerLink& link);
  void break_link(PeerRecord& record, const Error& why);
  void flush() override;

  Status send_request(PeerId peer, OutgoingMessage& message, OnLoss on_loss);
  Status hand_over(PeerLink& link, OutgoingMessage& message);
  Status keep(const PeerRecord& record, OutgoingMessage& message);
  void send_kept(PeerRecord& record);
  void report_dropped(const PeerRecord& record, const OutgoingMessage& message, const Error& why);
  void answer_came(Incoming& incoming);
  void question_came(PeerLink& link);
  static std::uint64_t bytes_of(const wire::Parts& parts);
  void note(const PeerLink& link, const MessageHead& head, std::uint64_t bytes, bool is_sent);
  void deliver(Incoming& incoming);
  void tell_receivable();
  void sessions_due();

  loop::Loop& loop_;
  const ProxyOptions options_;
  const std::uint32_t forks_;
  const std::uint64_t nonce_;
  Member self_;
  Buffer own_name_;

  // What every message touches comes first.
  SessionTable sessions_;
  Mailbox mailbox_;
  std::vector<std::function<void()>> when_receivable_;
  PeerTable peers_;
  std::vector<std::unique_ptr<Channel>> channels_;  // By PeerId::slot.
  std::uint64_t last_message_ = 0;
  std::uint64_t rooms_ = 0;
  std::uint64_t changes_ = 0;
  std::unique_ptr<Trace> trace_;  // Null: nobody wants one.

  std::unique_ptr<net::Endpoint> endpoint_;
  std::unique_ptr<Membership> membership_;
  bool is_admitted_ = false;
  TimePoint admitted_at_{};
  bool is_registry_away_ = false;
  bool is_leaving_ = false;
  bool was_minimum_met_ = false;
  bool is_below_minimum_ = false;
  std::optional<Error> end_;
  std::uint64_t last_serial_ = 0;
  std::vector<std::unique_ptr<PeerLink>> strangers_;  // Accepted, and not introduced yet.
  std::vector<std::unique_ptr<PeerLink>> doomed_;
  loop::Timer session_timer_;
  loop::Timer minimum_timer_;
  std::deque<ProxyEvent> events_;
  std::atomic<std::size_t> event_count_{0};
  ProxyCounters counters_;
};

}  // namespace muster::msg::internal

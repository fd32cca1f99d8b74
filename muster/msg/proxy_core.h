// ProxyCore: what is behind a Proxy. All of it under the loop's baton.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/result.h"
#include "muster/loop/loop.h"
#include "muster/msg/arrivals.h"
#include "muster/msg/backlog.h"
#include "muster/msg/dedup_store.h"
#include "muster/msg/kept_messages.h"
#include "muster/msg/mailbox.h"
#include "muster/msg/outbox.h"
#include "muster/msg/outbox_store.h"
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

// Whether a session of ours waits for what becomes of it.
inline bool is_tracked(const Draft& draft) {
  return draft.session_type == SessionType::task || draft.wants_receipt;
}

// How one peer is reached.
struct Channel {
  Channel(const ProxyOptions& options, std::function<void()> dial, std::function<void()> expire)
      : outbox(options.absent),
        kept(options.kept),
        arrivals(options.kept.max_reply_bytes),
        backlog(options.max_queued - in_link(options)),
        backoff(options.first_redial, options.longest_redial),
        redial(std::move(dial)),
        expiry(std::move(expire)) {}

  // Of what waits to be sent to one peer, the bytes that a link has. Where the
  // oldest is to give way, that is little: only the rest can.
  static std::size_t in_link(const ProxyOptions& options) {
    if (options.when_full != DropPolicy::oldest) return options.max_queued;
    return std::min(options.max_queued / 4, std::size_t{1} << 20);
  }

  // When the first of what waits for the peer is too late.
  TimePoint next_deadline() const { return std::min(outbox.next_deadline(), kept.next_deadline()); }

  // Others are to be sent before what is sent now, and the link has no room.
  bool has_waiting() const { return !backlog.empty() || !outbox.empty() || !again.empty(); }

  std::unique_ptr<PeerLink> link;        // Introduced both ways.
  std::unique_ptr<PeerLink> dialing;     // Not yet.
  Id chooser = {};                       // If it is the peer: the process,
  std::uint64_t heard_choice = 0;        // and its last choice that we have heard of.
  Outbox outbox;                         // For the peer's return.
  std::deque<SessionId> again;           // Requests to be sent since it has returned.
  KeptMessages kept;                     // For the peer to handle at least once,
  Arrivals arrivals;                     // and from it.
  Backlog backlog;                       // What the link has no room for.
  std::deque<OutgoingMessage> receipts;  // The same, of what we have taken or refused.
  bool is_draining = false;
  bool has_room = false;  // Since draining began.
  net::Backoff backoff;
  loop::Timer redial;
  loop::Timer expiry;  // Of what waits for the peer.
  bool was_here = false;
  bool is_last_word = false;  // It leaves, and nobody sends again what it has sent.
  net::LinkCounters past;     // Of links that are no more.
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
  // All that were expected have been here at once, whoever may have left since.
  bool has_met_expected();
  // The minimum was missed and somebody is to decide. Any thread, without the baton.
  bool takes_decision() { return is_decision_due_.exchange(false, std::memory_order_relaxed); }
  void decide(TooFew decision);
  // Nobody has: it is to be asked again. Any thread, without the baton.
  void not_decided() { is_decision_due_.store(true, std::memory_order_relaxed); }
  // It was decided that too few peers end it. Any thread, without the baton.
  bool ends_job() const { return ends_job_.load(std::memory_order_relaxed); }

  // Links (proxy_links.cpp).
  void link_up(PeerLink& link);
  void link_closed(PeerLink& link, const Error& why);
  void room_came(PeerLink& link);
  net::Link* some_link(std::string_view scheme) const;
  // Any thread. The one whose memory all on this host can read; null without.
  net::Driver* sharing_driver() const;

  // Sending (proxy_transmit.cpp).
  Result<PeerId> resolve(const Destination& destination) const;
  // Opens a session, if anybody is to wait for the answer, by `watch` or to be
  // called, and sends. `body` is moved from unless there is an error; then there is
  // no session either.
  Result<SessionId> submit(PeerId peer, const Draft& draft, EncodedBody& body,
                           SessionWatch* watch = nullptr,
                           std::function<void(SessionTable::Outcome)> done = nullptr);
  // What nobody waits for could not be sent. The id that it would have had.
  SessionId drop_untracked(const Destination& destination, const Error& why);
  // Hands `message` to the peer's link, or keeps it for its return. It is moved
  // from unless there is an error.
  Status transmit(PeerId peer, OutgoingMessage& message);
  MessageId next_message_id() { return {nonce_, ++last_message_}; }
  std::uint32_t time_left(TimePoint deadline) const;
  void message_refused(PeerLink& link, wire::Frame& frame, const Error& why);
  // Changes whenever what was overloaded may not be so any more.
  std::uint64_t rooms() const { return rooms_ + sessions_.released(); }

  // Receiving (proxy_deliver.cpp).
  void message_came(PeerLink& link, wire::Frame& frame, net::Lane lane, std::size_t cost);
  bool has_waiting() const { return !mailbox_.empty() || !put_back_.empty(); }
  // The next for receive(). Sends its receipt, if it wants one.
  IncomingPtr take_waiting();
  // The one that take_waiting() gave: it is the next again.
  void put_back(IncomingPtr incoming);
  // Any thread: the body is decoded here. Moved from unless there is an error.
  Result<Message> make_message(IncomingPtr& incoming) const {
    return MessageMaker::make(incoming, options_.body_limits, options_.keeps_encoded);
  }
  // The same of one that was closed.
  Status open(const Message& closed) const {
    return MessageMaker::open(closed, options_.body_limits, options_.keeps_encoded);
  }
  void when_receivable(std::function<void()> action);
  // For receipts and refusals, which nobody waits for here: sent by the link that stands, as
  // soon as that has room. Code::overloaded if there are too many.
  Status send_when_room(PeerId peer, OutgoingMessage& small);
  // Its body is not what its head says: tells the sender, and us.
  void refuse(const Incoming& incoming, const Error& why);

  // Delivery at least once (proxy_kept.cpp).
  // The message `id` of `peer` was handled, or will not be. Code::invalid if it
  // was said before.
  Status done(PeerId peer, const MessageId& id, std::optional<Error> refused = std::nullopt);
  // Sends the reply to the message `task` of `peer`, which is to be handled at
  // least once, and keeps it until it was heard. As transmit() for all else.
  Status answer_task(PeerId peer, const MessageId& task, OutgoingMessage& answer);
  // The one that is kept.
  std::optional<OutgoingMessage> reply_to(PeerId peer, const MessageId& task);
  // Tells the peers what is done, as far as there is room.
  void report_done(PeerId peer);
  // True if nobody who is here has anything of ours to handle.
  bool is_all_done() const;
  // What the store has: for peers that have not been met yet.
  void restore(std::vector<Handled> handled, std::vector<StoredMessage> stored);
  // What the senders know by now, for the DedupStore.
  std::vector<HandledId> take_forgotten();
  // Any thread, without the baton.
  bool has_forgotten() const { return has_forgotten_.load(std::memory_order_relaxed); }
  // What the OutboxStore is to write; stored() once it has, or why it has not.
  struct Unheard {
    std::uint64_t link;  // That its removal is to be told to; 0: none.
    MessageId id;        // None: it was not kept.
  };
  struct Unwritten {
    std::vector<StoredMessage> added;
    std::vector<MessageId> removed;
    std::vector<Unheard> unheard;
    bool empty() const { return added.empty() && unheard.empty(); }
  };
  Unwritten take_unwritten();
  void stored(const Unwritten& written, const Status& status);
  // Held while the store writes, which the baton must not be.
  std::mutex writing;
  // How much that is. Any thread, without the baton.
  std::size_t unwritten() const { return unwritten_count_.load(std::memory_order_relaxed); }

  void tell(ProxyEvent event);
  // There is something to call the user for. Any thread, without the baton.
  bool wants_call_back() const {
    return (options_.on_event != nullptr && has_events()) ||
           is_decision_due_.load(std::memory_order_relaxed);
  }
  bool calls_back() const { return options_.on_event != nullptr || options_.on_too_few != nullptr; }
  // The next, or what was missed before it. None: nobody has anything to tell.
  std::optional<ProxyEvent> take_event();
  std::deque<ProxyEvent> take_events();
  // Any thread, without the baton.
  bool has_events() const { return event_count_.load(std::memory_order_relaxed) != 0; }
  // Those that were taken and not told, before all that came since.
  void put_back(std::deque<ProxyEvent> untold);

  loop::Loop& loop() const { return loop_; }
  const ProxyOptions& options() const { return options_; }
  const std::optional<Error>& end() const { return end_; }
  SessionTable& sessions() { return sessions_; }
  const SessionTable& sessions() const { return sessions_; }
  PeerTable& peers() { return peers_; }
  const PeerTable& peers() const { return peers_; }
  // Counts up whenever a peer comes, goes or returns.
  std::uint64_t changes() const { return changes_; }
  std::uint64_t incarnation() const { return self_.incarnation; }
  const std::optional<Error>& registry_away() const { return registry_away_; }
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
  void said_goodbye(PeerRecord& record);
  void farewell_came(PeerLink& link, const MessageHead& head);
  void say_farewell(PeerLink& link);
  void gone(PeerRecord& record, Presence presence, const Error& why);
  void presence_changed();
  void minimum_missed();
  void forget_absent();

  Channel& channel(PeerId id);
  const Channel* find_channel(PeerId id) const;
  void consider_dialing(PeerId id);
  void dial_later(const PeerRecord& record);
  void dial(PeerId id);
  std::unique_ptr<PeerLink> take_link(PeerLink& link);
  // Not now: it may be inside a call of its own.
  void destroy_later(std::unique_ptr<PeerLink> link);
  void drop_link(PeerLink& link);
  void break_link(PeerRecord& record, const Error& why);
  void flush() override;

  // Introductions (proxy_introductions.cpp).
  bool chooses(const PeerLink& link) const;
  bool may_introduce(const PeerLink& link) const;
  bool is_chosen(const PeerLink& link, const PeerRecord& record, std::uint64_t choice);
  std::uint64_t heard_choice(const PeerLink& link);
  void introduce(PeerLink& link, std::uint64_t fenced_by = 0);
  void fenced_by(PeerLink& link, std::uint64_t incarnation);
  void introduction_came(PeerLink& link, const MessageHead& head, const wire::Frame& frame);
  void bind(PeerLink& link, const Member& member, std::uint64_t choice);
  void begin(PeerLink& link);

  void fill_head(MessageHead& head, const Draft& draft, const EncodedBody& body, SessionId session);
  Status send_request(PeerId peer, OutgoingMessage& message, OnLoss on_loss);
  Status hand_over(PeerLink& link, OutgoingMessage& message);
  Status keep(const PeerRecord& record, OutgoingMessage& message);
  void has_returned(const PeerRecord& record);
  std::optional<OutgoingMessage> next_returning(Channel& there);
  void send_returning(const PeerRecord& record);
  Status send_late(const PeerRecord& record, OutgoingMessage& message);
  void drop_late(const PeerRecord& record, const OutgoingMessage& message, const Error& why);
  void report_dropped(const PeerRecord& record, const OutgoingMessage& message, const Error& why);
  Status keep_until_done(PeerId peer, OutgoingMessage& message, TimePoint deadline);
  void send_until_done(PeerRecord& record);
  void drain(PeerId peer);
  void watch_deadline(PeerId peer, TimePoint deadline);
  void drop_those_late(PeerId peer);
  Status make_way(PeerId peer, OutgoingMessage& message, Error full);
  void send_backlog(const PeerRecord& record);
  void send_receipt(PeerId peer, OutgoingMessage& receipt);
  void send_receipts(PeerId peer);
  void report_came(PeerLink& link, const MessageHead& head, const wire::Frame& frame);
  void finish_kept(const PeerRecord& record, PeerLink& link, const DoneMessage& one);
  void done_unanswered(const PeerRecord& record, const SessionId& session,
                       DoneMessage::Reply reply);
  bool settle_told(PeerLink& link);
  void forget_told(const PeerLink& link);
  void send_replies(PeerId peer);
  void heard(PeerLink& link, const MessageId& id);
  void count_unwritten();
  void take_restored(PeerId id, Channel& there);
  bool send_report(PeerLink& link, MessageKind kind, const DeliveryReport& report);
  bool confirm(PeerLink& link, std::uint32_t count);
  bool take_kept(PeerLink& link, const MessageHead& head, std::size_t cost);
  void drop_kept(PeerRecord& record, const std::vector<OutgoingMessage>& messages,
                 const Error& why);
  void removed(const MessageId& id);
  void forget_arrivals(const PeerRecord& record);
  void give_up_kept();
  void answer_came(IncomingPtr& incoming);
  void question_came(PeerLink& link);
  static std::uint64_t bytes_of(const wire::Parts& parts);
  void note(const PeerLink& link, const MessageHead& head, std::uint64_t bytes, bool is_sent);
  void deliver(IncomingPtr incoming);
  void tell_receivable();
  void sessions_due();
  void bound_events();
  void counted_events() {
    event_count_.store(events_.size() + (missed_events_ > 0 ? 1 : 0), std::memory_order_relaxed);
  }

  loop::Loop& loop_;
  const ProxyOptions options_;
  const std::uint32_t forks_;
  const std::uint64_t nonce_;
  Member self_;

  // What every message touches comes first.
  SessionTable sessions_;
  Mailbox mailbox_;
  std::deque<IncomingPtr> put_back_;
  std::vector<std::function<void()>> when_receivable_;
  PeerTable peers_;
  std::vector<std::unique_ptr<Channel>> channels_;  // By PeerId::slot.
  std::uint64_t last_message_ = 0;
  std::uint64_t rooms_ = 0;
  std::uint64_t changes_ = 0;
  bool has_met_expected_ = false;
  std::unique_ptr<Trace> trace_;  // Null: nobody wants one.

  std::unique_ptr<net::Endpoint> endpoint_;
  std::unique_ptr<Membership> membership_;
  bool is_admitted_ = false;
  TimePoint admitted_at_{};
  std::optional<Error> registry_away_;  // Why it cannot be reached.
  bool is_leaving_ = false;
  bool was_minimum_met_ = false;
  bool is_below_minimum_ = false;
  std::atomic<bool> is_decision_due_{false};
  std::atomic<bool> ends_job_{false};
  std::optional<Error> end_;
  std::uint64_t last_serial_ = 0;
  std::uint64_t last_choice_ = 0;
  std::vector<std::unique_ptr<PeerLink>> strangers_;  // Accepted, and not introduced yet.
  std::vector<std::unique_ptr<PeerLink>> doomed_;
  loop::Timer session_timer_;
  loop::Timer minimum_timer_;
  // For peers that have not been met yet, by their names.
  std::map<std::string, std::vector<KeptMessage>, std::less<>> restored_kept_;
  std::map<std::string, std::vector<Handled>, std::less<>> restored_done_;
  void forget(const std::string& source, const std::vector<MessageId>& ids);
  std::vector<HandledId> forgotten_;
  std::atomic<bool> has_forgotten_{false};
  std::vector<std::pair<PeerId, MessageId>> unstored_;
  std::vector<Unheard> unheard_;  // Not told as heard before they are removed from the store.
  std::atomic<std::size_t> unwritten_count_{0};
  std::deque<ProxyEvent> events_;
  std::size_t missed_events_ = 0;  // Before the first of them.
  std::atomic<std::size_t> event_count_{0};
  ProxyCounters counters_;
};

}  // namespace muster::msg::internal

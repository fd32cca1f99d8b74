// Proxy: a component's end of the conversation with its group.
//
// Any thread may call anything here, but not while it holds the loop's baton.
// What one proxy sends to another arrives in order within a priority, each
// message at most once unless its draft says OnLoss::wait or Delivery::at_least_once. What
// is delivered at least once and what is not are each in order; the one may overtake the
// other where a peer was away or a link broke, since the first waits for word of what came.
// Calls that wait drive the loop themselves; there is no thread in between. A process may have
// several proxies. In a child that was forked, all calls say Code::invalid: make a new proxy there.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/result.h"
#include "muster/loop/future.h"
#include "muster/loop/loop.h"
#include "muster/msg/message.h"
#include "muster/msg/proxy_options.h"
#include "muster/msg/report.h"
#include "muster/msg/wait.h"

namespace muster::msg {

namespace internal {
class ProxyCore;
enum class Waited : std::uint8_t;
}  // namespace internal
class EventDispatcher;
class Dispatch;

// What came of several sessions.
struct Replies {
  struct Failure {
    SessionId session;
    std::string peer;
    Error error;
  };
  std::vector<Message> messages;   // In the order of the ids that were asked for.
  std::vector<Failure> failures;   // Lost peers, timeouts, handlers that failed.
  std::vector<SessionId> missing;  // Still open: ask again, or cancel().
  bool is_complete() const { return failures.empty() && missing.empty(); }
};

// When collect() has enough. Failures never count as replies.
struct Enough {
  // The larger of both; 0 and 0 means all.
  std::size_t count = 0;
  double fraction = 0;  // 0.8: four of five, rounded up.
  // How long the others may still take once there are enough.
  Duration grace = {};
  bool cancels_rest = true;  // What has not come by then is cancelled.
};

// An answer that is not there yet, and the session that it is to end: cancel() takes its
// id, and the future then has Code::cancelled. No id: nothing was sent, and the future has why.
class PendingReply : public loop::Future<Message> {
 public:
  PendingReply(loop::Future<Message> reply, SessionId session)
      : loop::Future<Message>(std::move(reply)), session_(session) {}
  SessionId session() const { return session_; }

 private:
  SessionId session_;
};

struct ReplyOptions {
  Tag tag = {};  // Invalid: that of the request.
  Compression compression = Compression::none;
  std::optional<EncodedBody> encoded = {};  // In the body's place, as a draft's.
};

struct ForwardOptions {
  Tag tag = {};                                    // Invalid: that of the message.
  std::optional<wire::Value> body = std::nullopt;  // None: that of the message.
  Priority priority = Priority::normal;
  OnLoss on_loss = OnLoss::fail;
  Delivery delivery = Delivery::at_most_once;
  Answers answers = Answers::by_id;
  // Of a notification: have its receipt come back, by id as it is with a draft, or to
  // receive() where `answers` says so, even without.
  bool wants_receipt = false;
};

class Proxy {
 public:
  class Reception;
  struct SendItem;  // Its own.

  // Announces itself and begins to look for peers, without waiting for any.
  // Code::invalid if the options cannot be.
  static Result<std::unique_ptr<Proxy>> start(loop::Loop& loop, ProxyOptions options);
  // The same, and returns once all that are expected are here, and know us.
  // Code::timeout names those who are missing.
  static Result<std::unique_ptr<Proxy>> join(loop::Loop& loop, ProxyOptions options,
                                             const Wait& wait = {});
  // Goes without a goodbye; leave() says one. Nobody may be inside any more.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  const std::string& group() const;
  const std::string& name() const;
  const std::string& type() const;
  std::uint64_t incarnation() const;  // 0: the registry has not given one yet.

  // Sends what is queued, waits until all who are here are done with what is to
  // be handled at least once, says goodbye to all, and ends. What waits elsewhere
  // ends with Code::cancelled; what is still kept is told as dropped, unless there
  // is an OutboxStore.
  Status leave(const Wait& wait = {});
  // False before the registry has taken us in, and once this is over.
  bool is_joined() const;
  // Why this proxy is over, if it is.
  std::optional<Error> ended() const;
  // What a program that ends with this proxy should end with (base/exit_code.h):
  // kExitJob if on_too_few ended it, kExitForGood if another bears its name now.
  int exit_code() const;

  // Who is there, here or connecting, in the order of names: nobody once this is over. The last
  // two also have who was, as it was known last.
  std::vector<PeerInfo> peers() const;  // report() has those who are lost or have left, too.
  std::vector<std::string> peer_names(std::string_view type) const;  // Who is here.
  std::optional<PeerInfo> peer(std::string_view name) const;
  // Spares send() the search for the name. Code::not_found.
  Result<PeerId> find(std::string_view name) const;
  Status wait_for_peers(const std::vector<Expected>& expected, const Wait& wait = {});
  bool has_peers(const std::vector<Expected>& expected) const;

  // Sends, waits while there is no room, then for the answer: the completion of
  // a task (what the other end failed with, if it did), the receipt of a
  // notification. Code::unavailable names a peer that was lost.
  Result<Message> send(Draft draft, const Wait& wait = {});
  // Sends or queues. Code::overloaded: there is no room; nothing was sent.
  // The id is for receive_by_id(), but for notifications that want no receipt.
  Result<SessionId> isend(const Draft& draft);
  // The same, with the answer as a future.
  PendingReply request(Draft draft);

  // A body each. Those that are the same are written once, wherever in the list they stand;
  // on one host a large part that several bodies share is, too.
  // What cannot be sent is an outcome of its session, or, where there is none since nobody
  // wants a receipt, told as ProxyEvent::Kind::dropped; scatter() and broadcast() wait while
  // there is no room. Code::overloaded if there are not sessions enough: nothing was sent.
  Result<std::vector<SessionId>> iscatter(const Draft& draft,
                                          std::vector<std::pair<Destination, wire::Value>> bodies);
  // The same of bodies that were encoded before.
  Result<std::vector<SessionId>> iscatter_encoded(
      const Draft& draft, std::vector<std::pair<Destination, EncodedBody>> bodies);
  Result<Replies> scatter(const Draft& draft,
                          std::vector<std::pair<Destination, wire::Value>> bodies,
                          const Wait& wait = {});
  // One body, written once, to all of them; a session each, so that every
  // reply names its sender.
  Result<std::vector<SessionId>> ibroadcast(const Audience& audience, const Draft& draft);
  Result<Replies> broadcast(const Audience& audience, const Draft& draft, const Wait& wait = {});

  // The next message that answers no session: requests, and answers that were
  // asked to come here. None if there was none in time; an error once this
  // proxy is over.
  Result<std::optional<Message>> receive_once(const Wait& wait = {});
  // Calls `action` once, under the baton, when there is something for receive(),
  // at once if there is: a message, or the proxy's end. For who waits elsewhere,
  // as on a descriptor; who comes to take it may find that another has.
  void when_receivable(std::function<void()> action);
  // `message`, whose body was left encoded, is none: tells its sender, if that
  // waits for an answer, and us, by an event.
  Status unreadable(const Message& message, const Error& why);
  // for (const Message& message : proxy.receive()) ...
  // Ends when none comes for as long as `wait` says, or the proxy is over.
  Reception receive(const Wait& wait = {});

  // The answers of these sessions, as far as they have come by the deadline.
  // All else that comes meanwhile stays for whom it is for. Code::not_found for an id
  // that is no session's; Code::invalid if somebody else waits for it, or it is named twice.
  Result<Replies> receive_by_id(const std::vector<SessionId>& ids, const Wait& wait = {});
  // Returns when all have answered, or enough have and the grace is over.
  Result<Replies> collect(const std::vector<SessionId>& ids, const Enough& enough,
                          const Wait& wait = {});
  // True once there is something to take: an answer, or why there is none.
  bool is_answered(SessionId id) const;
  // None once its outcome was taken.
  std::optional<Session::State> session_state(SessionId id) const;
  // Ends a session of ours; who waits for it hears Code::cancelled. What the
  // peer does is not changed. False if it is not open.
  bool cancel(SessionId id);

  // Completes the task that `message` asks for; of a notification, the receipt.
  // Code::invalid if that was done before, by whichever copy of the message.
  Status reply(const Message& message, const wire::Value& body = {},
               const ReplyOptions& options = {}, const Wait& wait = {});
  // Completes it by saying that it failed: send() returns `why` there.
  Status fail(const Message& message, const Error& why, const Wait& wait = {});
  // The same without waiting: where there is no room it is sent as soon as there is.
  Status fail_soon(const Message& message, const Error& why);
  // Tells that it was taken. Never taken for a completion.
  Status acknowledge(const Message& message, const Wait& wait = {});
  // Says that a message that came with is_kept() was handled: its sender forgets
  // it, and send() of a notification returns there. First it is committed to the
  // DedupStore, if there is one. Components do this when their handlers have
  // returned; who receives by hand does it himself, once for each message.
  // Code::invalid if it was said before. Without effect on other messages.
  Status done(const Message& message);
  Status done(std::span<const Message> messages);
  // The opposite: it will never be handled. Its sender is told of the drop.
  Status refuse(const Message& message, const Error& why);
  // Asks somebody else, in the same session; the answer comes back here. A notification
  // has none, unless the options want a receipt: the id is then for receive_by_id().
  Result<SessionId> forward(const Message& message, const Destination& destination,
                            ForwardOptions options = {});

  // Memory for a body that peers on this host can read where it lies, those
  // that have not come yet too.
  Result<WritableBuffer> allocate(std::size_t size);

  // None if nothing happened in time, or all was told and this proxy is over.
  std::optional<ProxyEvent> next_event(const Wait& wait = {});
  ProxyCounters counters() const;
  // What `muster peers` is told, too.
  Report report() const;

  loop::Loop& loop() const;
  // As they were given, with the name filled in.
  const ProxyOptions& options() const;

 private:
  friend class EventDispatcher;
  friend class Dispatch;
  explicit Proxy(std::unique_ptr<internal::ProxyCore> core);

  // receive_once() that, if `seen` is given, ends with none once changes() is
  // another, before it looks for a message.
  Result<std::optional<Message>> receive_next(std::optional<std::uint64_t> seen, const Wait& wait);
  // Counts up whenever a peer comes, goes or returns.
  std::uint64_t changes() const;
  // Changes when what was overloaded may not be so any more.
  std::uint64_t rooms() const;
  // request() that calls `done` under the baton, unless there is an error; an error
  // that the peer answered with is told from others.
  Result<SessionId> ask(const Draft& draft,
                        std::function<void(Result<Message>, bool was_answered)> done);
  Result<Message> to_message(Result<IncomingPtr>& outcome) const;
  Result<Replies> take_replies(const std::vector<SessionId>& ids, bool cancels_rest);
  void take_reply(SessionId id, bool cancels_rest, Replies& replies);
  // Waits for room, but not if there is no `wait`.
  Result<std::vector<SessionId>> send_all(const Draft& draft, std::vector<SendItem>& items,
                                          const Wait* wait);
  Result<std::vector<SendItem>> scattered(const Draft& draft,
                                          std::vector<std::pair<Destination, wire::Value>> bodies);
  Result<std::vector<SendItem>> addressed(const Audience& audience, const Draft& draft);
  Result<Replies> send_and_collect(Draft draft, std::vector<SendItem>& items, const Wait& wait);
  Status answer(const Message& message, Stage stage, const Tag& tag, EncodedBody& body,
                const Wait& wait, bool is_failure = false);
  // Waits as internal::wait_for() does, and calls the user back meanwhile.
  internal::Waited attend(const Wait& wait, TimePoint deadline, const std::function<bool()>& done);
  void call_back();
  void decide_minimum();
  // Has the OutboxStore write what is to be written.
  Status write_kept();
  // Has the DedupStore remember those that are kept.
  Status commit(std::span<const Message> messages);
  // Tells the DedupStore what the senders know.
  void forget_handled();

  std::unique_ptr<internal::ProxyCore> core_;
};

// What receive() gives.
class Proxy::Reception {
 public:
  class Iterator {
   public:
    explicit Iterator(Reception* reception) : reception_(reception) {}
    const Message& operator*() const { return reception_->message_; }
    Iterator& operator++() {
      reception_->next();
      return *this;
    }
    bool operator==(std::nullptr_t) const { return !reception_->message_; }

   private:
    Reception* reception_;
  };

  Reception(Proxy& proxy, Wait wait) : proxy_(proxy), wait_(std::move(wait)) {}
  Iterator begin() {
    next();
    return Iterator(this);
  }
  std::nullptr_t end() const { return nullptr; }

 private:
  void next();

  Proxy& proxy_;
  Wait wait_;
  Message message_;
};

}  // namespace muster::msg

// SessionTable: the requests of one proxy that wait for an answer. Pure: time is told.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/msg/incoming.h"
#include "muster/msg/message.h"
#include "muster/msg/session.h"

namespace muster::msg {

// How many of the sessions that somebody waits for have not finished.
struct SessionWatch {
  std::size_t left = 0;
  std::size_t answered = 0;  // Of those that have, with an answer and not with an error.
};

// A request as it was sent, kept to be sent again.
struct KeptRequest {
  MessageHead head;
  wire::Parts parts;
  Priority priority = Priority::normal;
  bool was_sent = false;  // Once at least: it comes again.
  TimePoint deadline = kForever;

  std::size_t size() const {
    std::size_t sum = sizeof(KeptRequest);
    for (const Buffer& part : parts) sum += part.size();
    return sum;
  }
};

class SessionTable {
 public:
  using Outcome = Result<IncomingPtr>;

  struct Opening {
    SessionId id = {};  // None: one is made.
    SessionType type = SessionType::task;
    PeerId peer = {};
    TimePoint deadline = kForever;
    OnLoss on_loss = OnLoss::fail;
    Answers answers = Answers::by_id;
    SessionWatch* watch = nullptr;  // As watch() has it, from the beginning.
    // Called with the outcome, which then is not kept.
    std::function<void(Outcome)> done = nullptr;
  };

  // What became of an answer. Only `finished` and `deliver` have use of it.
  enum class Verdict : std::uint8_t {
    advanced,  // An acknowledgement of a task, which goes on.
    finished,  // Kept for who waits, or given to who asked to be called.
    deliver,   // The session is over; the answer is to go to receive().
    repeated,  // A second acknowledgement or completion.
    late,      // Its session is over: answered and taken, timed out, cancelled, or lost.
    unknown,   // There never was such a session.
    wrong,     // Of another type or stage, or not from whom it was asked for.
  };

  // `nonce` makes its ids unlike those of others; at most `limit` sessions.
  SessionTable(std::uint64_t nonce, std::size_t limit);

  // Code::overloaded at the limit; Code::invalid if the id is in use.
  Result<SessionId> open(Opening opening);

  // Takes an answer; moved from unless the verdict is `deliver` or a refusal.
  Verdict take(IncomingPtr& answer);

  // Ends an open session with `why`: for its deadline, for its owner. False if
  // there is none such.
  bool end(SessionId id, Error why);
  // Forgets a session, whatever its state.
  void forget(SessionId id);
  // The same of one whose request could not be sent: there is no more room than before.
  void withdraw(SessionId id);

  // The outcome, once there is one; the session is then no more.
  std::optional<Outcome> take_outcome(SessionId id);
  // The same into `outcome`, which has none; false if there is none yet.
  bool take_outcome(SessionId id, std::optional<Outcome>& outcome);
  // None if there is no such session, or its outcome was taken.
  std::optional<Session::State> state(SessionId id) const;
  bool is_finished(SessionId id) const;
  // Neither answered nor ended.
  bool is_open(SessionId id) const;
  // From now on it ends with its link, whatever it chose when it was opened.
  void fail_on_loss(SessionId id);

  // Counts down `watch` as sessions finish. Code::not_found for an id that is
  // no session's; Code::invalid if somebody else waits for it, or it is named twice. All
  // or nothing.
  Status watch(const std::vector<SessionId>& ids, SessionWatch& watch);
  Status watch(SessionId id, SessionWatch& watch);
  void unwatch(const std::vector<SessionId>& ids);
  void unwatch(SessionId id);

  // Ends what is due. How many.
  std::size_t expire(TimePoint now);
  // kForever if no open session has one; now and then too early.
  TimePoint next_deadline() const { return deadlines_.empty() ? kForever : deadlines_[0].at; }

  // A peer is gone. Sessions that chose so end with `why`. How many.
  std::size_t lose(PeerId peer, const Error& why);
  // It will not be known any more: all with it end, whatever they chose. How many.
  std::size_t end_with(PeerId peer, const Error& why);
  // All end, whatever they chose.
  std::size_t end_all(const Error& why);
  // What ended since the last call and has nobody to be told: sessions whose
  // answers go to receive().
  std::vector<std::pair<SessionId, Error>> take_unheard() { return std::exchange(unheard_, {}); }
  // Keeps the request of an open session that waits for its peer's return.
  void keep(SessionId id, KeptRequest request);
  // Requests that were kept for `peer` and are open, oldest first.
  std::vector<KeptRequest*> kept_for(PeerId peer);
  // Bytes of all that is kept.
  std::size_t kept_bytes() const { return kept_bytes_; }
  // The one that was kept for this session, or null.
  KeptRequest* kept(SessionId id);

  // Whom it is with; none if there is no such session.
  PeerId peer_of(SessionId id) const;
  std::size_t open_count() const { return open_; }
  // Grows with each session that is no more: there is room for another.
  std::uint64_t released() const { return released_; }
  std::size_t size() const { return used_; }

 private:
  struct Entry {
    SessionId id;  // None: the slot is free.
    Session session;
    OnLoss on_loss = OnLoss::fail;
    Answers answers = Answers::by_id;
    PeerId peer;
    TimePoint deadline = kForever;
    std::uint64_t number = 0;  // In the order of opening.
    SessionWatch* watch = nullptr;
    std::function<void(Outcome)> done;
    std::unique_ptr<KeptRequest> kept;
    // What came of it, until it is taken: one of both.
    IncomingPtr answer;
    std::unique_ptr<Error> failure;

    bool is_finished() const { return answer || failure != nullptr; }
  };
  struct Deadline {
    TimePoint at;
    SessionId id;
  };

  Entry* find(SessionId id);
  const Entry* find(SessionId id) const;
  std::uint32_t take_slot();
  void add_deadline(TimePoint at, SessionId id);
  void finish(Entry& entry, IncomingPtr answer);
  void finish(Entry& entry, Error why);
  void count_down(Entry& entry, bool is_answer);
  void release(Entry& entry);
  void drop_kept(Entry& entry);
  template <class Which>
  std::size_t end_those(const Error& why, Which which);

  const std::uint64_t nonce_;
  const std::size_t limit_;
  std::uint64_t last_number_ = 0;
  std::uint64_t released_ = 0;
  std::size_t kept_bytes_ = 0;
  std::size_t used_ = 0;
  std::size_t open_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<SessionId, std::uint32_t> chosen_;  // Ids that were not made here.
  std::vector<std::pair<SessionId, Error>> unheard_;
  std::vector<Deadline> deadlines_;  // A heap; those of finished sessions go with time.
};

}  // namespace muster::msg

#include "muster/msg/session_table.h"

#include <algorithm>

namespace muster::msg {
namespace {

// A made id tells its slot, so that finding it needs no search.
constexpr int kSlotBits = 24;
constexpr std::uint64_t kSlotMask = (std::uint64_t{1} << kSlotBits) - 1;
// Deadlines of finished sessions that may lie about.
constexpr std::size_t kSpareDeadlines = 64;

bool is_later(const auto& a, const auto& b) { return a.at > b.at; }

}  // namespace

SessionTable::SessionTable(std::uint64_t nonce, std::size_t limit)
    : nonce_(nonce), limit_(std::min<std::size_t>(limit, kSlotMask)) {}

std::uint32_t SessionTable::take_slot() {
  if (free_.empty()) {
    entries_.emplace_back();
    return static_cast<std::uint32_t>(entries_.size() - 1);
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

Result<SessionId> SessionTable::open(Opening opening) {
  if (used_ >= limit_) {
    return Error(Code::overloaded, "open a session: too many are open; take some answers first");
  }
  const bool is_made = !opening.id;
  // One that looks as if made here could be taken for another.
  if (!is_made && (opening.id.high == nonce_ || chosen_.contains(opening.id))) {
    return Error(Code::invalid, "open a session: its id is in use");
  }
  const std::uint32_t slot = take_slot();
  const std::uint64_t number = ++last_number_;
  const SessionId id = is_made ? SessionId{nonce_, number << kSlotBits | slot} : opening.id;
  if (!is_made) chosen_.emplace(id, slot);
  Entry& entry = entries_[slot];
  entry.id = id;
  entry.session = Session(opening.type);
  entry.on_loss = opening.on_loss;
  entry.answers = opening.answers;
  entry.peer = opening.peer;
  entry.deadline = opening.deadline;
  entry.number = number;
  if (opening.done) entry.done = std::move(opening.done);
  if (opening.watch != nullptr) {
    entry.watch = opening.watch;
    ++entry.watch->left;
  }
  if (opening.deadline != kForever) add_deadline(opening.deadline, id);
  ++used_;
  ++open_;
  return id;
}

SessionTable::Entry* SessionTable::find(SessionId id) {
  return const_cast<Entry*>(std::as_const(*this).find(id));
}

const SessionTable::Entry* SessionTable::find(SessionId id) const {
  std::size_t slot = id.low & kSlotMask;
  if (id.high != nonce_) {
    const auto chosen = chosen_.find(id);
    if (chosen == chosen_.end()) return nullptr;
    slot = chosen->second;
  }
  if (slot >= entries_.size() || entries_[slot].id != id) return nullptr;
  return &entries_[slot];
}

void SessionTable::count_down(Entry& entry, bool is_answer) {
  --open_;
  drop_kept(entry);
  if (entry.watch == nullptr) return;
  --entry.watch->left;
  entry.watch->answered += is_answer ? 1 : 0;
  entry.watch = nullptr;
}

void SessionTable::finish(Entry& entry, IncomingPtr answer) {
  count_down(entry, !answer->head.is_failure);
  if (!entry.done) {
    entry.answer = std::move(answer);
    return;
  }
  const auto done = std::move(entry.done);
  release(entry);  // First: what is called may open the next.
  done(std::move(answer));
}

void SessionTable::finish(Entry& entry, Error why) {
  count_down(entry, false);
  if (!entry.done) {
    entry.failure = std::make_unique<Error>(std::move(why));
    return;
  }
  const auto done = std::move(entry.done);
  release(entry);
  done(std::move(why));
}

SessionTable::Verdict SessionTable::take(IncomingPtr& answer) {
  const MessageHead& head = answer->head;
  Entry* entry = find(head.session);
  if (entry == nullptr) {
    const std::uint64_t number = head.session.low >> kSlotBits;
    const bool was_ours = head.session.high == nonce_ && number > 0 && number <= last_number_;
    return was_ours ? Verdict::late : Verdict::unknown;
  }
  if (entry->peer != answer->peer) return Verdict::wrong;
  switch (entry->session.take(head.session_type(), head.stage())) {
    case Session::Answer::advanced: return Verdict::advanced;
    case Session::Answer::repeated: return Verdict::repeated;
    case Session::Answer::late: return Verdict::late;
    case Session::Answer::wrong: return Verdict::wrong;
    case Session::Answer::finished: break;
  }
  if (entry->answers == Answers::to_receive) {
    --open_;
    release(*entry);
    return Verdict::deliver;
  }
  finish(*entry, std::move(answer));
  return Verdict::finished;
}

void SessionTable::release(Entry& entry) {
  if (entry.id.high != nonce_) chosen_.erase(entry.id);
  entry.id = {};
  if (entry.done) entry.done = nullptr;
  drop_kept(entry);
  entry.answer = IncomingPtr();
  entry.failure.reset();
  entry.watch = nullptr;
  free_.push_back(static_cast<std::uint32_t>(&entry - entries_.data()));
  --used_;
  ++released_;
}

bool SessionTable::end(SessionId id, Error why) {
  Entry* entry = find(id);
  if (entry == nullptr || !entry->session.is_open()) return false;
  entry->session.end();
  if (entry->answers == Answers::to_receive && !entry->done) {
    --open_;
    release(*entry);  // Nobody would ever take the outcome.
    unheard_.emplace_back(id, std::move(why));
    return true;
  }
  finish(*entry, std::move(why));
  return true;
}

void SessionTable::forget(SessionId id) {
  Entry* entry = find(id);
  if (entry == nullptr) return;
  if (entry->session.is_open()) --open_;
  if (entry->watch != nullptr && !entry->is_finished()) --entry->watch->left;
  release(*entry);
}

void SessionTable::withdraw(SessionId id) {
  const std::uint64_t released = released_;
  forget(id);
  released_ = released;
}

std::optional<SessionTable::Outcome> SessionTable::take_outcome(SessionId id) {
  std::optional<Outcome> outcome;
  take_outcome(id, outcome);
  return outcome;
}

bool SessionTable::take_outcome(SessionId id, std::optional<Outcome>& outcome) {
  Entry* entry = find(id);
  if (entry == nullptr || !entry->is_finished()) return false;
  if (entry->answer) {
    outcome.emplace(std::move(entry->answer));
  } else {
    outcome.emplace(std::move(*entry->failure));
  }
  release(*entry);
  return true;
}

std::optional<Session::State> SessionTable::state(SessionId id) const {
  const Entry* entry = find(id);
  if (entry == nullptr) return std::nullopt;
  return entry->session.state();
}

bool SessionTable::is_finished(SessionId id) const {
  const Entry* entry = find(id);
  return entry != nullptr && entry->is_finished();
}

bool SessionTable::is_open(SessionId id) const {
  const Entry* entry = find(id);
  return entry != nullptr && entry->session.is_open();
}

void SessionTable::fail_on_loss(SessionId id) {
  if (Entry* entry = find(id)) entry->on_loss = OnLoss::fail;
}

Status SessionTable::watch(const std::vector<SessionId>& ids, SessionWatch& watch) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (Status watched = this->watch(ids[i], watch); !watched) {
      for (std::size_t k = 0; k < i; ++k) unwatch(ids[k]);
      return watched;
    }
  }
  return ok();
}

Status SessionTable::watch(SessionId id, SessionWatch& watch) {
  Entry* entry = find(id);
  if (entry == nullptr) {
    return Error(Code::not_found,
                 "wait for session " + id.to_string() + ": there is none, or its answer was taken");
  }
  if (entry->watch != nullptr || entry->done || entry->answers == Answers::to_receive) {
    return Error(Code::invalid,
                 "wait for session " + id.to_string() +
                     (entry->watch == &watch ? ": it is named twice"
                                             : ": somebody else waits for its answer"));
  }
  entry->watch = &watch;
  if (entry->is_finished()) {
    watch.answered += entry->answer && !entry->answer->head.is_failure ? 1 : 0;
  } else {
    ++watch.left;
  }
  return ok();
}

void SessionTable::unwatch(const std::vector<SessionId>& ids) {
  for (const SessionId id : ids) unwatch(id);
}

void SessionTable::unwatch(SessionId id) {
  Entry* entry = find(id);
  if (entry == nullptr || entry->watch == nullptr) return;
  if (!entry->is_finished()) --entry->watch->left;
  entry->watch = nullptr;
}

void SessionTable::add_deadline(TimePoint at, SessionId id) {
  if (deadlines_.size() > 2 * open_ + kSpareDeadlines) {
    std::erase_if(deadlines_, [this](const Deadline& deadline) {
      const Entry* entry = find(deadline.id);
      return entry == nullptr || !entry->session.is_open();
    });
    std::ranges::make_heap(deadlines_, is_later<Deadline, Deadline>);
  }
  deadlines_.push_back({at, id});
  std::ranges::push_heap(deadlines_, is_later<Deadline, Deadline>);
}

std::size_t SessionTable::expire(TimePoint now) {
  std::size_t count = 0;
  while (!deadlines_.empty() && deadlines_[0].at <= now) {
    const SessionId id = deadlines_[0].id;
    std::ranges::pop_heap(deadlines_, is_later<Deadline, Deadline>);
    deadlines_.pop_back();
    if (end(id, Error(Code::timeout, "the session's deadline passed before it was answered"))) {
      ++count;
    }
  }
  return count;
}

template <class Which>
std::size_t SessionTable::end_those(const Error& why, Which which) {
  std::vector<std::pair<std::uint64_t, SessionId>> ids;  // Whoever is called may open others.
  for (const Entry& entry : entries_) {
    if (entry.id && entry.session.is_open() && which(entry))
      ids.emplace_back(entry.number, entry.id);
  }
  std::ranges::sort(ids);
  std::size_t count = 0;
  for (const auto& [number, id] : ids) count += end(id, why) ? 1 : 0;
  return count;
}

std::size_t SessionTable::lose(PeerId peer, const Error& why) {
  return end_those(why, [peer](const Entry& entry) {
    return entry.peer == peer && entry.on_loss == OnLoss::fail;
  });
}

std::size_t SessionTable::end_with(PeerId peer, const Error& why) {
  return end_those(why, [peer](const Entry& entry) { return entry.peer == peer; });
}

std::size_t SessionTable::end_all(const Error& why) {
  return end_those(why, [](const Entry&) { return true; });
}

void SessionTable::keep(SessionId id, KeptRequest request) {
  Entry* entry = find(id);
  if (entry == nullptr || !entry->session.is_open()) return;
  drop_kept(*entry);
  kept_bytes_ += request.size();
  entry->kept = std::make_unique<KeptRequest>(std::move(request));
}

void SessionTable::drop_kept(Entry& entry) {
  if (entry.kept == nullptr) return;
  kept_bytes_ -= entry.kept->size();
  entry.kept.reset();
}

std::vector<KeptRequest*> SessionTable::kept_for(PeerId peer) {
  std::vector<const Entry*> found;
  for (const Entry& entry : entries_) {
    if (entry.id && entry.peer == peer && entry.kept != nullptr) found.push_back(&entry);
  }
  std::ranges::sort(found, {}, &Entry::number);
  std::vector<KeptRequest*> kept;
  kept.reserve(found.size());
  for (const Entry* entry : found) kept.push_back(entry->kept.get());
  return kept;
}

KeptRequest* SessionTable::kept(SessionId id) {
  const Entry* entry = find(id);
  return entry != nullptr ? entry->kept.get() : nullptr;
}

PeerId SessionTable::peer_of(SessionId id) const {
  const Entry* entry = find(id);
  return entry != nullptr ? entry->peer : PeerId{};
}

}  // namespace muster::msg

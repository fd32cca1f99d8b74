// Messages between ranks: in order, and no more of them than the receiver allows.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/base/crash_point.h"
#include "muster/collectives/crew.h"

namespace muster::collectives::internal {
namespace {

// Bytes that may be under way to a rank that has not taken them. One message
// may always be, whatever its size.
constexpr std::uint64_t kAllowance = std::uint64_t{8} << 20;
// What was taken is confirmed when it is so much: of less, nothing may be heard.
constexpr std::uint64_t kConfirmAt = std::uint64_t{1} << 20;
constexpr std::uint64_t kMessageCost = 256;

bool is_allowed(std::uint64_t unconfirmed, std::uint64_t cost) {
  return unconfirmed < kConfirmAt || unconfirmed + cost <= kAllowance;
}

// How long it takes at most, where everybody runs, until what was lent is back.
constexpr Duration kShortly = std::chrono::milliseconds(300);

// Messages of different tags that wait for nobody.
constexpr std::uint32_t kOperations = 0;
constexpr std::uint32_t kMessages = 1;

// Owns nothing; tells when nobody reads the bytes any more.
class Loan final : public BufferOwner {
 public:
  Loan(std::shared_ptr<std::atomic<bool>> is_back, loop::Loop& loop)
      : is_back_(std::move(is_back)), loop_(loop) {}

 private:
  void dispose() noexcept override {
    is_back_->store(true, std::memory_order_release);
    loop_.post([] {});  // Who waits looks again.
    delete this;
  }

  const std::shared_ptr<std::atomic<bool>> is_back_;
  loop::Loop& loop_;
};

}  // namespace

Buffer Crew::lend(Rank to, std::span<const std::byte> bytes) {
  sent_.push_back({std::make_shared<std::atomic<bool>>(false), to});
  return {bytes, new Loan(sent_.back().is_back, loop_)};  // NOLINT(cppcoreguidelines-owning-memory)
}

bool Crew::has_unsettled(std::size_t but) const {
  for (std::size_t i = 0; i + but < sent_.size(); ++i) {
    if (!sent_[i].is_settled()) return true;
  }
  return false;
}

std::optional<Rank> Crew::holder() const {
  for (const Sent& sent : sent_) {
    if (!sent.is_settled()) return sent.to;
  }
  return std::nullopt;
}

void Crew::send(Rank to, Buffer part) {
  MUSTER_CRASH_POINT();
  const loop::Turn turn(loop_);
  const Note note{.kind = NoteKind::data,
                  .tag = static_cast<std::uint32_t>(history_),
                  .context = context_,
                  .number = number_,
                  .value = peers_[to].sends++,
                  .what = what_};
  const std::uint64_t cost = part.size() + kMessageCost;
  peers_[to].operations.out.push_back({note, std::move(part), cost});
  pump(to);
}

void Crew::pump(Rank to) {
  pump(to, peers_[to].operations);
  pump(to, peers_[to].messages);
}

void Crew::pump(Rank to, Stream& stream) {
  Seat* const seat = seats_[to].get();
  if (has_left(to)) stream.out.clear();  // It takes nothing any more.
  while (!stream.out.empty()) {
    Outgoing& next = stream.out.front();
    if (!is_allowed(stream.unconfirmed, next.cost)) return;
    wire::Parts parts;
    parts.push_back(next.part);
    const Status sent = seat->send(next.note, std::move(parts));
    if (!sent && sent.error().code() == Code::overloaded) return;  // room_came() follows.
    const Note note = next.note;
    stream.unconfirmed += next.cost;
    stream.out.pop_front();
    if (!sent) take_refusal(to, note, sent.error());
  }
}

// The rank at the other end waits for it, and this one's call must not end well.
void Crew::take_refusal(Rank to, const Note& note, const Error& why) {
  if (why.code() == Code::unavailable) return;  // Its loss follows, and says more.
  if (note.kind == NoteKind::data) refused_send_.store(note.number, std::memory_order_release);
  set_trouble(Error(
      why.code(), fmt::format("a message to rank {} was refused: {}", called(to), why.message())));
  tell_trouble();
}

void Crew::message_refused(Seat& seat, const Note& note, const Error& why) {
  if (const std::optional<Rank> rank = rank_of(seat)) take_refusal(*rank, note, why);
}

Status Crew::check_sent() const {
  if (refused_send_.load(std::memory_order_acquire) != number_) return ok();
  return trouble_or("a message was refused");
}

Status Crew::check_size(Rank to, std::uint64_t bytes) const {
  const loop::Turn turn(loop_);
  const Seat* const seat = seats_[to].get();
  if (seat == nullptr || !seat->is_here() || bytes <= seat->link->peer().max_body) return ok();
  return Error(Code::invalid, fmt::format("a message of {} bytes; rank {} takes at most {}", bytes,
                                          called(to), seat->link->peer().max_body));
}

void Crew::room_came(Seat& seat) {
  if (const std::optional<Rank> rank = rank_of(seat)) pump(*rank);
}

void Crew::take_data(Rank from, const Note& note, wire::Frame& frame) {
  if (frame.parts.size() != 1) return;
  Peer& peer = peers_[from];
  if (note.kind == NoteKind::message) {
    peer.messages.in.push_back({note.tag, note.what, std::move(frame.parts[0])});
    return;
  }
  peer.heard.store(std::max(peer.heard.load(), note.number), std::memory_order_relaxed);
  // Nobody reads it any more, and who lent the memory that it lies in waits for it.
  if (has_trouble() && inside_.load(std::memory_order_acquire) == 0) return frame.parts.clear();
  peer.operations.in.push_back({note.number, note.what, std::move(frame.parts[0]), note.tag});
  // Whose calls match takes all that was sent to it before it ends.
  if (note.number < current_number_) {
    return set_trouble(Error(
        Code::invalid, fmt::format("rank {} called {} as operation {}, rank {} something else",
                                   called(from), describe(note.what), note.number, called(rank_))));
  }
  notice_mismatch(from, peer.operations.in.back());
}

// Seen at once, also by a rank that waits for somebody else.
void Crew::notice_mismatch(Rank from, const Incoming& incoming) {
  if (incoming.number != current_number_) return;
  if (incoming.number != inside_.load(std::memory_order_acquire)) return;
  if (incoming.what == current_ && incoming.history == current_history_) return;
  const bool is_earlier = incoming.what == current_;
  set_trouble(
      Error(Code::invalid, fmt::format("rank {} called {}, rank {} called {}{}", called(from),
                                       describe_beside(current_, incoming.what), called(rank_),
                                       describe_beside(incoming.what, current_),
                                       is_earlier ? ", and before that something else" : "")));
}

void Crew::take_credit(Rank from, const Note& note) {
  Stream& stream = note.tag == kOperations ? peers_[from].operations : peers_[from].messages;
  stream.unconfirmed -= std::min(stream.unconfirmed, note.value);
  pump(from, stream);
}

void Crew::confirm(Rank from, Stream& stream, std::uint32_t tag, std::uint64_t bytes) {
  stream.taken += bytes + kMessageCost;
  if (stream.taken < kConfirmAt || seats_[from] == nullptr) return;
  const Note note{.kind = NoteKind::credit, .tag = tag, .context = context_, .value = stream.taken};
  stream.taken = 0;
  static_cast<void>(seats_[from]->send(note));
}

Result<Buffer> Crew::receive(Rank from) {
  Stream& stream = peers_[from].operations;
  MUSTER_TRY_OK(await_messages(from, [&] { return !stream.in.empty(); }));
  const loop::Turn turn(loop_);
  Incoming& next = stream.in.front();
  if (next.number != number_ || next.what != what_) return mismatch(from, next.what, next.number);
  if (next.history != static_cast<std::uint32_t>(history_)) return mismatch_before(from);
  Buffer part = std::move(next.part);
  stream.in.pop_front();
  MUSTER_TRY_OK(let_land(from, part));
  MUSTER_CRASH_POINT();
  confirm(from, stream, kOperations, part.size());
  return part;
}

Duration Crew::bound_on_silence() const {
  return fabric_->options().silence + fabric_->options().beat;
}

// A rank that stands still, or waits for a processor, is not lost before its link says so. Where
// that may take longer than a call, the caller's deadline counts, if it has not passed already.
Duration Crew::patience_with_holders() const {
  const Duration bound = bound_on_silence();
  if (bound <= manners_.deadline) return bound;
  const loop::Turn turn(loop_);
  const bool is_late = trouble_ && trouble_->why.code() == Code::timeout;
  return is_late ? kShortly : manners_.deadline;
}

void Crew::recall() {
  if (!has_lent()) return;
  {
    const loop::Turn turn(loop_);
    for (Rank peer = 0; peer < size(); ++peer) peers_[peer].operations.out.clear();
  }
  // Whoever runs takes what is under way, and drops it.
  const auto is_back = [this] { return !has_lent(); };
  if (loop_.wait_until(is_back, loop_.now() + patience_with_holders())) return;
  {
    const loop::Turn turn(loop_);
    for (const Sent& sent : sent_) {
      Seat& seat = *seats_[sent.to];
      if (sent.is_settled() || !seat.is_here()) continue;
      fabric_->cut(seat, Error(Code::unavailable, "it did not take what was sent"));
    }
    for (Rank peer = 0; peer < size(); ++peer) {
      if (!is_written_by(peer) || !seats_[peer]->is_here()) continue;
      fabric_->cut(*seats_[peer], Error(Code::unavailable, "it did not send all of a message"));
    }
  }
  // The links go when the baton is given up, and with them what they held.
  loop_.wait_until(is_back, loop_.now() + kShortly);
}

// Nothing reads it any more, and others wait for their memory.
void Crew::drop_incoming() {
  for (Rank peer = 0; peer < size(); ++peer) peers_[peer].operations.in.clear();
}

Status Crew::settle(std::size_t but) {
  return await_messages(std::nullopt, [this, but] { return !has_unsettled(but); });
}

Status Crew::send_message(Rank to, std::uint32_t tag, const Description& what, Buffer part,
                          const msg::Wait& wait) {
  if (to == rank_) {
    const loop::Turn turn(loop_);
    peers_[to].messages.in.push_back({tag, what, std::move(part)});
    return ok();
  }
  Stream& stream = peers_[to].messages;
  const std::uint64_t cost = part.size() + kMessageCost;
  const auto waited = msg::internal::wait_for(loop_, bounded(wait), [&] {
    return has_trouble() || has_left(to) ||
           (stream.out.empty() && is_allowed(stream.unconfirmed, cost));
  });
  if (waited != msg::internal::Waited::done) {
    return msg::internal::why_not(waited, fmt::format("send to rank {}", called(to)));
  }
  if (has_trouble()) return trouble_or("the communicator has ended");
  if (has_left(to)) return departed(to);
  const loop::Turn turn(loop_);
  const Note note{.kind = NoteKind::message, .tag = tag, .context = context_, .what = what};
  stream.out.push_back({note, std::move(part), cost});
  pump(to, stream);
  return ok();
}

Result<Buffer> Crew::receive_message(Rank from, std::uint32_t tag, Description& what,
                                     const msg::Wait& wait) {
  Stream& stream = peers_[from].messages;
  const auto find = [&] {
    return std::ranges::find_if(stream.in, [&](const Incoming& one) { return one.number == tag; });
  };
  const auto waited = msg::internal::wait_for(loop_, bounded(wait), [&] {
    return has_trouble() || find() != stream.in.end() || has_left(from);
  });
  if (waited != msg::internal::Waited::done) {
    return msg::internal::why_not(waited, fmt::format("receive from rank {}", called(from)));
  }
  const loop::Turn turn(loop_);
  const auto found = find();
  if (found == stream.in.end()) {
    return has_trouble() ? trouble_or("the communicator has ended") : departed(from);
  }
  Buffer part = std::move(found->part);
  what = found->what;
  stream.in.erase(found);
  confirm(from, stream, kMessages, part.size());
  return part;
}

}  // namespace muster::collectives::internal

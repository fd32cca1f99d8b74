// What ends a crew: losses, mismatches, calls that were given up.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/collectives/crew.h"

namespace muster::collectives::internal {

void Crew::call_ranks(const std::vector<Rank>& ranks) {
  const loop::Turn turn(loop_);
  called_ = ranks;
}

std::vector<Rank> Crew::called(std::vector<Rank> ranks) const {
  for (Rank& rank : ranks) rank = called(rank);
  return ranks;
}

std::optional<Rank> Crew::rank_of(const Seat& seat) const {
  for (Rank rank = 0; rank < size(); ++rank) {
    if (seats_[rank].get() == &seat) return rank;
  }
  return std::nullopt;
}

void Crew::lose(Seat& seat) {
  const std::optional<Rank> rank = rank_of(seat);
  if (!rank) return;
  const bool is_news = !has_left(*rank);  // Else it has closed its end before.
  const std::string why = seat.lost ? seat.lost->message() : "it did not come up";
  if (is_news) {
    set_trouble(Error(Code::unavailable, fmt::format("rank {} ({}) was lost: {}; shrink() to go on",
                                                     called(*rank), seat.name, why)));
  }
  // Nothing more will leave for it.
  for (Stream* const stream : {&peers_[*rank].operations, &peers_[*rank].messages}) {
    stream->out.clear();
  }
  if (agreement_ != nullptr) {
    loop_.stop(ask_again_);  // This one may end soon.
    ask_after_ = {};
  }
  look_who_is_left();
}

void Crew::set_trouble(Error why, Rank found_by) {
  if (!trouble_) {
    trouble_ = Trouble{.why = std::move(why), .found_by = found_by};
    fabric_->resume_later();  // Who has lent what waits for its operation wants it back.
  }
  has_trouble_.store(true, std::memory_order_seq_cst);
  if (inside_.load(std::memory_order_acquire) == 0) drop_incoming();
  wake_own();
}

void Crew::tell_trouble() {
  if (trouble_->why.code() == Code::cancelled || std::exchange(trouble_->is_told, true)) return;
  const Note note{.kind = NoteKind::abort,
                  .tag = static_cast<std::uint32_t>(trouble_->why.code()),
                  .context = context_,
                  .value = trouble_->found_by};
  const Buffer reason =
      Buffer::copy_of(std::string_view(trouble_->why.message()).substr(0, kMaxReason));
  for (const auto& seat : seats_) {
    if (seat == nullptr || !seat->is_here()) continue;
    wire::Parts parts;
    parts.push_back(reason);
    static_cast<void>(seat->send(note, std::move(parts)));
  }
}

Error Crew::give_up() {
  const loop::Turn turn(loop_);
  if (trouble_) tell_trouble();
  return trouble_or("");
}

Error Crew::give_up(const Error& why) {
  const loop::Turn turn(loop_);
  // To the others it does not matter who wanted it. Nobody is lost, so there is nothing from
  // which those of an elastic communicator could recover.
  set_trouble(
      Error(Code::timeout, fmt::format("rank {} gave up: {}", called(rank_), why.message())));
  tell_trouble();
  return why;
}

void Crew::cancel() {
  const loop::Turn turn(loop_);
  is_cancelled_ = true;
  set_trouble(Error(Code::cancelled, "the communicator was closed on this rank"));
}

void Crew::leave() {
  const loop::Turn turn(loop_);
  const Note note{.kind = NoteKind::leave,
                  .flags = is_made_ ? std::uint16_t{0} : kUnmade,
                  .context = context_,
                  .number = number_};
  for (const auto& seat : seats_) {
    if (seat != nullptr && seat->is_here()) static_cast<void>(seat->send(note));
  }
}

void Crew::take_leave(Rank from, const Note& note) {
  if (has_left(from)) return;
  peers_[from].has_unmade = (note.flags & kUnmade) != 0;
  peers_[from].left_after.store(note.number, std::memory_order_release);
  has_departures_.store(true, std::memory_order_release);
  wake_own();
  pump(from);
  look_who_is_left();
}

Error Crew::departed(Rank peer) const {
  return {Code::unavailable,
          fmt::format("rank {} has left the communicator; shrink() to go on", called(peer))};
}

Error Crew::await_trouble(const std::string& instead) {
  loop_.wait_until([this] { return has_trouble(); }, loop_.now() + std::chrono::seconds(1));
  return trouble_or(instead);
}

std::optional<Error> Crew::trouble() const {
  if (!has_trouble()) return std::nullopt;
  return trouble_or("");
}

Error Crew::trouble_or(std::string_view instead) const {
  const loop::Turn turn(loop_);
  if (!trouble_) return {Code::unavailable, std::string(instead)};
  const Error& why = trouble_->why;
  if (trouble_->found_by == rank_) return why;
  return {why.code(),
          fmt::format("{} (told by rank {})", why.message(), called(trouble_->found_by))};
}

std::vector<Rank> Crew::lost() const {
  const loop::Turn turn(loop_);
  std::vector<Rank> lost;
  for (Rank rank = 0; rank < size(); ++rank) {
    if (seats_[rank] != nullptr && (seats_[rank]->lost || has_left(rank))) lost.push_back(rank);
  }
  return lost;
}

Error Crew::in_words(const Error& why) const {
  return why.during(fmt::format("{} on rank {}", describe(what_), called(rank_)));
}

Error Crew::mismatch(Rank peer, const Description& theirs, std::uint64_t number) const {
  const std::string where =
      number == number_ ? "" : fmt::format(" as operation {} where this is {}", number, number_);
  return {Code::invalid, fmt::format("rank {} called {}{}, rank {} called {}", called(peer),
                                     describe_beside(what_, theirs), where, called(rank_),
                                     describe_beside(theirs, what_))};
}

Error Crew::late_mismatch(Rank peer, const Description& theirs, std::uint64_t number) const {
  const bool is_known = number > 0 && number + kSlots > number_;
  const Description& own = is_known ? whats_[Slot::index(number)] : theirs;
  return {Code::invalid,
          fmt::format("rank {} called {}, rank {} called {}, as operation {}", called(peer),
                      describe_beside(own, theirs), called(rank_),
                      is_known ? describe_beside(theirs, own) : "something else", number)};
}

Error Crew::fail(const Error& why) {
  const loop::Turn turn(loop_);
  if (desk_ != nullptr) {
    desk_->aborted.store(number_, std::memory_order_seq_cst);
    wake_readers(desk_->slots[Slot::index(number_)].number);
    wake_readers(desk_->progress);
  }
  set_trouble(why);
  tell_trouble();
  drop_incoming();
  inside_.store(0, std::memory_order_release);
  return in_words(trouble_or(""));
}

void Crew::take_abort(Rank from, const Note& note, const wire::Frame& frame) {
  if (frame.parts.size() != 1 || frame.parts[0].size() > kMaxReason) return;
  peers_[from].has_told_trouble = true;
  const auto code = static_cast<Code>(note.tag);
  const bool is_ours = code == Code::invalid || code == Code::timeout || code == Code::unavailable;
  const Rank found_by = note.value < size() ? static_cast<Rank>(note.value) : from;
  set_trouble(Error(is_ours ? code : Code::failed, std::string(frame.parts[0].text())), found_by);
}

// Who is elsewhere tells where; who is in another call at the same place has called wrongly.
void Crew::take_here(Rank from, const Note& note) {
  Peer& peer = peers_[from];
  if ((note.flags & kAgrees) != 0) {
    peer.agrees = true;
    return answer_while_idle();
  }
  peer.heard.store(std::max(peer.heard.load(), note.number), std::memory_order_relaxed);
  notice_mismatch(from, {note.number, note.what, {}, note.tag});
}

bool Crew::take(Seat& seat, const Note& note, wire::Frame& frame) {
  const std::optional<Rank> from = rank_of(seat);
  if (!from) return false;
  switch (note.kind) {
    case NoteKind::data:
    case NoteKind::message: take_data(*from, note, frame); break;
    case NoteKind::credit: take_credit(*from, note); break;
    case NoteKind::abort: take_abort(*from, note, frame); break;
    case NoteKind::here: take_here(*from, note); break;
    case NoteKind::leave: take_leave(*from, note); break;
    case NoteKind::refused: take_refused(*from, note, frame); break;
    case NoteKind::agree: take_agreement(*from, frame); break;
    case NoteKind::late: peers_[*from].late_for = note.number; break;
    default: break;
  }
  return true;
}

}  // namespace muster::collectives::internal

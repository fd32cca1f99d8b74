// What ends a crew: losses, mismatches, calls that were given up.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/collectives/crew.h"

namespace muster::collectives::internal {
namespace {

constexpr std::size_t kMaxReason = 1024;

}  // namespace

std::optional<Rank> Crew::rank_of(const Seat& seat) const {
  for (Rank rank = 0; rank < size(); ++rank) {
    if (seats_[rank].get() == &seat) return rank;
  }
  return std::nullopt;
}

void Crew::lose(Seat& seat) {
  const std::optional<Rank> rank = rank_of(seat);
  if (!rank) return;
  const std::string why = seat.lost ? seat.lost->message() : "it did not come up";
  set_trouble(Error(Code::unavailable, fmt::format("rank {} ({}) was lost: {}; shrink() to go on",
                                                   *rank, seat.name, why)));
  // Nothing more will leave for it.
  for (Stream* const stream : {&peers_[*rank].operations, &peers_[*rank].messages}) {
    stream->out.clear();
  }
  if (agreement_ != nullptr) {
    feed_losses();
    send_agreement();
  }
}

void Crew::set_trouble(Error why) {
  if (!trouble_) trouble_ = Trouble{std::move(why), false};
  has_trouble_.store(true, std::memory_order_seq_cst);
  wake_own();
}

void Crew::cancel() {
  const loop::Turn turn(loop_);
  set_trouble(Error(Code::cancelled, "the communicator was closed on this rank"));
}

std::optional<Error> Crew::trouble() const {
  if (!has_trouble()) return std::nullopt;
  return trouble_or("");
}

Error Crew::trouble_or(std::string_view instead) const {
  const loop::Turn turn(loop_);
  if (trouble_) return trouble_->why;
  return {Code::unavailable, std::string(instead)};
}

std::vector<Rank> Crew::lost() const {
  const loop::Turn turn(loop_);
  std::vector<Rank> lost;
  for (Rank rank = 0; rank < size(); ++rank) {
    if (seats_[rank] != nullptr && seats_[rank]->lost) lost.push_back(rank);
  }
  return lost;
}

Error Crew::in_words(const Error& why) const {
  return why.during(fmt::format("{} on rank {}", describe(what_), rank_));
}

Error Crew::mismatch(Rank peer, const Description& theirs, std::uint64_t number) const {
  const std::string where =
      number == number_ ? "" : fmt::format(" as operation {} where this is {}", number, number_);
  return {Code::invalid, fmt::format("rank {} called {}{}, rank {} called {}", peer,
                                     describe(theirs), where, rank_, describe(what_))};
}

Error Crew::fail(const Error& why, Rank culprit) {
  const loop::Turn turn(loop_);
  if (desk_ != nullptr) {
    desk_->aborted.store(number_, std::memory_order_seq_cst);
    wake_readers(desk_->slots[Slot::index(number_)].number);
    wake_readers(desk_->progress);
  }
  set_trouble(why);
  const Error told = trouble_->why;
  if (!std::exchange(trouble_->is_told, true) && told.code() != Code::cancelled) {
    const Note note{.kind = NoteKind::abort,
                    .tag = static_cast<std::uint32_t>(told.code()),
                    .context = context_,
                    .number = number_,
                    .value = culprit,
                    .what = what_};
    const Buffer reason = Buffer::copy_of(std::string_view(told.message()).substr(0, kMaxReason));
    for (const auto& seat : seats_) {
      if (seat == nullptr || !seat->is_here()) continue;
      wire::Parts parts;
      parts.push_back(reason);
      static_cast<void>(seat->send(note, std::move(parts)));
    }
  }
  inside_.store(0, std::memory_order_release);
  return in_words(told);
}

void Crew::take_abort(Rank from, const Note& note, const wire::Frame& frame) {
  if (frame.parts.size() != 1 || frame.parts[0].size() > kMaxReason) return;
  const auto code = static_cast<Code>(note.tag);
  const bool is_ours = code == Code::invalid || code == Code::timeout || code == Code::unavailable;
  set_trouble(Error(is_ours ? code : Code::failed,
                    fmt::format("{} (told by rank {})", frame.parts[0].text(), from)));
}

// Who is elsewhere tells where; who is in another call at the same place has called wrongly.
void Crew::take_here(Rank from, const Note& note) {
  Peer& peer = peers_[from];
  peer.heard.store(std::max(peer.heard.load(), note.number), std::memory_order_relaxed);
  notice_mismatch(from, {note.number, note.what, {}});
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
    case NoteKind::agree: take_agreement(*from, frame); break;
    default: break;
  }
  return true;
}

}  // namespace muster::collectives::internal

// Calls that cannot be made on one rank: the others must not wait for it.
//
// A refused call takes the number of the operation that it would have been. Ranks
// on which it was refused have nothing to tell each other; where it was made, the
// calls do not match.

#include <algorithm>

#include <fmt/format.h>

#include "muster/collectives/crew.h"

namespace muster::collectives::internal {
namespace {

// More than any rank is ahead of another that makes mistakes.
constexpr std::size_t kMostRefusals = 4096;

}  // namespace

void Crew::refuse(const Error& why) {
  if (has_trouble()) {
    // Others may have begun, and wait for this rank.
    const loop::Turn turn(loop_);
    return tell_trouble();
  }
  count({.deed = Deed::refused});
  {
    // Together: others' refusals of this call may come at once, and are judged by both.
    const loop::Turn turn(loop_);
    if (size() > 1) refused_here_[number_] = 0;
    inside_.store(number_, std::memory_order_release);
  }
  if (desk_ != nullptr) {
    if (const auto free = slot(); !free) return static_cast<void>(fail(free.error()));
    post();
  }
  end();
  tell_refusal(why);
}

void Crew::tell_refusal(const Error& why) {
  const loop::Turn turn(loop_);
  const Note note{.kind = NoteKind::refused, .context = context_, .number = number_};
  const Buffer reason = Buffer::copy_of(std::string_view(why.message()).substr(0, kMaxReason));
  for (const auto& seat : seats_) {
    if (seat == nullptr || !seat->is_here()) continue;
    wire::Parts parts;
    parts.push_back(reason);
    static_cast<void>(seat->send(note, std::move(parts)));
  }
  judge_refusals(number_);
}

void Crew::take_refused(Rank from, const Note& note, const wire::Frame& frame) {
  if (frame.parts.size() != 1 || frame.parts[0].size() > kMaxReason) return;
  if (refusals_.size() >= kMostRefusals) return;
  Peer& peer = peers_[from];
  peer.heard.store(std::max(peer.heard.load(), note.number), std::memory_order_relaxed);
  refusals_.push_back({from, note.number, std::string(frame.parts[0].text())});
  has_refusals_.store(true, std::memory_order_release);
  // Outside of operations it is not known here how many there were: the next call looks.
  judge_refusals(inside_.load(std::memory_order_acquire));
}

// `begun`: the latest call of this rank.
void Crew::judge_refusals(std::uint64_t begun) {
  std::erase_if(refusals_, [&](const Refusal& one) {
    if (one.number > begun) return false;
    const auto here = refused_here_.find(one.number);
    if (here == refused_here_.end()) {
      set_trouble(Error(Code::invalid, fmt::format("the call of rank {} was refused: {}",
                                                   called(one.from), one.why)),
                  one.from);
    } else if (++here->second + 1 == size()) {
      refused_here_.erase(here);
    }
    return true;
  });
  has_refusals_.store(!refusals_.empty(), std::memory_order_release);
}

bool Crew::is_ahead(Rank rank) const {
  const Peer& peer = peers_[rank];
  if (peer.heard.load(std::memory_order_relaxed) > number_) return true;
  if (peer.desk == nullptr) return false;
  const Slot& slot = peer.desk->slots[Slot::index(number_ + 1)];
  return slot.number.load(std::memory_order_acquire) > number_;
}

void Crew::tell_late() {
  const loop::Turn turn(loop_);
  if (rank_ == 0 || !seats_[0]->is_here()) return;
  const Note note{.kind = NoteKind::late, .context = context_, .number = number_ + 1};
  static_cast<void>(seats_[0]->send(note));
}

bool Crew::is_anybody_late() const {
  for (Rank rank = 0; rank < size(); ++rank) {
    if (peers_[rank].late_for == number_ + 1) return true;
  }
  return false;
}

bool Crew::has_refusal_ahead() const {
  return std::ranges::any_of(refusals_,
                             [this](const Refusal& one) { return one.number <= number_ + 1; });
}

}  // namespace muster::collectives::internal

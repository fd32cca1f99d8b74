// One operation of a crew, on the desks.

#include "muster/collectives/crew.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/base/crash_point.h"

namespace muster::collectives::internal {

Result<std::uint64_t> Crew::begin(const Description& what) {
  if (!has_trouble() && has_departures_.load(std::memory_order_acquire)) {
    for (Rank peer = 0; peer < size(); ++peer) {
      // Who took part in this one before it left has left what it brought.
      if (peers_[peer].left_after.load(std::memory_order_acquire) > number_) continue;
      const loop::Turn turn(loop_);
      set_trouble(departed(peer));
    }
  }
  if (has_refusals_.load(std::memory_order_acquire)) {
    const loop::Turn turn(loop_);
    judge_refusals(number_ + 1);
  }
  if (has_trouble()) {
    // Others may have begun, and wait for this rank.
    const loop::Turn turn(loop_);
    tell_trouble();
    return trouble_or("this communicator has ended");
  }
  count(what);
  inside_.store(number_, std::memory_order_release);
  const bool is_shared = what.deed == Deed::share || what.deed == Deed::all_share;
  if (!is_one_host_ || is_shared) {
    begin_messages();
    if (has_trouble()) return fail(trouble_or(""));
  }
  // What is shared has no place of its own; others have to say first where it is.
  if (is_shared) resume_messages();
  return number_;
}

void Crew::count(const Description& what) {
  what_ = what;
  if (form_ != 0) what_.form |= form_;
  ++number_;
  whats_[Slot::index(number_)] = what_;
  history_ = extended(history_, what_);
  sent_.clear();
  has_complained_ = false;
  slow_since_ = {};
  here_due_ = {};
}

// What came already may be of another call than this.
void Crew::begin_messages() {
  const loop::Turn turn(loop_);
  current_ = what_;
  current_number_ = number_;
  current_history_ = static_cast<std::uint32_t>(history_);
  count_messages_anew();
  for (Rank peer = 0; peer < size(); ++peer) {
    const auto& in = peers_[peer].operations.in;
    if (in.empty()) continue;
    const Incoming& first = in.front();
    // Whose calls match takes all that was sent to it before it ends.
    if (first.number < number_) set_trouble(late_mismatch(peer, first.what, first.number));
    notice_mismatch(peer, first);
  }
}

Result<Slot*> Crew::slot() {
  if (floor_ + kSlots < number_) MUSTER_TRY_OK(raise_floor(number_ - kSlots));
  Slot& slot = desk_->slots[Slot::index(number_)];
  // Who looks at what was there before sees that it is gone.
  slot.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  slot.what = what_;
  slot.history = history_;
  return &slot;
}

// All ranks of this host have ended operation `wanted`.
Status Crew::raise_floor(std::uint64_t wanted) {
  std::uint64_t floor = UINT64_MAX;
  for (Rank peer = 0; peer < size(); ++peer) {
    const Desk* const desk = peers_[peer].desk;
    if (desk == nullptr) continue;
    // Who shows what it brought to an operation has ended those before: there is no need to look
    // at its progress, which it would have to fetch back before it writes it again.
    if (peers_[peer].seen <= wanted) {
      MUSTER_TRY_OK(await(peer, desk->progress, progress_of(wanted, kLastPhase)));
    }
    floor = std::min(floor, std::max(wanted + 1, peers_[peer].seen) - 1);
  }
  floor_ = floor;
  return ok();
}

void Crew::post() {
  Slot& slot = desk_->slots[Slot::index(number_)];
  MUSTER_CRASH_POINT();
  slot.number.store(number_, std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
  wake_readers(slot.number);
}

// The line that is written may still be on its way here: to look at another's need not wait for it,
// as a store that is ordered before the look would.
void Crew::post_quietly() {
  Slot& slot = desk_->slots[Slot::index(number_)];
  MUSTER_CRASH_POINT();
  slot.number.store(number_, std::memory_order_release);
  MUSTER_CRASH_POINT();
  has_untold_ = true;
}

// Whoever sleeps has said so before it looked at our word for the last time, in sequentially
// consistent order: it has seen what we stored before the fence, or we see that it sleeps.
void Crew::wake_untold() {
  if (!std::exchange(has_untold_, false)) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool has_sleeper = std::ranges::any_of(other_desks_, [](const Desk* desk) {
    return desk->is_asleep.load(std::memory_order_seq_cst) != 0;
  });
  if (!has_sleeper) return;
  wake_readers(desk_->slots[Slot::index(number_)].number);
  wake_readers(desk_->progress);
}

Result<const Slot*> Crew::peer_slot(Rank peer) {
  const Slot& slot = peers_[peer].desk->slots[Slot::index(number_)];
  if (slot.number.load(std::memory_order_acquire) < number_) {
    wake_untold();
    MUSTER_TRY_OK(await_slowly(peer, slot.number, number_));
  }
  const std::uint64_t number = slot.number.load(std::memory_order_acquire);
  const Description theirs = slot.what;
  if (theirs != what_ || number != number_) return mismatch(peer, theirs, number);
  if (slot.history != history_) return mismatch_before(peer);
  peers_[peer].seen = number_;
  return &slot;
}

// Ranks that all take themselves for the root look at nobody's slot, and nor do those who
// send to each other's. What they have called tells them apart when one looks.
Error Crew::mismatch_before(Rank peer) const {
  const std::uint64_t first = number_ < kSlots ? 1 : number_ - kSlots + 1;
  for (std::uint64_t k = first; k < number_ && peers_[peer].desk != nullptr; ++k) {
    const Slot& other = peers_[peer].desk->slots[Slot::index(k)];
    if (other.number.load(std::memory_order_acquire) != k) continue;
    const Description theirs = other.what;
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool is_whole = other.number.load(std::memory_order_relaxed) == k;
    if (is_whole && theirs != whats_[Slot::index(k)]) return late_mismatch(peer, theirs, k);
  }
  return {Code::invalid, fmt::format("rank {} and rank {} have called something else before {}, "
                                     "as one of {} operations",
                                     called(peer), called(rank_), describe(what_), number_ - 1)};
}

void Crew::publish(std::uint32_t phase) {
  MUSTER_CRASH_POINT();
  desk_->progress.store(progress_of(number_, phase), std::memory_order_seq_cst);
  MUSTER_CRASH_POINT();
  wake_readers(desk_->progress);
}

Status Crew::await_phase(Rank peer, std::uint32_t phase) {
  return await(peer, peers_[peer].desk->progress, progress_of(number_, phase));
}

// A rank that gave the operation up may write its memory again. It says so
// before it does, and we look after we have read. Else a rank that comes late
// would find all that the others left on their desks, and take it for done.
Status Crew::check_unspoilt() {
  // What was read is plain memory, so that no load of ours orders it. TSan does not
  // model the fence, nor does it see the memory, which other processes write.
  std::atomic_thread_fence(std::memory_order_acquire);
  for (const Desk* const desk : other_desks_) {
    const std::uint64_t aborted = desk->aborted.load(std::memory_order_acquire);
    if (aborted == 0 || aborted > number_) continue;  // A later one is no matter of this.
    Rank peer = 0;
    while (peers_[peer].desk != desk) ++peer;
    return await_trouble(fmt::format("rank {} gave the operation up", called(peer)));
  }
  return ok();
}

void Crew::end() {
  if (desk_ != nullptr) {
    desk_->progress.store(progress_of(number_, kLastPhase), std::memory_order_release);
    MUSTER_CRASH_POINT();
    has_untold_ = true;
    wake_untold();
  }
  inside_.store(0, std::memory_order_release);
}

Status Crew::make_window(std::size_t bytes) {
  if (window_.size() > 0) return ok();
  MUSTER_TRY(window_, fabric_->allocate(bytes));
  return ok();
}

std::optional<std::pair<std::uint32_t, std::uint64_t>> Crew::find_own(const std::byte* data,
                                                                      std::uint64_t bytes) const {
  const loop::Turn turn(loop_);
  Seats readers;
  for (Rank peer = 0; peer < size(); ++peer) {
    if (peers_[peer].desk != nullptr) readers.push_back(seats_[peer]);
  }
  return fabric_->find_own(data, bytes, readers);
}

Result<std::shared_ptr<arena::Segment>> Crew::segment(Rank peer, std::uint32_t number) {
  auto& known = peers_[peer].segments;
  for (const auto& [of, segment] : known) {
    if (of != number) continue;
    if (std::shared_ptr<arena::Segment> mapped = segment.lock()) return mapped;
  }
  std::shared_ptr<arena::Segment> found;
  MUSTER_TRY_OK(await_messages(peer, [&] {
    const auto& segments = seats_[peer]->segments;
    const auto there = segments.find(number);
    if (there != segments.end()) found = there->second;
    return found != nullptr;
  }));
  std::erase_if(known, [](const auto& one) { return one.second.expired(); });
  known.emplace_back(number, found);
  return found;
}

}  // namespace muster::collectives::internal

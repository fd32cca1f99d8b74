// How a rank waits for others: it looks, yields, then sleeps on their word.

#include <algorithm>
#include <climits>
#include <utility>

#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "muster/base/log.h"
#include "muster/collectives/crew.h"
#include "muster/loop/thread_env.h"
#include "muster/loop/virtual_thread.h"

namespace muster::collectives::internal {
namespace {

// Looks before the first yield where each rank has a processor: some 20 us at
// most. Who looked in vain looks less the next time, since the one it waits for
// may be waiting for this very processor, whatever their number.
constexpr int kMostSpins = 1000;
constexpr int kFewestSpins = 32;
thread_local int spins = kMostSpins;
// Yields before the first sleep.
constexpr int kYields = 200;
// The longest sleep. Nothing depends on it but how soon a wake-up that was lost
// between two looks is made good.
constexpr Duration kSlice = std::chrono::milliseconds(10);
// How long it takes until a rank tells where it is, for those who wonder.
constexpr Duration kHereAfter = std::chrono::milliseconds(100);
// How often the loop is left, while a desk is waited for beside messages.
constexpr Duration kGlance = std::chrono::microseconds(50);

// Words lie in memory that others write and we may only read.
const std::uint32_t* low_half(const Word& word) {
  return reinterpret_cast<const std::uint32_t*>(&word);
}

void sleep_while(const Word& word, std::uint64_t value, Duration limit) {
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(limit).count();
  const timespec timeout{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  syscall(SYS_futex, low_half(word), FUTEX_WAIT, static_cast<std::uint32_t>(value), &timeout,
          nullptr, 0);
}

void wake_all(const Word& word) {
  syscall(SYS_futex, low_half(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

Status Crew::await(Rank peer, const Word& word, std::uint64_t wanted) {
  if (word.load(std::memory_order_acquire) >= wanted) return ok();
  return await_slowly(peer, word, wanted);
}

Status Crew::await_slowly(Rank peer, const Word& word, std::uint64_t wanted) {
  if (!is_crowded_) {
    for (int look = 0; look < spins; ++look) {
      if (word.load(std::memory_order_acquire) >= wanted) {
        spins = std::min(2 * spins, kMostSpins);
        return ok();
      }
      loop::pause();
    }
    spins = std::max(spins / 2, kFewestSpins);
  }
  for (int look = 0; look < kYields; ++look) {
    if (word.load(std::memory_order_acquire) >= wanted) return ok();
    if (has_trouble() || has_left(peer) || loop::virtual_thread != nullptr) break;
    sched_yield();
  }
  return sleep_on(peer, word, wanted);
}

Status Crew::sleep_on(Rank peer, const Word& word, std::uint64_t wanted) {
  begin_to_wait();
  for (;;) {
    const bool is_left = has_left(peer);  // Before the look: what it wrote, it wrote before.
    std::uint64_t value = word.load(std::memory_order_acquire);
    if (value >= wanted) return ok();
    if (has_trouble()) return trouble_or("the operation was given up");
    if (is_left) return departed(peer);
    if (Status in_time = check_time(peer); !in_time) return in_time;
    if (!is_one_host_ || loop::virtual_thread != nullptr) {
      // Messages may have to move meanwhile, or others who run on this very thread.
      loop_.wait_until(
          [&] { return word.load(std::memory_order_acquire) >= wanted || has_trouble(); },
          loop_.now() + kGlance);
      continue;
    }
    desk_->is_asleep.store(1, std::memory_order_seq_cst);
    sleeping_on_.store(&word, std::memory_order_seq_cst);
    value = word.load(std::memory_order_seq_cst);
    if (value < wanted && !has_trouble() && !has_left(peer)) sleep_while(word, value, kSlice);
    sleeping_on_.store(nullptr, std::memory_order_seq_cst);
    desk_->is_asleep.store(0, std::memory_order_relaxed);
  }
}

// Of those who read `word` of ours, wakes who sleeps.
void Crew::wake_readers(const Word& word) {
  for (const Desk* const desk : other_desks_) {
    if (desk->is_asleep.load(std::memory_order_seq_cst) != 0) return wake_all(word);
  }
}

// This process's own sleeper, because of trouble.
void Crew::wake_own() {
  if (const Word* const word = sleeping_on_.load(std::memory_order_seq_cst)) wake_all(*word);
}

Status Crew::await_messages(std::optional<Rank> peer, const std::function<bool()>& done) {
  const auto is_left = [&] { return peer && has_left(*peer); };
  const auto is_over = [&] { return done() || has_trouble() || is_left(); };
  begin_to_wait();
  while (!loop_.wait_until(is_over, loop_.now() + kHereAfter)) {
    if (Status in_time = check_time(peer ? peer : holder()); !in_time) return in_time;
  }
  const loop::Turn turn(loop_);
  if (done()) return ok();
  if (!has_trouble() && is_left()) return departed(*peer);
  return trouble_or("the operation was given up");
}

// The first time that it takes long: who is quick never looks at the clock.
void Crew::begin_to_wait() {
  if (slow_since_ == TimePoint{}) slow_since_ = loop_.now();
}

msg::Wait bounded(const msg::Wait& wait, const Manners& manners, const loop::Loop& loop) {
  TimePoint until = wait.deadline_from([&] { return loop.now(); });
  if (until == kForever && manners.deadline != Duration::max()) {
    until = loop.now() + manners.deadline;
  }
  return msg::Wait(until, wait.stop()).asking(wait.check());
}

void Crew::complain(const std::string& deed, const std::vector<Rank>& missing,
                    std::optional<Rank> peer) const {
  std::string whom = fmt::format("{}", fmt::join(called(missing), " "));
  if (missing.empty()) {
    whom = peer ? fmt::format("{}, which has come", called(*peer)) : "those who have come";
  }
  log::warning(fmt::format("operation stuck  operation {}  number {}  rank {}  waits for {}", deed,
                           number_, called(rank_), whom));
}

std::string name_missing(std::string_view attempt, const std::vector<Rank>& missing,
                         std::optional<Rank> peer) {
  if (missing.empty() && peer) {
    return fmt::format("{}: all ranks have come, but rank {} did not go on", attempt, *peer);
  }
  if (missing.empty()) return fmt::format("{}: all ranks have come, but not all went on", attempt);
  return fmt::format("{}: rank{} {} did not come", attempt, missing.size() == 1 ? "" : "s",
                     fmt::join(missing, ", "));
}

bool Crew::is_late(TimePoint now) const {
  if (callers_) return now >= callers_->deadline_from([&] { return now; });
  return manners_.deadline != Duration::max() && now - slow_since_ >= manners_.deadline;
}

bool Crew::is_to_stop(TimePoint now) {
  if (!callers_) return false;
  was_to_stop_ = callers_->stop().stop_requested();
  if (!was_to_stop_ && callers_->check() != nullptr && now >= ask_due_) {
    ask_due_ = now + msg::Wait::kCheckEvery;
    was_to_stop_ = callers_->check()();
  }
  return was_to_stop_;
}

bool Crew::heed_no_more() {
  callers_.reset();
  return std::exchange(was_to_stop_, false);
}

// Complains once, and gives up at the deadline.
Status Crew::check_time(std::optional<Rank> peer) {
  const TimePoint now = loop_.now();
  const Duration waited = now - slow_since_;
  if (has_refusals_.load(std::memory_order_acquire)) {
    const loop::Turn turn(loop_);  // What came while the call began.
    judge_refusals(number_);
  }
  if (waited >= kHereAfter && now >= here_due_) {
    say_here();
    here_due_ = now + waited;  // Ever more rarely.
  }
  if (waited >= manners_.patience && !has_complained_) {
    has_complained_ = true;
    complain(describe(what_), waiting_for(), peer);
  }
  if (is_to_stop(now)) {
    return give_up(msg::internal::why_not(msg::internal::Waited::cancelled, describe(what_)));
  }
  if (!is_late(now)) return ok();
  if (peer) peer = called(*peer);
  return Error(Code::timeout, name_missing("the deadline passed", called(waiting_for()), peer));
}

std::vector<Rank> Crew::waiting_for() const {
  const Stage stage = stage_.load(std::memory_order_acquire);
  if (stage != Stage::working) {
    const loop::Turn turn(loop_);
    return stage == Stage::getting_ready ? unready() : not_agreeing();
  }
  std::vector<Rank> missing;
  const std::uint64_t number = inside_.load(std::memory_order_acquire);
  if (number == 0) return missing;
  for (Rank rank = 0; rank < size(); ++rank) {
    if (rank == rank_) continue;
    std::uint64_t come = peers_[rank].heard.load(std::memory_order_relaxed);
    if (const Desk* const desk = peers_[rank].desk) {
      for (const Slot& slot : desk->slots) {
        come = std::max(come, slot.number.load(std::memory_order_acquire));
      }
    }
    if (come < number) missing.push_back(rank);
  }
  return missing;
}

void Crew::say_here() {
  const loop::Turn turn(loop_);
  const Note note{.kind = NoteKind::here,
                  .tag = static_cast<std::uint32_t>(history_),
                  .context = context_,
                  .number = number_,
                  .what = what_};
  for (const auto& seat : seats_) {
    if (seat != nullptr && seat->is_here()) static_cast<void>(seat->send(note));
  }
}

}  // namespace muster::collectives::internal

// How a rank waits for others: it looks, yields, then sleeps on their word.

#include <algorithm>
#include <climits>

#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "muster/base/log.h"
#include "muster/collectives/crew.h"
#include "muster/loop/thread_env.h"

namespace muster::collectives::internal {
namespace {

// Looks before the first yield where each rank has a processor: some 20 us.
constexpr int kSpins = 1000;
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

Status Crew::await(const Word& word, std::uint64_t wanted) {
  if (word.load(std::memory_order_acquire) >= wanted) return ok();
  return await_slowly(word, wanted);
}

Status Crew::await_slowly(const Word& word, std::uint64_t wanted) {
  if (!is_crowded_) {
    for (int look = 0; look < kSpins; ++look) {
      if (word.load(std::memory_order_acquire) >= wanted) return ok();
      loop::pause();
    }
  }
  for (int look = 0; look < kYields; ++look) {
    if (word.load(std::memory_order_acquire) >= wanted) return ok();
    if (has_trouble()) break;
    sched_yield();
  }
  return sleep_on(word, wanted);
}

Status Crew::sleep_on(const Word& word, std::uint64_t wanted) {
  slow_since_ = loop_.now();
  for (;;) {
    std::uint64_t value = word.load(std::memory_order_acquire);
    if (value >= wanted) return ok();
    if (has_trouble()) return trouble_or("the operation was given up");
    if (Status in_time = check_time(); !in_time) return in_time;
    if (!is_one_host_) {
      // Messages may have to move meanwhile.
      loop_.wait_until(
          [&] { return word.load(std::memory_order_acquire) >= wanted || has_trouble(); },
          loop_.now() + kGlance);
      continue;
    }
    desk_->is_asleep.store(1, std::memory_order_seq_cst);
    sleeping_on_.store(&word, std::memory_order_seq_cst);
    value = word.load(std::memory_order_seq_cst);
    if (value < wanted && !has_trouble()) sleep_while(word, value, kSlice);
    sleeping_on_.store(nullptr, std::memory_order_seq_cst);
    desk_->is_asleep.store(0, std::memory_order_relaxed);
  }
}

// Of those who read `word` of ours, wakes who sleeps.
void Crew::wake_readers(const Word& word) {
  for (Rank peer = 0; peer < size(); ++peer) {
    const Desk* const desk = peers_[peer].desk;
    if (desk != nullptr && desk->is_asleep.load(std::memory_order_seq_cst) != 0) {
      wake_all(word);
      return;
    }
  }
}

// This process's own sleeper, because of trouble.
void Crew::wake_own() {
  if (const Word* const word = sleeping_on_.load(std::memory_order_seq_cst)) wake_all(*word);
}

Status Crew::await_messages(const std::function<bool()>& done) {
  const auto is_over = [&] { return done() || has_trouble(); };
  slow_since_ = loop_.now();
  while (!loop_.wait_until(is_over, loop_.now() + kHereAfter)) {
    if (Status in_time = check_time(); !in_time) return in_time;
  }
  const loop::Turn turn(loop_);
  if (done()) return ok();
  return trouble_or("the operation was given up");
}

// Complains once, and gives up at the deadline.
Status Crew::check_time() {
  const TimePoint now = loop_.now();
  const Duration waited = now - slow_since_;
  if (waited >= kHereAfter && now >= here_due_) {
    say_here();
    here_due_ = now + waited;  // Ever more rarely.
  }
  if (waited >= manners_.patience && !has_complained_) {
    has_complained_ = true;
    log::warning(fmt::format("operation stuck  operation {}  number {}  rank {}  waits for {}",
                             describe(what_), number_, rank_, fmt::join(waiting_for(), " ")));
  }
  if (manners_.deadline == Duration::max() || waited < manners_.deadline) return ok();
  const std::vector<Rank> missing = waiting_for();
  return Error(Code::timeout,
               fmt::format("the deadline passed; rank{} {} did not come",
                           missing.size() == 1 ? "" : "s", fmt::join(missing, ", ")));
}

std::vector<Rank> Crew::waiting_for() const {
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
  const Note note{.kind = NoteKind::here, .context = context_, .number = number_, .what = what_};
  for (const auto& seat : seats_) {
    if (seat != nullptr && seat->is_here()) static_cast<void>(seat->send(note));
  }
}

}  // namespace muster::collectives::internal

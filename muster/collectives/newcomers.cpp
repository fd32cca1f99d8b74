// What a core does for those who come and go: newcomers, and what was interrupted.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/collectives/communicator_core.h"
#include "muster/collectives/survivors.h"
#include "muster/msg/proxy_wait.h"

namespace muster::collectives::internal {
namespace {

// How soon it is noticed that rank 0 looks for newcomers no more.
constexpr Duration kLookAgain = std::chrono::milliseconds(50);
// Members do not call at the same moment: one of them looks for newcomers for less time, or not
// at all, but waits so long for the others.
constexpr Duration kMembersCome = std::chrono::seconds(1);

}  // namespace

// `wait` as it was given, and as it is bounded.
msg::Wait CommunicatorCore::wait_for_members(const msg::Wait& wait,
                                             const msg::Wait& bounded) const {
  const TimePoint now = fabric_->loop().now();
  const auto ask = [now] { return now; };
  const TimePoint deadline = bounded.deadline_from(ask);
  if (wait.deadline_from(ask) == kForever) return bounded;
  return msg::Wait(std::max(deadline, now + kMembersCome), bounded.stop()).asking(bounded.check());
}

// Those who ask to join with a rank from here on; null where nobody came.
msg::internal::Waited CommunicatorCore::find_newcomers(std::vector<Id>& newcomers,
                                                       const msg::Wait& wait) const {
  const auto find = [&] {
    std::ranges::fill(newcomers, Id{});
    for (const auto& seat : fabric_->seats()) {
      if (!seat->is_here() || seat->hello->is_founded) continue;
      const Rank rank = seat->hello->rank;
      if (rank < crew_->size() || rank - crew_->size() >= newcomers.size()) continue;
      Id& place = newcomers[rank - crew_->size()];
      if (!place || seat->id < place) place = seat->id;
    }
    return std::ranges::all_of(newcomers, [](Id id) { return static_cast<bool>(id); });
  };
  const TimePoint deadline = wait.deadline_from([this] { return fabric_->loop().now(); });
  const auto is_over = [&] {
    // Rank 0 counts; whether it has gone on nobody tells, where it shows so on its desk.
    return find() || crew_->has_trouble() || crew_->has_refusal_ahead() || crew_->is_ahead(0) ||
           crew_->is_anybody_late();
  };
  std::vector<Id> told;
  msg::internal::Waited waited = msg::internal::Waited::timeout;
  while (waited == msg::internal::Waited::timeout && fabric_->loop().now() < deadline) {
    const TimePoint next = std::min(deadline, fabric_->loop().now() + kLookAgain);
    waited = msg::internal::wait_for(fabric_->loop(), wait, next, is_over);
    bring_to_rank_0(newcomers, told);
  }
  // Rank 0 may have more time, and this one waits for what it says.
  if (waited == msg::internal::Waited::timeout) crew_->tell_late();
  return waited;
}

// It counts, and may never be told of one whom this rank has met.
void CommunicatorCore::bring_to_rank_0(const std::vector<Id>& found, std::vector<Id>& told) const {
  if (crew_->rank() == 0) return;
  const loop::Turn turn(fabric_->loop());
  for (const Id id : found) {
    if (!id || std::ranges::count(told, id) > 0) continue;
    told.push_back(id);
    fabric_->bring_together(*crew_->seats()[0], *fabric_->find(id));
  }
}

// Rank 0 has met all of them.
void CommunicatorCore::bring_together(const std::vector<Id>& newcomers) const {
  if (crew_->rank() != 0) return;
  Seats others = crew_->seats();
  std::erase(others, nullptr);
  for (const Id id : newcomers) {
    const loop::Turn turn(fabric_->loop());  // Each time: beats leave in between.
    const std::shared_ptr<Seat> newcomer = fabric_->find(id);
    for (const auto& seat : others) fabric_->bring_together(*seat, *newcomer);
    others.push_back(newcomer);
  }
}

// By the ranks that they will have.
std::vector<Rank> CommunicatorCore::unmet(const std::vector<Id>& newcomers) const {
  std::vector<Rank> ranks;
  for (Rank i = 0; i < newcomers.size(); ++i) {
    const std::shared_ptr<Seat> seat = fabric_->find(newcomers[i]);
    if (seat == nullptr || !(seat->is_here() || seat->lost)) ranks.push_back(crew_->size() + i);
  }
  return ranks;
}

std::string CommunicatorCore::unmet_in_words(const std::vector<Id>& newcomers) const {
  const loop::Turn turn(fabric_->loop());
  const std::vector<Rank> ranks = unmet(newcomers);
  return fmt::format("grow: rank {} has not met rank{} {}", crew_->called(crew_->rank()),
                     ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

Result<std::shared_ptr<Crew>> CommunicatorCore::take_in(const std::vector<Id>& newcomers,
                                                        std::uint64_t context,
                                                        const msg::Wait& wait) {
  // A newcomer may have been told of a member by others alone.
  std::vector<Id> watched = newcomers;
  for (const auto& seat : crew_->seats()) {
    if (seat != nullptr) watched.push_back(seat->id);
  }
  const auto watch = [&](bool is_watched) {
    const loop::Turn turn(fabric_->loop());
    fabric_->watch(watched, is_watched);
  };
  watch(true);
  const msg::internal::OnThrow unwatch([&] { watch(false); });
  auto made = crew_with(newcomers, context, wait);
  watch(false);
  if (made) return made;
  // Another may wait for one of whom it has never heard.
  if (crew_->has_trouble()) {
    crew_->give_up();
  } else {
    const loop::Turn turn(fabric_->loop());
    fabric_->tell_gone(newcomers);
  }
  return made;
}

Result<std::shared_ptr<Crew>> CommunicatorCore::crew_with(const std::vector<Id>& newcomers,
                                                          std::uint64_t context,
                                                          const msg::Wait& wait) {
  bring_together(newcomers);
  const auto are_here = [&] { return crew_->has_trouble() || unmet(newcomers).empty(); };
  const auto waited = msg::internal::wait_for(fabric_->loop(), wait, are_here);
  // Others may have gone on, and wait for this rank.
  if (waited != msg::internal::Waited::done) {
    return crew_->give_up(msg::internal::why_not(waited, unmet_in_words(newcomers)));
  }
  if (crew_->has_trouble()) return crew_->give_up().during("grow");
  Seats seats = crew_->seats();
  for (const Id id : newcomers) {
    const loop::Turn turn(fabric_->loop());
    seats.push_back(fabric_->find(id));
  }
  // By each: one of them may be gone before it comes to that.
  welcome(context, seats, newcomers);
  return crew_for(context, std::move(seats), crew_->rank(), wait);
}

void CommunicatorCore::welcome(std::uint64_t context, const Seats& seats,
                               const std::vector<Id>& newcomers) const {
  std::vector<Id> members;
  for (const auto& seat : seats) members.push_back(seat != nullptr ? seat->id : fabric_->id());
  const Buffer told = Buffer::copy_of(std::as_bytes(std::span(members)));
  const loop::Turn turn(fabric_->loop());
  for (const Id id : newcomers) {
    wire::Parts parts;
    parts.push_back(told);
    static_cast<void>(
        fabric_->find(id)->send({.kind = NoteKind::welcome, .context = context}, std::move(parts)));
  }
}

// What was interrupted there; or before, and has not been repeated since. Only if it is the first
// that not all have completed: others were interrupted in that, and would be given another.
void CommunicatorCore::inherit(CommunicatorCore& old, const Decision& decision) {
  if (old.position().completed != decision.all_prepared) return;
  const std::vector<Rank>& survivors = decision.survivors;
  if (old.last_call) {
    interrupted = std::exchange(old.last_call, std::nullopt);
    before_ = old.where();
    survivors_ = survivors;
  } else if (old.interrupted) {
    interrupted = std::exchange(old.interrupted, std::nullopt);
    before_ = old.before_;
    for (const Rank rank : survivors) survivors_.push_back(old.survivors_[rank]);
  } else {
    return;
  }
  kept_input = std::move(old.kept_input);
  is_input_lost = interrupted->is_in_place(before_.ranks, before_.rank) &&
                  kept_input.size() < interrupted->input_bytes(before_.ranks, before_.rank);
}

Result<Outcome> CommunicatorCore::repeat_interrupted() {
  if (!interrupted) {
    return refuse(Error(Code::invalid,
                        "repeat: of what not all have completed, nothing was interrupted on this "
                        "rank; call the operation after completed_before()"));
  }
  if (is_input_lost) {
    return refuse(Error(Code::invalid,
                        "repeat: the operation was in place and no copy of its input was kept; set "
                        "Manners::keep_input"));
  }
  if (!kept_input.empty()) {
    std::ranges::copy(kept_input, const_cast<std::byte*>(interrupted->input));
  }
  // If it fails, it is still the one that was interrupted.
  const Result<Reduced> reduced = for_survivors(*interrupted, before_, survivors_);
  if (!reduced) return refuse(reduced.error());
  MUSTER_TRY_OK(carry_out(reduced->call));
  spread(*interrupted, before_, survivors_, *reduced);
  interrupted.reset();
  kept_input.clear();
  count_completed();
  return Outcome{.number = completed(), .contributors = nullptr};
}

}  // namespace muster::collectives::internal

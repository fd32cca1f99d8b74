// How a core comes to another crew: one that was split off, or that survivors agreed upon.

#include <algorithm>
#include <utility>

#include "muster/collectives/communicator_core.h"

namespace muster::collectives::internal {

// Known while it is made, so that it can be named and cancelled.
Result<std::shared_ptr<Crew>> CommunicatorCore::start_crew(std::uint64_t context, Seats seats,
                                                           Rank rank) {
  const loop::Turn turn(fabric_->loop());
  if (future_ == nullptr || future_->context() != context) {
    if (const std::optional<Error> why = crew_->why_left_out()) return *why;
    MUSTER_TRY(future_, Crew::start(fabric_, context, std::move(seats), rank, manners_));
  }
  if (is_closing_) future_->cancel();
  return future_;
}

Result<std::shared_ptr<Crew>> CommunicatorCore::crew_for(std::uint64_t context, Seats seats,
                                                         Rank rank, const msg::Wait& wait) {
  MUSTER_TRY(std::shared_ptr<Crew> crew, start_crew(context, std::move(seats), rank));
  return finish_crew(crew, crew->await_members(*crew_, wait));
}

Result<std::shared_ptr<Crew>> CommunicatorCore::crew_of_those_left(std::uint64_t context,
                                                                   Seats seats, Rank rank) {
  MUSTER_TRY(std::shared_ptr<Crew> crew, start_crew(context, std::move(seats), rank));
  return finish_crew(crew, crew->await_those_left(*crew_, {}));
}

// To them it has come, and given up while it was made.
void CommunicatorCore::stay_away(std::uint64_t context, Seats seats, Rank rank) {
  const loop::Turn turn(fabric_->loop());
  const auto crew = Crew::start(fabric_, context, std::move(seats), rank, manners_);
  if (crew) (*crew)->leave();
}

Result<std::shared_ptr<Crew>> CommunicatorCore::finish_crew(std::shared_ptr<Crew> crew,
                                                            const Status& ready) {
  const loop::Turn turn(fabric_->loop());
  future_ = nullptr;
  if (ready) return crew;
  crew->leave();
  return ready.error();
}

Result<std::shared_ptr<Crew>> CommunicatorCore::crew_of(const Decision& decision,
                                                        const msg::Wait& wait,
                                                        const std::vector<Rank>& called) {
  Seats seats;
  Rank rank = 0;
  std::vector<std::uint64_t> facts;
  for (const Rank survivor : decision.survivors) {
    if (survivor == crew_->rank()) rank = static_cast<Rank>(seats.size());
    seats.push_back(crew_->seats()[survivor]);
    facts.push_back(survivor);
  }
  const std::uint64_t context = derive_context(crew_->context(), facts);
  MUSTER_TRY(std::shared_ptr<Crew> crew, start_crew(context, std::move(seats), rank));
  if (!called.empty()) crew->call_ranks(called);
  MUSTER_TRY_OK(crew->await_survivors(*crew_, wait));
  const loop::Turn turn(fabric_->loop());
  future_ = nullptr;
  return crew;
}

// By their ranks here: the crew may count them otherwise.
std::vector<Rank> CommunicatorCore::waiting_for() const {
  std::shared_ptr<Crew> crew;
  {
    const loop::Turn turn(fabric_->loop());
    crew = future_ != nullptr ? future_ : crew_;
  }
  std::vector<Rank> missing;
  for (const Rank rank : crew->waiting_for()) {
    const auto member = std::ranges::find(members_, crew->seats()[rank]->name);
    if (member != members_.end()) missing.push_back(static_cast<Rank>(member - members_.begin()));
  }
  return missing;
}

}  // namespace muster::collectives::internal

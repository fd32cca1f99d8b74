// Elastic operations: finished over the survivors, with one set of contributors.
//
// An operation has two parts. First every rank gets the result, then all tell
// each other that they have it; only then does any return. When a rank is lost,
// the survivors agree on how far each had come: if all have the result, it
// stands, and if one has not, then nobody has returned, and it is done again
// without the lost one's input.

#include <algorithm>
#include <cstring>
#include <utility>

#include "muster/collectives/communicator_core.h"
#include "muster/collectives/survivors.h"

namespace muster::collectives::internal {
namespace {

Error given_up() {
  return {Code::unavailable,
          "an operation was given up on this rank that others may complete; shrink() to go on"};
}

bool has_lost_a_rank(const Crew& crew) {
  const std::optional<Error> trouble = crew.trouble();
  return trouble && trouble->code() == Code::unavailable;
}

}  // namespace

Result<Outcome> CommunicatorCore::do_elastic(const Call& call) {
  keep_input_of(call);
  bool is_again = false;
  MUSTER_TRY_OK(do_together([&] {
    if (std::exchange(is_again, true) && !kept_input.empty()) {
      std::memcpy(const_cast<std::byte*>(call.input), kept_input.data(), kept_input.size());
    }
    return carry_out_over_those_left(call);
  }));
  return Outcome{.number = settled_,
                 .contributors = std::make_shared<const std::vector<Rank>>(round_)};
}

Status CommunicatorCore::do_together(const std::function<Status()>& work, bool may_be_tried_again) {
  if (has_given_up_) return given_up();
  crew_->enter_call();
  Status done = elastic_rounds(work, may_be_tried_again);
  crew_->leave_call(position());
  return done;
}

Status CommunicatorCore::catch_up() {
  if (!manners_.elastic) return ok();
  if (has_given_up_) return given_up();
  // Others may have recovered from a loss while this rank was in no call.
  if (!decided_ && !has_lost_a_rank(*crew_)) return ok();
  crew_->enter_call();
  bool is_committed = false;
  const Status caught_up = decided_ ? follow_decision() : recover(false, is_committed);
  crew_->leave_call(position());
  return caught_up;
}

// Somebody was lost, and the others can go on.
bool CommunicatorCore::may_recover(const Error& why) const {
  return manners_.elastic && !is_closing_ && why.code() == Code::unavailable &&
         has_lost_a_rank(*crew_);
}

Status CommunicatorCore::elastic_rounds(const std::function<Status()>& work,
                                        bool may_be_tried_again) {
  for (;;) {
    if (decided_) MUSTER_TRY_OK(follow_decision());
    bool is_prepared = false;
    Status done = elastic_round(work, is_prepared);
    if (done) break;
    if (done.error().code() != Code::unavailable || is_closing_ || !is_recoverable_) {
      has_unsure_ = has_unsure_ || is_prepared;
      return done.error();
    }
    bool is_committed = false;
    if (Status recovered = recover(is_prepared, is_committed); !recovered) {
      has_given_up_ = !may_be_tried_again;
      return recovered;
    }
    if (is_committed) break;
  }
  count_settled();
  return ok();
}

// Apart from all else that is counted: dup() and its like may fail on some ranks alone.
void CommunicatorCore::count_settled() {
  count_completed();
  ++settled_;
  refused_.clear();
}

Status CommunicatorCore::carry_out_over_those_left(const Call& call) {
  if (alive_.size() == size_) return carry_out(call);
  Result<Reduced> reduced = for_survivors(call, where(), alive_);
  if (!reduced) {
    is_recoverable_ = false;
    return std::move(reduced).error();
  }
  reduced->call.part_of = call.description();  // In words it stays what was called.
  MUSTER_TRY_OK(carry_out(reduced->call));
  spread(call, where(), alive_, *reduced);
  return ok();
}

Status CommunicatorCore::elastic_round(const std::function<Status()>& work, bool& is_prepared) {
  round_ = alive_;
  is_recoverable_ = true;
  MUSTER_TRY_OK(work());
  is_prepared = true;
  Call all_have_it = make_barrier();
  all_have_it.deed = Deed::commit;
  return run_over_crew(all_have_it);
}

Status CommunicatorCore::recover(bool is_prepared, bool& is_committed) {
  has_unsure_ = has_unsure_ || is_prepared;
  Result<Decision> decision = crew_->agree(position(), {});
  if (!decision) return std::move(decision).error();
  decided_ = *std::move(decision);
  const bool was_unsure = std::exchange(has_unsure_, false);
  is_committed = decided_->all_prepared > settled_;
  if (is_committed && !is_prepared) {
    // Nobody may have returned what this rank never had. What it had, and gave
    // up before it knew that all have it, is behind all of them.
    if (!was_unsure) {
      return Error(Code::internal, "survivors agreed on the impossible");
    }
    count_settled();
    is_committed = false;
  }
  if (is_committed) return ok();
  if (decided_->any_completed > settled_) {
    return Error(Code::internal, "a rank has returned what not all have had");
  }
  return follow_decision();
}

// Makes the crew that was agreed upon.
Status CommunicatorCore::follow_decision(const msg::Wait& wait) {
  if (decided_->is_shrink) {
    return Error(Code::unavailable, "other ranks have begun to shrink(); do so too");
  }
  const Decision decision = *std::exchange(decided_, std::nullopt);
  std::vector<Rank> alive;
  for (const Rank rank : decision.survivors) alive.push_back(alive_[rank]);
  MUSTER_TRY(std::shared_ptr<Crew> crew, crew_of(decision, wait, alive));
  crew->enter_call();
  {
    const loop::Turn turn(fabric_->loop());
    ancestor_ = std::exchange(crew_, std::move(crew));
    alive_ = std::move(alive);
  }
  if (is_closing_) return Error(Code::cancelled, "the communicator was closed on this rank");
  workshop_ = {};
  // Others may have been in that very call when the crew ended, and make it again.
  for (const Error& why : refused_) crew_->refuse(why);
  return ok();
}

Result<Decision> CommunicatorCore::agree_to_shrink(const msg::Wait& wait) {
  if (manners_.elastic) crew_->enter_call();
  Result<Decision> decision = agree_with_those_who_went_on(wait);
  if (manners_.elastic) crew_->leave_call(position());
  return decision;
}

// Others may have agreed before, and go on with what they are: they are asked there.
Result<Decision> CommunicatorCore::agree_with_those_who_went_on(const msg::Wait& wait) {
  for (;;) {
    Position at = position();
    at.shrinks = true;
    MUSTER_TRY(Decision decision, crew_->agree(at, wait));
    if (decision.is_shrink) return decision;
    if (decision.all_prepared > settled_) count_settled();
    has_unsure_ = false;
    decided_ = decision;
    MUSTER_TRY_OK(follow_decision(wait));
  }
}

}  // namespace muster::collectives::internal

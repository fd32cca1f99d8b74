// Other communicators from one: split, dup, shrink, grow.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/collectives/communicator_core.h"
#include "muster/collectives/survivors.h"
#include "muster/msg/proxy_wait.h"

namespace muster::collectives {

using internal::Call;
using internal::CommunicatorCore;
using internal::Crew;
using internal::Seats;

namespace {

enum class Fact : std::uint64_t { split = 1, dup, grow };

std::unique_ptr<Communicator> wrap(std::unique_ptr<CommunicatorCore> core) {
  return std::make_unique<Communicator>(std::move(core));
}

// Everybody's numbers, `count` of each rank.
Call exchange_of(Deed deed, const std::vector<std::int64_t>& mine, std::vector<std::int64_t>& all) {
  Call call;
  call.operation = Operation::all_gather;
  call.deed = deed;
  call.element = Element::i64;
  call.count = mine.size();
  call.input = reinterpret_cast<const std::byte*>(mine.data());
  call.result = reinterpret_cast<std::byte*>(all.data());
  return call;
}

// Part of a call to grow to `size` ranks.
Call growing_to(Rank size, Operation operation) {
  Call call;
  call.operation = operation;
  call.deed = Deed::grow;
  call.element = Element::i64;
  Description what = call.description();
  what.count = size;
  if (operation == Operation::barrier) what.form |= Description::kCounting;
  call.part_of = what;
  return call;
}

// The ranks whose newcomer is `id`.
std::vector<Rank> places_of(Id id, const std::vector<Id>& newcomers, Rank first) {
  std::vector<Rank> places;
  for (Rank i = 0; i < newcomers.size(); ++i) {
    if (newcomers[i] == id) places.push_back(first + i);
  }
  return places;
}

}  // namespace

Result<std::unique_ptr<Communicator>> Communicator::split(int colour, int key) {
  return core_->inside([&]() -> Result<std::unique_ptr<Communicator>> {
    const std::vector<std::int64_t> mine{colour, key};
    std::vector<std::int64_t> all;
    bool has_all = false;
    const auto exchange = [&] {
      all.resize(2 * static_cast<std::size_t>(core_->crew().size()));
      Status exchanged = core_->carry_out(exchange_of(Deed::split, mine, all));
      has_all = exchanged.has_value();
      return exchanged;
    };
    // Ranks of another colour are not waited for: all must know that all have the same.
    const bool is_elastic = core_->manners().elastic;
    const Status done = is_elastic ? core_->do_together(exchange, true) : exchange();
    // Others may know that all have it, and come to the part.
    const bool is_unsure = is_elastic && has_all && core_->position().is_unsure();
    if (!done && !is_unsure) return done.error();
    if (!is_elastic) core_->count_completed();
    Crew& crew = core_->crew();
    if (colour < 0) return done ? Result(std::unique_ptr<Communicator>()) : done.error();
    std::vector<std::pair<std::int64_t, Rank>> chosen;
    for (Rank rank = 0; rank < crew.size(); ++rank) {
      if (all[std::size_t{2} * rank] == colour)
        chosen.emplace_back(all[std::size_t{2} * rank + 1], rank);
    }
    std::ranges::sort(chosen);
    Seats seats;
    Rank own = 0;
    for (const auto& [its_key, rank] : chosen) {
      if (rank == crew.rank()) own = static_cast<Rank>(seats.size());
      seats.push_back(crew.seats()[rank]);
    }
    const std::uint64_t facts[] = {static_cast<std::uint64_t>(Fact::split),
                                   is_elastic ? core_->position().prepared : crew.number(),
                                   static_cast<std::uint64_t>(colour)};
    const std::uint64_t context = internal::derive_context(crew.context(), facts);
    if (!done) {
      core_->stay_away(context, std::move(seats), own);
      return done.error();
    }
    MUSTER_TRY(auto made, is_elastic ? core_->crew_of_those_left(context, std::move(seats), own)
                                     : core_->crew_for(context, std::move(seats), own, {}));
    return wrap(std::make_unique<CommunicatorCore>(std::move(made), core_->manners()));
  });
}

Result<std::unique_ptr<Communicator>> Communicator::dup() {
  const auto make = [&]() -> Result<std::unique_ptr<Communicator>> {
    Crew& crew = core_->crew();
    Call call = internal::make_barrier();
    call.deed = Deed::dup;
    MUSTER_TRY_OK(core_->carry_out(call));
    core_->count_completed();
    const std::uint64_t facts[] = {static_cast<std::uint64_t>(Fact::dup), crew.number()};
    MUSTER_TRY(auto made, core_->crew_for(internal::derive_context(crew.context(), facts),
                                          crew.seats(), crew.rank(), {}));
    return wrap(std::make_unique<CommunicatorCore>(std::move(made), core_->manners()));
  };
  return core_->inside([&] { return core_->make_of_those_left(make); });
}

Result<std::unique_ptr<Communicator>> Communicator::shrink(const msg::Wait& wait) {
  return core_->inside([&]() -> Result<std::unique_ptr<Communicator>> {
    if (core_->is_shrunk) {
      return Error(Code::invalid, "shrink: it was done before; go on with what that gave");
    }
    const msg::Wait until = core_->crew().bounded(wait);
    const auto decision = core_->agree_to_shrink(until);
    if (!decision) return decision.error().during("shrink");
    MUSTER_TRY(auto crew, core_->crew_of(*decision, until));
    auto core =
        std::make_unique<CommunicatorCore>(std::move(crew), core_->manners(), core_->crew_now());
    // What all have had is completed, elastic or not.
    core->completed_before = decision->all_prepared;
    core->inherit(*core_, *decision);
    core_->is_shrunk = true;
    return wrap(std::move(core));
  });
}

std::uint64_t Communicator::completed_before() const { return core_->completed_before; }

Result<Outcome> Communicator::repeat() {
  return core_->inside([this] { return core_->repeat_interrupted(); });
}

std::shared_ptr<const void> Communicator::owner_of_interrupted() const {
  return core_->inside([this] { return core_->interrupted ? core_->interrupted->owner : nullptr; });
}

Result<std::unique_ptr<Communicator>> Communicator::grow(Rank size, const msg::Wait& wait) {
  const auto make = [&]() -> Result<std::unique_ptr<Communicator>> {
    Crew& crew = core_->crew();
    if (size <= crew.size()) {
      return core_->refuse(
          Error(Code::invalid, fmt::format("grow: there are {} ranks already", crew.size())));
    }
    std::vector<Id> newcomers(size - crew.size());
    const msg::Wait until = crew.bounded(wait);
    // Ranks that want different numbers of newcomers would else wait for them in vain.
    crew.heed(core_->wait_for_members(wait, until));
    Status together = core_->carry_out(growing_to(size, Operation::barrier));
    const bool was_to_stop = crew.heed_no_more();
    if (!together && was_to_stop) {
      return msg::internal::why_not(msg::internal::Waited::cancelled, "grow");
    }
    MUSTER_TRY_OK(std::move(together));
    // All look for them, so that nobody waits for rank 0 meanwhile; what it finds counts.
    const auto found = core_->find_newcomers(newcomers, until);
    if (found == msg::internal::Waited::cancelled) {
      return crew.give_up(msg::internal::why_not(found, "grow"));
    }
    Call call = growing_to(size, Operation::broadcast);
    call.count = 2 * newcomers.size();
    auto* const bytes = reinterpret_cast<std::byte*>(newcomers.data());
    if (crew.rank() == 0) {
      call.input = bytes;
    } else {
      call.result = bytes;
    }
    MUSTER_TRY_OK(core_->carry_out(call));
    core_->count_completed();
    if (const std::vector<Rank> missing = places_of(Id{}, newcomers, crew.size());
        !missing.empty()) {
      return Error(Code::timeout, internal::name_missing("grow", missing));
    }
    const std::uint64_t facts[] = {static_cast<std::uint64_t>(Fact::grow), crew.number(),
                                   newcomers.front().high};
    const std::uint64_t context = internal::derive_context(crew.context(), facts);
    MUSTER_TRY(auto made, core_->take_in(newcomers, context, until));
    return wrap(std::make_unique<CommunicatorCore>(std::move(made), core_->manners()));
  };
  return core_->inside([&] { return core_->make_of_those_left(make); });
}

}  // namespace muster::collectives

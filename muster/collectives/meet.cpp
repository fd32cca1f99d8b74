// How ranks meet: founders wait for each other, newcomers until they are taken in.

#include <algorithm>

#include <fmt/format.h>

#include "muster/collectives/communicator_core.h"
#include "muster/msg/proxy_wait.h"

namespace muster::collectives::internal {
namespace {

constexpr std::uint64_t kFounding = 0x666f756e64;

// What one look at the seats tells.
struct Look {
  bool is_newcomer = false;  // Somebody's communicator stands already.
  std::optional<Error> error;
  Seats seats;  // By rank; null where nobody is, and for this member.
  bool is_full = false;
};

// Of two who claim one rank the one with the lower id has it.
void take_seat(Look& look, const std::shared_ptr<Seat>& seat, const Fabric& fabric) {
  const Rank rank = seat->hello->rank;
  if (rank == fabric.options().rank) {
    if (seat->id < fabric.id()) {
      look.error = Error(Code::invalid, fmt::format("{} has rank {} already", seat->name, rank));
    }
    return;
  }
  std::shared_ptr<Seat>& place = look.seats[rank];
  if (place == nullptr || seat->id < place->id) place = seat;
}

// Of two sizes: who has no place in the smaller one is a newcomer to be, and early.
bool is_to_come_later(const Hello& hello, const CommunicatorOptions& own) {
  return hello.size < own.size ? own.rank >= hello.size : hello.rank >= own.size;
}

Look look_around(const Fabric& fabric) {
  Look look;
  const CommunicatorOptions& own = fabric.options();
  look.seats.resize(own.size);
  for (const auto& seat : fabric.seats()) {
    if (!seat->hello) continue;
    const Hello& hello = *seat->hello;
    if (hello.is_founded) {
      look.is_newcomer = look.is_newcomer || seat->is_here();
    } else if (hello.size == own.size) {
      if (seat->is_here() && hello.rank < own.size) take_seat(look, seat, fabric);
    } else if (!is_to_come_later(hello, own)) {
      // Also if it has gone since: it saw the same, and was quicker.
      look.error = Error(Code::invalid, fmt::format("rank {} expects {} ranks, this one {}",
                                                    hello.rank, hello.size, own.size));
    }
  }
  look.is_full = true;
  for (Rank rank = 0; rank < own.size; ++rank) {
    if (rank != own.rank && look.seats[rank] == nullptr) look.is_full = false;
  }
  if (fabric.ended()) look.error = fabric.ended()->during("stay in the registry");
  return look;
}

// Who comes together.
struct Meeting {
  std::uint64_t context;
  Seats seats;
  Rank rank;
  bool is_newcomer = false;
};

Meeting meeting_of(const Fabric& fabric, const Welcome& welcome) {
  Meeting meeting{welcome.context, {}, fabric.options().rank, true};
  for (const Id id : welcome.members) {
    if (id == fabric.id()) meeting.rank = static_cast<Rank>(meeting.seats.size());
    meeting.seats.push_back(id == fabric.id() ? nullptr : fabric.find(id));
  }
  return meeting;
}

// All members are here, and we are taken in.
bool is_welcomed(const Fabric& fabric) {
  if (!fabric.welcome()) return false;
  return std::ranges::all_of(fabric.welcome()->members, [&](Id id) {
    const std::shared_ptr<Seat> seat = fabric.find(id);
    return id == fabric.id() || (seat != nullptr && (seat->is_here() || seat->lost));
  });
}

Error not_in_time(const Fabric& fabric, msg::internal::Waited waited) {
  const Look look = look_around(fabric);
  std::vector<Rank> missing;
  for (Rank rank = 0; rank < look.seats.size(); ++rank) {
    if (rank != fabric.options().rank && look.seats[rank] == nullptr) missing.push_back(rank);
  }
  std::string attempt = look.is_newcomer
                            ? "join: the members have not called grow()"
                            : fmt::format("join: rank{} {} did not come",
                                          missing.size() == 1 ? "" : "s", fmt::join(missing, ", "));
  if (fabric.away()) attempt += fmt::format(" ({})", fabric.away()->message());
  return msg::internal::why_not(waited, attempt);
}

std::uint64_t founding_context(const Fabric& fabric, const Seats& seats) {
  std::vector<std::uint64_t> facts;
  for (const auto& seat : seats) {
    const Id id = seat != nullptr ? seat->id : fabric.id();
    facts.push_back(id.high);
    facts.push_back(id.low);
  }
  return derive_context(kFounding, facts);
}

}  // namespace

Result<std::shared_ptr<Crew>> meet(const std::shared_ptr<Fabric>& fabric, const Manners& manners,
                                   const msg::Wait& wait) {
  loop::Loop& loop = fabric->loop();
  std::optional<Error> error;
  std::optional<Meeting> meeting;
  const auto waited = msg::internal::wait_for(loop, wait, [&] {
    // All in one look: who is here may be gone at the next.
    const Look look = look_around(*fabric);
    if (look.error) {
      error = look.error;
    } else if (is_welcomed(*fabric)) {
      meeting = meeting_of(*fabric, *fabric->welcome());
    } else if (look.is_full && !look.is_newcomer) {
      meeting = Meeting{founding_context(*fabric, look.seats), look.seats, fabric->options().rank};
    }
    return error || meeting;
  });
  if (error) return error->during("join");
  if (!meeting) {
    const loop::Turn turn(loop);
    return not_in_time(*fabric, waited);
  }
  MUSTER_TRY(std::shared_ptr<Crew> crew,
             Crew::make(fabric, meeting->context, meeting->seats, meeting->rank, manners, wait,
                        meeting->is_newcomer));
  const loop::Turn turn(loop);
  fabric->become_founded();
  return crew;
}

}  // namespace muster::collectives::internal

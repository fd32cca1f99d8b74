// How a crew comes to be: desks are exchanged, and who can read whom is known to all.

#include <algorithm>
#include <cstring>
#include <new>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "muster/arena/shared_block.h"
#include "muster/base/processors.h"
#include "muster/collectives/crew.h"

namespace muster::collectives::internal {
namespace {

// What a rank says of each other one.
constexpr std::byte kShares{1};  // Bodies pass by reference between us.
constexpr std::byte kReads{2};   // I may read its private memory.

std::uint8_t form_of(const Manners& manners) {
  return static_cast<std::uint8_t>((manners.reproducible ? Description::kOrdered : 0) |
                                   (manners.elastic ? Description::kElastic : 0));
}

}  // namespace

Crew::Crew(std::shared_ptr<Fabric> fabric, std::uint64_t context, Seats seats, Rank rank,
           const Manners& manners)
    : fabric_(std::move(fabric)),
      loop_(fabric_->loop()),
      context_(context),
      seats_(std::move(seats)),
      rank_(rank),
      manners_(manners),
      form_(form_of(manners)),
      peers_(std::make_unique<Peer[]>(seats_.size())),
      hosts_(seats_.size()),
      pids_(seats_.size()),
      ask_again_([this] {
        feed_losses();
        send_agreement();
      }) {}

Crew::~Crew() {
  const loop::Turn turn(loop_);
  fabric_->strike_off(*this);
  loop_.stop(ask_again_);
  if (desk_ != nullptr) leave_memory_to_readers();
  for (const auto& seat : seats_) {
    if (seat != nullptr) seat->readies.erase(context_);
  }
}

void Crew::leave_memory_to_readers() {
  desk_->is_closed.store(1, std::memory_order_release);
  if (number_ == 0) return;
  Remains::Piece piece;
  piece.memory = {desk_memory_, std::move(window_).freeze()};
  piece.number = number_;
  piece.was_in_peace = !trouble_ || trouble_->why.code() == Code::cancelled;
  for (Rank peer = 0; peer < size(); ++peer) {
    if (peers_[peer].desk == nullptr) continue;
    piece.readers.push_back({peers_[peer].held_desk, seats_[peer]->hello->process});
  }
  fabric_->remains().keep(std::move(piece));
}

Result<std::shared_ptr<Crew>> Crew::start(std::shared_ptr<Fabric> fabric, std::uint64_t context,
                                          Seats seats, Rank rank, const Manners& manners) {
  std::shared_ptr<Crew> crew(new Crew(std::move(fabric), context, std::move(seats), rank, manners));
  if (crew->size() == 1) {
    crew->is_one_host_ = true;
    crew->is_made_ = true;
    return crew;
  }
  const Status has_desk = crew->make_desk();
  crew->fabric_->enlist(*crew);
  crew->tell_ready();
  if (!has_desk) {
    crew->leave();
    return has_desk.error();
  }
  crew->take_what_came_before();
  return crew;
}

// Whoever is lost once we are ready is a loss to this crew: others may have begun.
Status Crew::await_ready(const msg::Wait& wait) {
  return await_ready(wait, [this] { return has_trouble() || unready().empty(); });
}

Status Crew::await_survivors(const Crew& parent, const msg::Wait& wait) {
  // Who says that it was left out never comes here, though it may be counted in.
  const auto has_gone = [&](Rank rank) {
    return parent.has_left(*parent.rank_of(*seats_[rank])) ||
           seats_[rank]->away_from.contains(parent.context());
  };
  MUSTER_TRY_OK(
      await_ready(wait, [&] { return has_trouble() || std::ranges::all_of(unready(), has_gone); }));
  const loop::Turn turn(loop_);
  for (const Rank rank : unready()) {
    if (has_gone(rank)) take_leave(rank, {});
  }
  return ok();
}

Status Crew::await_members(const Crew& parent, const msg::Wait& wait) {
  MUSTER_TRY_OK(await_ready(
      wait, [&] { return is_cancelled_ || unready().empty() || absentee(parent).has_value(); }));
  const loop::Turn turn(loop_);
  const std::optional<Rank> rank = absentee(parent);
  return rank ? Status(missing_of(parent, *rank)) : ok();
}

Status Crew::await_those_left(const Crew& parent, const msg::Wait& wait) {
  const auto has_come = [&](Rank rank) {
    if (seats_[rank] == nullptr || is_out(rank, parent)) return true;
    return is_ready(rank) && !peers_[rank].has_unmade;
  };
  const auto have_come = [&] {
    return std::ranges::all_of(std::views::iota(Rank{0}, size()), has_come);
  };
  MUSTER_TRY_OK(await_ready(
      wait, [&] { return is_cancelled_ || have_come() || deserter(parent).has_value(); }));
  const loop::Turn turn(loop_);
  if (const std::optional<Rank> rank = deserter(parent)) return missing_of(parent, *rank);
  // It may never have had what names this crew, and then says nothing here.
  parent_ = parent.context();
  for (Rank rank = 0; rank < size(); ++rank) {
    if (!is_ready(rank)) peers_[rank].is_left_out = true;
  }
  return ok();
}

Error Crew::missing_of(const Crew& parent, Rank rank) const {
  if (peers_[rank].has_unmade) {
    return {Code::unavailable, fmt::format("{} gave up while it was made", seats_[rank]->name)};
  }
  if (const std::optional<Error> why = parent.trouble()) return *why;
  return parent.departed(*parent.rank_of(*seats_[rank]));
}

Status Crew::await_welcomers(const msg::Wait& wait) {
  const auto leaver = [this] {
    Rank rank = 0;
    while (rank < size() && !has_left(rank)) ++rank;
    return rank;
  };
  MUSTER_TRY_OK(
      await_ready(wait, [&] { return is_cancelled_ || unready().empty() || leaver() < size(); }));
  const loop::Turn turn(loop_);
  if (leaver() == size()) return ok();
  return Error(Code::unavailable,
               fmt::format("{} has left while it was made; join anew", seats_[leaver()]->name));
}

// A member that has not come, and will not.
std::optional<Rank> Crew::absentee(const Crew& parent) const {
  for (const Rank rank : unready()) {
    if (parent.has_given_up(*seats_[rank])) return rank;
  }
  for (Rank rank = 0; rank < size(); ++rank) {
    if (peers_[rank].has_unmade) return rank;
  }
  return std::nullopt;
}

// One who cannot come any more, though it is not lost.
std::optional<Rank> Crew::deserter(const Crew& parent) const {
  for (Rank rank = 0; rank < size(); ++rank) {
    if (seats_[rank] == nullptr || is_out(rank, parent)) continue;
    // Who gives up may have been left out, which then is about to be known.
    if (peers_[rank].has_unmade && !parent.is_about_to_decide()) return rank;
    if (!is_ready(rank) && parent.has_left(*parent.rank_of(*seats_[rank]))) return rank;
  }
  return std::nullopt;
}

bool Crew::is_about_to_decide() const {
  return agreement_ != nullptr && !agreement_->decision() && !agreement_->is_excluded() &&
         !agreement_->lacks_quorum();
}

// The survivors go on without it, and it knows.
bool Crew::has_excluded(const Seat& seat) const {
  if (agreement_ == nullptr || !agreement_->decision()) return false;
  const std::optional<Rank> rank = rank_of(seat);
  return rank && !std::ranges::binary_search(agreement_->decision()->survivors, *rank);
}

// Or it was told so, and does not come, though they count it in.
bool Crew::is_out(Rank rank, const Crew& parent) const {
  const Seat& seat = *seats_[rank];
  return parent.has_excluded(seat) || seat.away_from.contains(parent.context());
}

bool Crew::has_given_up(const Seat& seat) const {
  const std::optional<Rank> rank = rank_of(seat);
  return rank && (peers_[*rank].has_told_trouble || peers_[*rank].agrees || has_left(*rank));
}

Status Crew::await_ready(const msg::Wait& wait, const std::function<bool()>& is_done) {
  if (is_made_) return ok();
  stage_ = Stage::getting_ready;
  const msg::Wait until = bounded(wait);
  const TimePoint deadline = until.deadline_from([this] { return loop_.now(); });
  const TimePoint patience =
      manners_.patience == Duration::max() ? kForever : loop_.now() + manners_.patience;
  auto waited = msg::internal::wait_for(loop_, until, std::min(deadline, patience), is_done);
  if (waited == msg::internal::Waited::timeout && patience < deadline) {
    complain("make a communicator", waiting_for());
    waited = msg::internal::wait_for(loop_, until, deadline, is_done);
  }
  stage_ = Stage::working;
  const loop::Turn turn(loop_);
  if (waited != msg::internal::Waited::done) {
    std::vector<std::string> missing;
    for (const Rank rank : unready()) missing.push_back(seats_[rank]->name);
    return msg::internal::why_not(
        waited, fmt::format("make a communicator: {} did not come", fmt::join(missing, ", ")));
  }
  if (is_cancelled_) return trouble_or("");
  MUSTER_TRY_OK(read_readies());
  is_made_ = true;
  return ok();
}

Result<std::shared_ptr<Crew>> Crew::make(std::shared_ptr<Fabric> fabric, std::uint64_t context,
                                         Seats seats, Rank rank, const Manners& manners,
                                         const msg::Wait& wait, bool is_newcomer) {
  std::shared_ptr<Crew> crew;
  {
    const loop::Turn turn(fabric->loop());
    MUSTER_TRY(crew, start(std::move(fabric), context, std::move(seats), rank, manners));
  }
  const Status ready = is_newcomer ? crew->await_welcomers(wait) : crew->await_ready(wait);
  if (ready) return crew;
  crew->leave();
  return ready.error();
}

Status Crew::make_desk() {
  for (const auto& seat : seats_) {
    if (seat == nullptr || !seat->is_here() || !fabric_->options().use_shared_memory) continue;
    if (!seat->shares_memory()) continue;
    MUSTER_TRY(WritableBuffer memory, seat->link->allocate(kDeskSize));
    std::memset(memory.data(), 0, memory.size());
    desk_ = new (memory.data()) Desk{};
    desk_memory_ = std::move(memory).freeze();
    return ok();
  }
  return ok();
}

void Crew::tell_ready() {
  std::vector<std::byte> reach(size());
  for (Rank peer = 0; peer < size(); ++peer) {
    Seat* const seat = seats_[peer].get();
    if (seat == nullptr || !seat->is_here() || desk_ == nullptr) continue;
    if (seat->shares_memory()) reach[peer] |= kShares;
    if (fabric_->options().use_process_vm && may_read(seat->hello->process)) reach[peer] |= kReads;
  }
  const Buffer told = Buffer::copy_of(reach);
  for (const auto& seat : seats_) {
    if (seat == nullptr || !seat->is_here()) continue;
    wire::Parts parts;
    parts.push_back(desk_ != nullptr && seat->shares_memory() ? desk_memory_ : Buffer());
    parts.push_back(told);
    static_cast<void>(seat->send({.kind = NoteKind::ready, .context = context_}, std::move(parts)));
  }
}

// Who was ready before us may have said more since.
void Crew::take_what_came_before() {
  for (const auto& seat : seats_) {
    if (seat == nullptr) continue;
    const auto ready = seat->readies.find(context_);
    if (ready == seat->readies.end()) continue;
    for (auto& [note, frame] : std::exchange(ready->second.early, {})) take(*seat, note, frame);
  }
}

bool Crew::is_ready(Rank rank) const {
  const Seat* const seat = seats_[rank].get();
  return seat == nullptr || seat->lost || seat->readies.contains(context_);
}

std::vector<Rank> Crew::unready() const {
  std::vector<Rank> missing;
  for (Rank rank = 0; rank < size(); ++rank) {
    if (!is_ready(rank)) missing.push_back(rank);
  }
  return missing;
}

Status Crew::read_readies() {
  std::vector<std::vector<bool>> shares(size(), std::vector<bool>(size()));
  may_read_private_ = true;
  for (Rank from = 0; from < size(); ++from) {
    Seat* const seat = seats_[from].get();
    if (seat != nullptr && (seat->lost || !seat->readies.contains(context_))) {
      lose(*seat);
      continue;
    }
    for (Rank to = 0; to < size(); ++to) {
      if (seats_[to] == nullptr && seat == nullptr) continue;
      std::byte reach{};
      if (seat == nullptr) {
        if (desk_ != nullptr && seats_[to]->shares_memory()) reach |= kShares;
        if (may_read(seats_[to]->hello.value_or(Hello{}).process)) reach |= kReads;
      } else if (seat->readies[context_].reach.size() == size()) {
        reach = seat->readies[context_].reach.data()[to];
      }
      shares[from][to] = (reach & kShares) != std::byte{};
      if (shares[from][to] && (reach & kReads) == std::byte{}) may_read_private_ = false;
    }
  }
  if (!fabric_->options().use_process_vm) may_read_private_ = false;
  find_hosts(shares);
  for (Rank peer = 0; peer < size(); ++peer) {
    if (peer == rank_ || !is_here(peer) || seats_[peer]->lost) continue;
    Buffer desk = seats_[peer]->readies[context_].desk;
    if (arena::SharedBlock::of(desk) == nullptr || desk.size() != kDeskSize) {
      return Error(Code::internal, fmt::format("rank {} has no desk here", peer));
    }
    pids_[peer] = seats_[peer]->hello->process.pid;
    peers_[peer].desk = reinterpret_cast<const Desk*>(desk.data());
    other_desks_.push_back(peers_[peer].desk);
    peers_[peer].held_desk = std::move(desk);
  }
  return ok();
}

// A host is a set of ranks that all share memory. Everybody has the same table,
// and so finds the same hosts.
void Crew::find_hosts(const std::vector<std::vector<bool>>& shares) {
  std::vector<std::vector<Rank>> found;
  for (Rank rank = 0; rank < size(); ++rank) {
    std::size_t host = 0;
    while (
        host < found.size() &&
        !std::ranges::all_of(
            found[host], [&](Rank other) { return shares[rank][other] && shares[other][rank]; })) {
      ++host;
    }
    if (host == found.size()) found.emplace_back();
    found[host].push_back(rank);
    hosts_[rank] = static_cast<std::uint32_t>(host);
  }
  is_one_host_ = found.size() == 1;
  is_crowded_ = found[hosts_[rank_]].size() > usable_processors();
}

}  // namespace muster::collectives::internal

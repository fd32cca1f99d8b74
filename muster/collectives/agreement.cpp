#include "muster/collectives/agreement.h"

#include <algorithm>

namespace muster::collectives {

using Kind = AgreementMessage::Kind;

Agreement::Agreement(Rank ranks, Rank me, Position mine)
    : ranks_(ranks), me_(me), mine_(mine), peers_(ranks) {
  consider();
}

Rank Agreement::coordinator() const {
  Rank rank = 0;
  while (rank != me_ && peers_[rank].is_lost) ++rank;
  return rank;
}

// Whether those who can be reached may decide for those who cannot.
bool Agreement::has_quorum() const {
  std::size_t counted = 0;
  std::size_t reached = 0;
  bool is_any_unsure = false;
  std::optional<bool> is_lowest_reached;
  for (const Peer& peer : peers_) {
    if (peer.is_lost && peer.loss == Loss::left) continue;
    ++counted;
    if (!peer.is_lost) ++reached;
    is_any_unsure |= peer.is_lost && peer.loss == Loss::unsure;
    if (!is_lowest_reached) is_lowest_reached = !peer.is_lost;
  }
  if (!is_any_unsure) return true;
  return 2 * reached > counted || (2 * reached == counted && is_lowest_reached.value_or(false));
}

std::vector<Rank> Agreement::lost() const {
  std::vector<Rank> lost;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (peers_[rank].is_lost) lost.push_back(rank);
  }
  return lost;
}

void Agreement::lose(Rank rank, Loss loss) {
  if (rank == me_) return;
  Peer& peer = peers_[rank];
  if (peer.is_lost && peer.loss >= loss) return;
  peer.is_lost = true;
  peer.loss = loss;
  consider();
  take_up_held();
}

// Whom the leader takes for lost is lost to us as well, also if we could reach it.
void Agreement::adopt_losses(const std::vector<Rank>& lost) {
  for (const Rank rank : lost) {
    if (rank == me_) {
      be_excluded();
    } else if (!peers_[rank].is_lost) {
      take_for_lost(rank);
    }
  }
}

void Agreement::leave_out(Rank rank) {
  if (rank == me_ || peers_[rank].is_lost) return;
  take_for_lost(rank);
  consider();
  take_up_held();
}

// It may be alive: then it does not have to wait.
void Agreement::take_for_lost(Rank rank) {
  peers_[rank].is_lost = true;
  send(rank, {.kind = Kind::refuse, .ballot = promised_, .lost = {rank}});
}

// Others may not know, and wait for its word, or for it to lead: it has none any more.
void Agreement::be_excluded() {
  if (std::exchange(is_excluded_, true)) return;
  send_to_others({.kind = Kind::refuse, .ballot = promised_, .lost = {me_}});
}

void Agreement::withdraw() {
  if (!known_) be_excluded();
}

void Agreement::take_up_held() {
  for (const auto& [from, message] : std::exchange(held_, {})) receive(from, message);
}

// After anything that may let this rank go on.
void Agreement::consider() {
  if (decision_ || is_excluded_) return;
  if (stage_ == Stage::following) {
    if (coordinator() == me_) begin_round();
    return;
  }
  if (stage_ == Stage::asking) propose_if_all_answered();
  if (stage_ == Stage::proposing) decide_if_all_accepted();
}

void Agreement::begin_round() {
  own_ballot_ = {std::max(promised_.round, own_ballot_.round) + 1, me_};
  promised_ = own_ballot_;
  stage_ = Stage::asking;
  for (Peer& peer : peers_) {
    peer.state.reset();
    peer.has_accepted = false;
  }
  peers_[me_].state = own_state();
  send_to_others({.kind = Kind::ask, .ballot = own_ballot_, .lost = lost()});
  propose_if_all_answered();
}

AgreementMessage Agreement::own_state() const {
  return {.kind = Kind::state,
          .ballot = promised_,
          .position = mine_,
          .accepted = accepted_,
          .decision = accepted_decision_,
          .lost = lost()};
}

void Agreement::propose_if_all_answered() {
  if (stage_ != Stage::asking || !has_quorum()) return;
  for (const Peer& peer : peers_) {
    if (!peer.is_lost && !peer.state) return;
  }
  if (!leave_out_the_parted()) return;
  proposal_ = choose();
  stage_ = Stage::proposing;
  accepted_ = own_ballot_;
  accepted_decision_ = proposal_;
  peers_[me_].has_accepted = true;
  send_to_others(
      {.kind = Kind::propose, .ballot = own_ballot_, .decision = proposal_, .lost = lost()});
  decide_if_all_accepted();
}

// False if it cannot be told yet who is dead and who is only parted: then it is
// asked again, and who is dead does not answer.
bool Agreement::leave_out_the_parted() {
  std::set<std::pair<Rank, Rank>> parted;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (peers_[rank].is_lost) continue;
    for (const Rank other : peers_[rank].state->lost) {
      if (!peers_[other].is_lost) parted.insert(std::minmax(rank, other));
    }
  }
  if (parted.empty()) return true;
  if (!std::ranges::includes(parted_, parted)) {
    parted_.merge(parted);
    begin_round();
    return false;
  }
  for (const auto& [lower, higher] : parted) {
    if (peers_[lower].is_lost || peers_[higher].is_lost) continue;
    take_for_lost(higher);
  }
  return has_quorum();
}

// What was accepted last may have been decided by somebody: it stays.
Decision Agreement::choose() const {
  const AgreementMessage* latest = nullptr;
  for (const Peer& peer : peers_) {
    if (peer.is_lost || !peer.state->decision) continue;
    if (latest == nullptr || latest->accepted < peer.state->accepted) latest = &*peer.state;
  }
  if (latest != nullptr) return *latest->decision;
  Decision made;
  made.all_completed = made.all_prepared = UINT64_MAX;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (peers_[rank].is_lost) continue;
    const Position& at = peers_[rank].state->position;
    made.survivors.push_back(rank);
    made.all_completed = std::min(made.all_completed, at.completed);
    made.any_completed = std::max(made.any_completed, at.completed);
    made.all_prepared = std::min(made.all_prepared, at.prepared);
    made.is_shrink = made.is_shrink || at.shrinks;
  }
  return made;
}

std::optional<Rank> Agreement::awaited() const {
  if (stage_ == Stage::following) return coordinator();
  for (Rank rank = 0; rank < ranks_; ++rank) {
    const Peer& peer = peers_[rank];
    const bool has_answered = stage_ == Stage::asking ? peer.state.has_value() : peer.has_accepted;
    if (rank != me_ && !peer.is_lost && !has_answered) return rank;
  }
  return std::nullopt;
}

void Agreement::decide_if_all_accepted() {
  if (stage_ != Stage::proposing || !has_quorum()) return;
  for (const Peer& peer : peers_) {
    if (!peer.is_lost && !peer.has_accepted) return;
  }
  decide(*proposal_);
}

void Agreement::decide(const Decision& decision) {
  if (known_) return;
  known_ = decision;
  send_to_others({.kind = Kind::decided, .decision = decision});
  // It may have been proposed first when this rank could not be reached. Who was told that it is
  // left out has said so to others: it stays, but passes on what it hears.
  if (!is_excluded_ && std::ranges::count(decision.survivors, me_) > 0) {
    decision_ = decision;
  } else {
    is_excluded_ = true;
  }
}

void Agreement::receive(Rank from, const AgreementMessage& message) {
  if (from == me_ || peers_[from].is_lost) return;
  if (known_) {
    // Whoever still asks has not heard it.
    if (message.kind != Kind::decided) send(from, {.kind = Kind::decided, .decision = known_});
    return;
  }
  switch (message.kind) {
    case Kind::ask: return answer_ask(from, message);
    case Kind::propose: return answer_proposal(from, message);
    case Kind::decided:
      if (message.decision) decide(*message.decision);
      return;
    case Kind::state:
      if (stage_ == Stage::asking && message.ballot == own_ballot_) peers_[from].state = message;
      break;
    case Kind::accept:
      if (stage_ == Stage::proposing && message.ballot == own_ballot_) {
        peers_[from].has_accepted = true;
      }
      break;
    case Kind::refuse:
      if (std::ranges::count(message.lost, from) > 0) return lose(from, Loss::unsure);
      if (std::ranges::count(message.lost, me_) > 0) be_excluded();
      promised_ = std::max(promised_, message.ballot);
      // Whoever has the later ballot leads; if it is lost, this rank begins anew.
      if (stage_ != Stage::following && own_ballot_ < message.ballot) stage_ = Stage::following;
      break;
  }
  consider();
}

void Agreement::answer_ask(Rank from, const AgreementMessage& message) {
  // Two may lead for who has not heard of all losses, or where a link has broken
  // between two who live. The lowest rank that can be reached is followed.
  if (from != coordinator()) {
    held_.emplace_back(from, message);
    return;
  }
  adopt_losses(message.lost);
  if (is_excluded_) return;
  if (message.ballot < promised_) {
    send(from, {.kind = Kind::refuse, .ballot = promised_});
    return consider();
  }
  promised_ = message.ballot;
  stage_ = Stage::following;
  send(from, own_state());
}

void Agreement::answer_proposal(Rank from, const AgreementMessage& message) {
  adopt_losses(message.lost);
  if (is_excluded_ || !message.decision) return;
  if (message.ballot < promised_) {
    send(from, {.kind = Kind::refuse, .ballot = promised_});
    return consider();
  }
  promised_ = message.ballot;
  accepted_ = message.ballot;
  accepted_decision_ = message.decision;
  stage_ = Stage::following;
  send(from, {.kind = Kind::accept, .ballot = message.ballot});
}

void Agreement::send(Rank to, AgreementMessage message) {
  outgoing_.push_back({to, std::move(message)});
}

void Agreement::send_to_others(const AgreementMessage& message) {
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (rank != me_ && !peers_[rank].is_lost) send(rank, message);
  }
}

std::vector<Agreement::Outgoing> Agreement::take_outgoing() { return std::exchange(outgoing_, {}); }

}  // namespace muster::collectives

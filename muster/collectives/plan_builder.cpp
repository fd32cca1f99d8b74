#include "muster/collectives/plan_builder.h"

#include <algorithm>
#include <numeric>

namespace muster::collectives {

Team Team::all(const Shape& shape) {
  Team team{std::vector<Rank>(shape.ranks), shape.rank};
  std::iota(team.ranks.begin(), team.ranks.end(), Rank{0});
  return team;
}

Step& PlanBuilder::add(Step::Kind kind) {
  Step& step = plan_.steps.emplace_back();
  step.kind = kind;
  return step;
}

std::uint32_t PlanBuilder::group_of(std::vector<Rank> ranks) {
  auto found = std::find(plan_.groups.begin(), plan_.groups.end(), ranks);
  if (found == plan_.groups.end()) found = plan_.groups.insert(found, std::move(ranks));
  return static_cast<std::uint32_t>(found - plan_.groups.begin());
}

void PlanBuilder::send(const Team& team, Rank to, const Slice& from) {
  if (from.count == 0) return;
  Step& step = add(Step::Kind::send);
  step.peer = team.ranks[to];
  step.from = from;
  ++unsettled_;
}

void PlanBuilder::receive(const Team& team, Rank from, const Slice& to) {
  if (to.count == 0) return;
  Step& step = add(Step::Kind::receive);
  step.peer = team.ranks[from];
  step.to = to;
}

void PlanBuilder::receive_reduce(const Team& team, Rank from, const Slice& own, const Slice& to,
                                 bool is_left) {
  if (to.count == 0) return;
  Step& step = add(Step::Kind::receive_reduce);
  step.peer = team.ranks[from];
  step.is_left = is_left;
  step.from = own;
  step.to = to;
}

void PlanBuilder::send_token(const Team& team, Rank to) {
  Step& step = add(Step::Kind::send);
  step.peer = team.ranks[to];
  step.from = {Place::scratch, 0, 0};
  ++unsettled_;
}

void PlanBuilder::receive_token(const Team& team, Rank from) {
  Step& step = add(Step::Kind::receive);
  step.peer = team.ranks[from];
  step.to = {Place::scratch, 0, 0};
}

void PlanBuilder::settle(std::uint32_t kept) {
  if (unsettled_ <= kept) return;
  add(Step::Kind::settle).phase = kept;
  unsettled_ = kept;
}

void PlanBuilder::copy(const Slice& from, const Slice& to) {
  if (to.count == 0 || from == to) return;
  Step& step = add(Step::Kind::copy);
  step.from = from;
  step.to = to;
}

void PlanBuilder::reduce(const Slice& from, const Slice& to, bool is_left) {
  if (to.count == 0) return;
  Step& step = add(Step::Kind::reduce);
  step.is_left = is_left;
  step.from = from;
  step.to = to;
}

void PlanBuilder::finish(const Slice& to) {
  if (to.count == 0 || !has_finish_ || is_held_) return;
  add(Step::Kind::finish).to = to;
}

void PlanBuilder::publish(std::uint64_t phase) {
  add(Step::Kind::publish).phase = static_cast<std::uint32_t>(phase_base_ + phase);
}

void PlanBuilder::wait(const Team& team, Rank member, std::uint64_t phase) {
  const std::uint32_t group = group_of({team.ranks[member]});
  Step& step = add(Step::Kind::wait);
  step.group = group;
  step.phase = static_cast<std::uint32_t>(phase_base_ + phase);
}

void PlanBuilder::wait_all(const Team& team, std::uint64_t phase) {
  const std::uint32_t group = group_of(team.ranks);
  Step& step = add(Step::Kind::wait);
  step.group = group;
  step.phase = static_cast<std::uint32_t>(phase_base_ + phase);
}

void PlanBuilder::fetch(const Team& team, Rank member, const Slice& from, const Slice& to,
                        bool is_stream) {
  if (to.count == 0) return;
  Step& step = add(Step::Kind::fetch);
  step.is_stream = is_stream;
  step.peer = team.ranks[member];
  step.from = from;
  step.to = to;
}

void PlanBuilder::combine(const Team& team, const Slice& from, const Slice& to, bool is_stream) {
  if (to.count == 0) return;
  const std::uint32_t group = group_of(team.ranks);
  Step& step = add(Step::Kind::combine);
  step.is_final = has_finish_ && !is_held_;
  step.is_stream = is_stream;
  step.group = group;
  step.from = from;
  step.to = to;
}

Slice PlanBuilder::scratch(std::uint64_t count) {
  return {Place::scratch, std::exchange(plan_.scratch, plan_.scratch + count), count};
}

Slice PlanBuilder::window(std::uint64_t count) {
  // So that no two cells share a cache line.
  constexpr std::uint64_t kGrain = 64;
  const std::uint64_t taken = (count + kGrain - 1) / kGrain * kGrain;
  return {Place::window, std::exchange(plan_.window, plan_.window + taken), count};
}

Plan PlanBuilder::take() {
  settle();
  return std::move(plan_);
}

}  // namespace muster::collectives

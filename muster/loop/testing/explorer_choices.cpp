// Which of all that could happen next is followed.

#include <algorithm>
#include <utility>

#include "muster/base/check.h"
#include "muster/loop/testing/explorer.h"

namespace muster::loop::testing {

using exploring::Candidate;
using exploring::Choice;
using exploring::Footprint;
using exploring::Kind;
using exploring::kNone;
using exploring::Node;
using exploring::Thread;

namespace {

bool are_independent(const Footprint& a, const Footprint& b) {
  if (a.thread == b.thread) return false;
  return a.cell != b.cell || (!a.is_write && !b.is_write);
}

}  // namespace

std::vector<Candidate> Explorer::enabled() {
  std::vector<Candidate> out;
  for (int i = 0; i < static_cast<int>(threads_.size()); ++i) add_enabled(i, out);
  return out;
}

void Explorer::add_enabled(int thread, std::vector<Candidate>& out) {
  const Thread& it = threads_[thread];
  if (!it.buffer.empty()) {
    const Footprint lands{thread, it.buffer.front().cell->number_, true};
    out.push_back({{thread, true, kNone}, lands});
  }
  if (it.fiber->has_ended() || it.is_asleep) return;
  const bool is_read = it.access.kind == Kind::load;
  // All but a load is a full barrier: it waits for the buffer to be empty.
  if (!is_read && !it.buffer.empty()) return;
  if (it.access.kind == Kind::consume && it.access.cell->value_ == 0) return;
  const Footprint footprint{thread, it.access.cell->number_, !is_read};
  bool wakes = false;
  if (it.access.kind == Kind::wake) {
    for (int other = 0; other < static_cast<int>(threads_.size()); ++other) {
      if (!threads_[other].is_asleep || threads_[other].access.cell != it.access.cell) continue;
      out.push_back({{thread, false, other}, footprint});
      wakes = true;
    }
  }
  if (!wakes) out.push_back({{thread, false, kNone}, footprint});
}

Candidate Explorer::choose(std::vector<Candidate> enabled) {
  const std::size_t depth = depth_++;
  if (!is_free_ && depth < path_.size()) {
    const Node& node = path_[depth];
    const Candidate& wanted = node.candidates[node.current];
    const bool is_there = std::ranges::any_of(
        enabled, [&](const Candidate& it) { return it.choice == wanted.choice; });
    MUSTER_CHECK(is_there, "a program under test does the same in every run");
    return wanted;
  }
  if (!is_free_) {
    if (std::optional<Candidate> chosen = at_new_node(enabled)) return *chosen;
    is_free_ = true;
  }
  return enabled[turn_++ % enabled.size()];
}

std::optional<Candidate> Explorer::at_new_node(const std::vector<Candidate>& enabled) {
  Node node;
  if (!path_.empty()) {
    const Node& parent = path_.back();
    const Choice& before = parent.candidates[parent.current].choice;
    node.last_thread = before.thread;
    node.preemptions = parent.preemptions;
    const bool went_on = parent.last_thread == before.thread || before.is_drain;
    const bool could_go_on = std::ranges::any_of(parent.candidates, [&](const Candidate& it) {
      return it.choice.thread == parent.last_thread && !it.choice.is_drain;
    });
    if (before.is_drain) node.last_thread = parent.last_thread;
    if (!went_on && could_go_on) ++node.preemptions;
    if (options_.preemptions < 0) node.asleep = asleep_after(parent);
  }
  const bool is_bound = options_.preemptions >= 0 && node.preemptions >= options_.preemptions;
  std::vector<Choice> slept;
  for (const Candidate& it : enabled) {
    const bool is_known = std::ranges::any_of(
        node.asleep, [&](const Candidate& other) { return other.choice == it.choice; });
    if (is_known) {
      slept.push_back(it.choice);
    } else {
      node.candidates.push_back(it);
    }
  }
  if (digest_ && options_.preemptions < 0) leave_out_seen(node, std::move(slept));
  if (is_bound) {
    const auto stays = [&](const Candidate& it) {
      return it.choice.thread == node.last_thread && !it.choice.is_drain;
    };
    if (std::ranges::any_of(node.candidates, stays)) {
      std::erase_if(node.candidates, [&](const Candidate& it) { return !stays(it); });
    }
  }
  if (node.candidates.empty()) return std::nullopt;
  path_.push_back(std::move(node));
  return path_.back().candidates.front();
}

// A state that was seen needs only what was left out when it was seen.
void Explorer::leave_out_seen(Node& node, std::vector<Choice> slept) {
  const auto [found, is_new] = seen_.try_emplace(state(), slept);
  if (is_new) return;
  const auto has = [](const std::vector<Choice>& all, const Choice& one) {
    return std::ranges::find(all, one) != all.end();
  };
  std::erase_if(node.candidates,
                [&](const Candidate& it) { return !has(found->second, it.choice); });
  std::erase_if(found->second, [&](const Choice& it) { return !has(slept, it); });
}

std::vector<Candidate> Explorer::asleep_after(const Node& parent) const {
  const Candidate& taken = parent.candidates[parent.current];
  std::vector<Candidate> out;
  const auto keep = [&](const Candidate& it) {
    if (are_independent(it.footprint, taken.footprint)) out.push_back(it);
  };
  std::ranges::for_each(parent.asleep, keep);
  for (std::size_t i = 0; i < parent.current; ++i) keep(parent.candidates[i]);
  return out;
}

bool Explorer::backtrack() {
  while (!path_.empty()) {
    if (++path_.back().current < path_.back().candidates.size()) return true;
    path_.pop_back();
  }
  return false;
}

}  // namespace muster::loop::testing

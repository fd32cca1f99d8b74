#include "muster/collectives/ahead.h"

#include <algorithm>
#include <utility>

namespace muster::collectives {
namespace {

// So many steps are looked ahead: more than there are messages under way.
constexpr std::size_t kSteps = 64;

// Others read this rank's memory, which they may do until such a step.
bool is_direct(const Step& step) {
  return step.kind == Step::Kind::publish || step.kind == Step::Kind::wait ||
         step.kind == Step::Kind::fetch || step.kind == Step::Kind::combine;
}

bool is_receive(const Step& step) {
  return step.kind == Step::Kind::receive || step.kind == Step::Kind::receive_reduce;
}

}  // namespace

Ahead::Ahead(const Plan& plan, std::uint64_t least, Locate locate, IsSettled is_settled)
    : plan_(plan),
      least_(least),
      locate_(std::move(locate)),
      is_settled_(std::move(is_settled)),
      is_of_use_(std::ranges::any_of(plan.steps, [&](const Step& step) {
        return step.kind == Step::Kind::receive && step.to.count >= least;
      })) {}

std::optional<Ahead::Landing> Ahead::next(std::size_t now) {
  look_back(now);
  for (; ahead_ < plan_.steps.size() && ahead_ < now + kSteps; ++ahead_) {
    const Step& step = plan_.steps[ahead_];
    if (is_direct(step) && ahead_ >= now) return std::nullopt;
    if (!is_receive(step)) continue;
    const bool is_worth_it = step.kind == Step::Kind::receive && step.to.count >= least_;
    if (!is_worth_it || ahead_ < now || step.to.place == Place::window) {
      ++count_of(step.peer);
      continue;
    }
    if (!is_free(step, now)) return std::nullopt;
    ++ahead_;
    return Landing{&step, count_of(step.peer)++};
  }
  return std::nullopt;
}

bool Ahead::is_free(const Step& step, std::size_t now) const {
  const Extent memory = locate_(step.to);
  for (std::size_t i = now; i < ahead_; ++i) {
    if (touches(plan_.steps[i], memory)) return false;
  }
  for (std::size_t i = settled_; i < sends_.size(); ++i) {
    if (!is_settled_(i) && overlaps(sends_[i]->from, memory)) return false;
  }
  return true;
}

bool Ahead::touches(const Step& step, const Extent& memory) const {
  switch (step.kind) {
    case Step::Kind::settle: return false;
    case Step::Kind::send: return overlaps(step.from, memory);
    case Step::Kind::receive:
    case Step::Kind::finish: return overlaps(step.to, memory);
    default: return overlaps(step.from, memory) || overlaps(step.to, memory);
  }
}

bool Ahead::overlaps(const Slice& slice, const Extent& memory) const {
  if (slice.count == 0) return false;
  const Extent other = locate_(slice);
  return other.begin < memory.end && memory.begin < other.end;
}

void Ahead::look_back(std::size_t now) {
  for (; behind_ < now; ++behind_) {
    const Step& done = plan_.steps[behind_];
    if (done.kind == Step::Kind::send) sends_.push_back(&done);
  }
  while (settled_ < sends_.size() && is_settled_(settled_)) ++settled_;
}

std::uint64_t& Ahead::count_of(Rank peer) {
  if (received_.size() <= peer) received_.resize(peer + 1, 0);
  return received_[peer];
}

}  // namespace muster::collectives

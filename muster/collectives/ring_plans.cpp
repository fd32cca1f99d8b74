// Rings: every member's part goes once around, in segments, each passed on as
// soon as it has come.
#include "muster/collectives/plan_families.h"

namespace muster::collectives {
namespace {

// What goes around as one message each: the segments of all pieces of a part.
std::vector<Slice> messages_of(const std::vector<Slice>& pieces, std::uint64_t segment) {
  std::vector<Slice> found;
  for (const Slice& piece : pieces) {
    const Segments cut(piece.count, segment);
    for (std::uint64_t i = 0; i < cut.number(); ++i) found.push_back(cut.of(piece, i));
  }
  return found;
}

void send_all(PlanBuilder& b, const Team& team, const std::vector<Slice>& messages) {
  for (const Slice& message : messages) b.send(team, team.after(1), message);
}

}  // namespace

void ring_all_gather(PlanBuilder& b, const Team& team, const Pieces& out, std::uint64_t segment) {
  if (team.size() == 1) return;
  send_all(b, team, messages_of(out[team.me], segment));
  for (Rank i = 1; i < team.size(); ++i) {
    for (const Slice& message : messages_of(out[team.before(i)], segment)) {
      b.receive(team, team.before(1), message);
      if (i + 1 < team.size()) b.send(team, team.after(1), message);
    }
  }
}

void ring_reduce_scatter(PlanBuilder& b, const Team& team, const Pieces& in,
                         const std::vector<Slice>& out, std::uint64_t segment) {
  const std::vector<Slice> own = messages_of(in[team.me], segment);
  const std::vector<Slice> kept = messages_of(out, segment);
  if (team.size() == 1) {
    for (std::size_t k = 0; k < own.size(); ++k) b.copy(own[k], kept[k]);
  } else {
    send_all(b, team, messages_of(in[team.before(1)], segment));
  }
  for (Rank i = 2; i <= team.size() && team.size() > 1; ++i) {
    const std::vector<Slice> passing = messages_of(in[team.before(i)], segment);
    for (std::size_t k = 0; k < passing.size(); ++k) {
      const bool is_home = i == team.size();
      const Slice sum = is_home ? kept[k] : b.scratch(passing[k].count);
      b.receive_reduce(team, team.before(1), passing[k], sum, true);
      if (!is_home) b.send(team, team.after(1), sum);
    }
  }
  for (const Slice& slice : kept) b.finish(slice);
}

void ring_all_reduce(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out,
                     const Method& method) {
  const Blocks shares = Blocks::shares(in.count, team.size(), method.grain);
  if (team.size() == 1) {
    b.copy(in, out);
    b.finish(out);
    return;
  }
  const auto messages = [&](const Slice& whole, Rank of) {
    return messages_of({part(whole, shares, of)}, method.segment);
  };
  // Partial sums stay in the result: what overwrites one comes around only after
  // its receiver has added it up.
  send_all(b, team, messages(in, team.before(1)));
  for (Rank i = 2; i <= team.size(); ++i) {
    const std::vector<Slice> from = messages(in, team.before(i));
    const std::vector<Slice> sum = messages(out, team.before(i));
    for (std::size_t k = 0; k < sum.size(); ++k) {
      b.receive_reduce(team, team.before(1), from[k], sum[k], true);
      if (i == team.size()) b.finish(sum[k]);
      b.send(team, team.after(1), sum[k]);
    }
  }
  for (Rank i = 1; i < team.size(); ++i) {
    for (const Slice& message : messages(out, team.before(i))) {
      b.receive(team, team.before(1), message);
      if (i + 1 < team.size()) b.send(team, team.after(1), message);
    }
  }
}

}  // namespace muster::collectives

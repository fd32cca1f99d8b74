// On one host: everybody reads what it needs where it lies.
//
// Phase 1 says that a member's memory may be read, the last one that it has
// read all it needs of the others'. Between the two, reductions announce the
// shares that they have finished, one phase per segment.
#include "muster/collectives/plan_families.h"

namespace muster::collectives {
namespace {

// The end of a plan whose members read from many: nobody leaves before all are done.
void leave_together(PlanBuilder& b, const Team& team, std::uint64_t phase) {
  b.publish(phase);
  b.wait_all(team, phase);
  b.close_phases(phase);
}

}  // namespace

void direct_barrier(PlanBuilder& b, const Team& team) {
  b.publish(1);
  b.wait_all(team, 1);
  b.close_phases(1);
}

void direct_broadcast(PlanBuilder& b, const Team& team, Rank root, const Slice& in,
                      const Slice& out) {
  b.expose();
  if (team.me == root) {
    b.publish(1);
    b.wait_all(team, 2);
  } else {
    b.wait(team, root, 1);
    b.fetch(team, root, in, out, kStream);
    b.publish(2);
  }
  b.close_phases(2);
}

void direct_scatter(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks,
                    const Slice& in, const Slice& out) {
  b.expose();
  if (team.me == root) {
    b.publish(1);
    b.copy(part(in, blocks, root), out);
    b.wait_all(team, 2);
  } else {
    b.wait(team, root, 1);
    b.fetch(team, root, part(in, blocks, team.me), out, kStream);
    b.publish(2);
  }
  b.close_phases(2);
}

void direct_gather(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks,
                   const Slice& in, const Slice& out) {
  b.expose();
  if (team.me == root) {
    b.copy(in, part(out, blocks, root));
    for (Rank i = 1; i < team.size(); ++i) {
      const Rank from = team.after(i);
      b.wait(team, from, 1);
      b.fetch(team, from, part(in, 0, blocks.count(from)), part(out, blocks, from), kStream);
    }
    b.publish(2);
  } else {
    b.publish(1);
    b.wait(team, root, 2);
  }
  b.close_phases(2);
}

void direct_all_gather(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                       const Slice& out) {
  b.expose();
  b.publish(1);
  b.copy(in, part(out, blocks, team.me));
  for (Rank i = 1; i < team.size(); ++i) {
    const Rank from = team.after(i);
    b.wait(team, from, 1);
    b.fetch(team, from, part(in, 0, blocks.count(from)), part(out, blocks, from), kStream);
  }
  leave_together(b, team, 2);
}

void direct_reduce_scatter(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                           const Slice& out) {
  b.expose();
  b.publish(1);
  b.wait_all(team, 1);
  b.combine(team, part(in, blocks, team.me), out, kStream);
  leave_together(b, team, 2);
}

void direct_all_to_all(PlanBuilder& b, const Team& team, const Blocks& sends,
                       const Blocks& receives, const std::vector<std::uint64_t>& peer_offsets,
                       const Slice& in, const Slice& out) {
  b.expose();
  b.publish(1);
  b.copy(part(in, sends, team.me), part(out, receives, team.me));
  for (Rank i = 1; i < team.size(); ++i) {
    const Rank from = team.after(i);
    b.wait(team, from, 1);
    b.fetch(team, from, part(in, peer_offsets[from], receives.count(from)),
            part(out, receives, from), kStream);
  }
  leave_together(b, team, 2);
}

void direct_all_reduce(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out,
                       const Method& method) {
  b.expose();
  b.publish(1);
  b.wait_all(team, 1);
  const Segments segments(in.count, method.segment);
  const auto shares = [&](std::uint64_t i) {
    return Blocks::shares(segments.count(i), team.size(), method.grain);
  };
  const auto fetch = [&](std::uint64_t i) {
    b.wait_all(team, i + 2);
    const Blocks of = shares(i);
    for (Rank k = 1; k < team.size(); ++k) {
      const Rank from = team.after(k);
      const Slice there = part(segments.of(out, i), of, from);
      b.fetch(team, from, there, there, kStream);
    }
  };
  // One segment behind: by then the others are most often done with theirs.
  for (std::uint64_t i = 0; i < segments.number(); ++i) {
    const Blocks of = shares(i);
    b.combine(team, part(segments.of(in, i), of, team.me), part(segments.of(out, i), of, team.me),
              false);
    b.publish(i + 2);
    if (i > 0) fetch(i - 1);
  }
  fetch(segments.number() - 1);
  leave_together(b, team, segments.number() + 2);
}

void direct_reduce(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out,
                   const Method& method) {
  b.expose();
  b.publish(1);
  b.wait_all(team, 1);
  const Segments segments(in.count, method.segment);
  const std::uint64_t largest =
      Blocks::shares(segments.largest(), team.size(), method.grain).largest();
  const Slice cells[] = {b.window(largest), b.window(largest)};
  for (std::uint64_t i = 0; i < segments.number(); ++i) {
    const Blocks shares = Blocks::shares(segments.count(i), team.size(), method.grain);
    const Slice mine = part(segments.of(in, i), shares, team.me);
    if (team.me == root) {
      b.combine(team, mine, part(segments.of(out, i), shares, root), kStream);
      b.wait_all(team, i + 2);
      for (Rank k = 1; k < team.size(); ++k) {
        const Rank from = team.after(k);
        b.fetch(team, from, part(cells[i % 2], 0, shares.count(from)),
                part(segments.of(out, i), shares, from), kStream);
      }
    } else {
      // The cell is free when the root has fetched what lay in it.
      if (i >= 2) b.wait(team, root, i);
      b.combine(team, mine, part(cells[i % 2], 0, mine.count), false);
    }
    b.publish(i + 2);
  }
  // Only those who read this member's input hold it back.
  b.wait_all(team, segments.number() + 1);
  b.close_phases(segments.number() + 1);
}

}  // namespace muster::collectives

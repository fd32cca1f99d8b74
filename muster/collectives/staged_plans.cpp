// On one host, through the windows: each member lays down a piece of what the
// others want in one of two cells, in turns, and they take it from there. Needs
// no right to read the others' memory, and pieces that fit the caches make the
// second copy cheap.
//
// Phase i+1 of one who gives says that piece i lies in its cell, of one who
// takes that it has taken piece i.
#include <algorithm>
#include <array>

#include "muster/collectives/plan_families.h"

namespace muster::collectives {
namespace {

using Cells = std::array<Slice, 2>;

Cells two_cells(PlanBuilder& b, std::uint64_t count) { return {b.window(count), b.window(count)}; }

// Piece `i` of each block, so that all blocks of one round fill a segment.
std::uint64_t piece_of(std::uint64_t segment, const Team& team) {
  return segment == 0 ? 0 : std::max<std::uint64_t>(segment / team.size(), 1);
}

Slice piece(const Slice& whole, const Blocks& blocks, Rank rank, std::uint64_t size,
            std::uint64_t i) {
  const Segments cut(blocks.count(rank), size);
  return cut.of(part(whole, blocks, rank), i);
}

}  // namespace

void staged_broadcast(PlanBuilder& b, const Team& team, Rank root, const Slice& in,
                      const Slice& out, std::uint64_t segment,
                      const std::function<void(std::uint64_t)>& bring) {
  const Segments segments(in.count, segment);
  const Cells cells = two_cells(b, segments.largest());
  for (std::uint64_t i = 0; i < segments.number(); ++i) {
    const Slice cell = part(cells[i % 2], 0, segments.count(i));
    if (team.me == root) {
      if (bring) bring(i);
      if (i >= 2) b.wait_all(team, i - 1);
      b.copy(segments.of(in, i), cell);
    } else {
      b.wait(team, root, i + 1);
      b.fetch(team, root, cell, segments.of(out, i), kStream);
    }
    b.publish(i + 1);
  }
  b.close_phases(segments.number());
}

void staged_scatter(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks,
                    const Slice& in, const Slice& out, std::uint64_t segment) {
  const std::uint64_t size = piece_of(segment, team);
  const Segments rounds(blocks.largest(), size);
  const std::uint64_t cell_size = rounds.largest();
  const Cells cells = two_cells(b, cell_size * team.size());
  const auto cell = [&](std::uint64_t i, Rank rank) {
    return part(cells[i % 2], rank * cell_size, piece(in, blocks, rank, rounds.largest(), i).count);
  };
  if (team.me == root) b.copy(part(in, blocks, root), out);
  for (std::uint64_t i = 0; i < rounds.number(); ++i) {
    if (team.me == root) {
      if (i >= 2) b.wait_all(team, i - 1);
      for (Rank rank = 0; rank < team.size(); ++rank) {
        if (rank == root) continue;
        b.copy(piece(in, blocks, rank, rounds.largest(), i), cell(i, rank));
      }
    } else {
      const Slice from = cell(i, team.me);
      if (from.count > 0) b.wait(team, root, i + 1);
      b.fetch(team, root, from, part(out, rounds.offset(i), from.count), kStream);
    }
    b.publish(i + 1);
  }
  b.close_phases(rounds.number());
}

void staged_gather(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks,
                   const Slice& in, const Slice& out, std::uint64_t segment) {
  const Segments rounds(blocks.largest(), piece_of(segment, team));
  const Cells cells = two_cells(b, rounds.largest());
  const auto count = [&](Rank rank, std::uint64_t i) {
    return piece(out, blocks, rank, rounds.largest(), i).count;
  };
  if (team.me == root) b.copy(in, part(out, blocks, root));
  for (std::uint64_t i = 0; i < rounds.number(); ++i) {
    if (team.me != root) {
      const std::uint64_t mine = count(team.me, i);
      if (mine == 0) break;
      if (i >= 2) b.wait(team, root, i - 1);
      b.copy(part(in, rounds.offset(i), mine), part(cells[i % 2], 0, mine));
    } else {
      for (Rank k = 1; k < team.size(); ++k) {
        const Rank from = team.after(k);
        if (count(from, i) == 0) continue;
        b.wait(team, from, i + 1);
        b.fetch(team, from, part(cells[i % 2], 0, count(from, i)),
                piece(out, blocks, from, rounds.largest(), i), kStream);
      }
    }
    b.publish(i + 1);
  }
  b.close_phases(rounds.number());
}

void staged_all_gather(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                       const Slice& out, std::uint64_t segment) {
  const Segments rounds(blocks.largest(), piece_of(segment, team));
  const Cells cells = two_cells(b, rounds.largest());
  const auto of = [&](Rank rank, std::uint64_t i) {
    return piece(out, blocks, rank, rounds.largest(), i);
  };
  const auto stage = [&](std::uint64_t i) {
    const std::uint64_t mine = of(team.me, i).count;
    b.copy(part(in, rounds.offset(i), mine), part(cells[i % 2], 0, mine));
    b.publish(i + 1);
  };
  stage(0);
  b.copy(in, part(out, blocks, team.me));
  for (std::uint64_t i = 0; i < rounds.number(); ++i) {
    b.wait_all(team, i + 1);
    for (Rank k = 1; k < team.size(); ++k) {
      const Rank from = team.after(k);
      b.fetch(team, from, part(cells[i % 2], 0, of(from, i).count), of(from, i), kStream);
    }
    // The other cell is free: all came to this phase after they had taken from it.
    if (i + 1 < rounds.number()) stage(i + 1);
  }
  b.close_phases(rounds.number());
}

void staged_all_to_all(PlanBuilder& b, const Team& team, std::uint64_t count, const Slice& in,
                       const Slice& out, std::uint64_t segment) {
  const Blocks blocks = Blocks::equal(team.size(), count);
  const Segments rounds(count, piece_of(segment, team));
  const std::uint64_t cell_size = rounds.largest();
  const Cells cells = two_cells(b, cell_size * team.size());
  const auto stage = [&](std::uint64_t i) {
    for (Rank k = 1; k < team.size(); ++k) {
      const Rank to = team.before(k);
      b.copy(piece(in, blocks, to, cell_size, i),
             part(cells[i % 2], to * cell_size, rounds.count(i)));
    }
    b.publish(i + 1);
  };
  stage(0);
  b.copy(part(in, blocks, team.me), part(out, blocks, team.me));
  for (std::uint64_t i = 0; i < rounds.number(); ++i) {
    b.wait_all(team, i + 1);
    for (Rank k = 1; k < team.size(); ++k) {
      const Rank from = team.after(k);
      b.fetch(team, from, part(cells[i % 2], team.me * cell_size, rounds.count(i)),
              piece(out, blocks, from, cell_size, i), kStream);
    }
    if (i + 1 < rounds.number()) stage(i + 1);
  }
  b.close_phases(rounds.number());
}

}  // namespace muster::collectives

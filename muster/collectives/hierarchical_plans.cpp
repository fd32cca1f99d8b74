// Hosts of ranks: through the windows on each, messages between one leader per
// host. Every byte crosses a network link once where the operation allows it.
#include <algorithm>

#include "muster/collectives/plan_families.h"

namespace muster::collectives {
namespace {

struct Layout {
  std::vector<std::vector<Rank>> members;  // Of each host, in the order of the ranks.
  std::vector<Rank> at;                    // Which of the hosts each rank is on.
  Team local;
  Rank leader = 0;  // In `local`.
  Team leaders;     // `me` is the host, whether or not this rank leads it.

  bool is_leader() const { return local.me == leader; }
};

Rank index_of(const std::vector<Rank>& ranks, Rank rank) {
  return static_cast<Rank>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

// The root leads its host; elsewhere, the first rank does.
Layout layout_of(const Shape& shape, const Hosts& hosts, bool is_rooted) {
  Layout layout;
  Hosts seen;
  for (Rank rank = 0; rank < shape.ranks; ++rank) {
    const std::uint32_t host = hosts.empty() ? 0 : hosts[rank];
    const auto found = std::find(seen.begin(), seen.end(), host);
    const auto index = static_cast<Rank>(found - seen.begin());
    if (found == seen.end()) {
      seen.push_back(host);
      layout.members.emplace_back();
    }
    layout.members[index].push_back(rank);
    layout.at.push_back(index);
  }
  for (const std::vector<Rank>& members : layout.members) {
    const bool has_root = is_rooted && index_of(members, shape.root) < members.size();
    layout.leaders.ranks.push_back(has_root ? shape.root : members.front());
  }
  const Rank host = layout.at[shape.rank];
  layout.leaders.me = host;
  layout.local.ranks = layout.members[host];
  layout.local.me = index_of(layout.local.ranks, shape.rank);
  layout.leader = index_of(layout.local.ranks, layout.leaders.ranks[host]);
  return layout;
}

Blocks blocks_of(const std::vector<Rank>& members, const Blocks& blocks) {
  std::vector<std::uint64_t> counts;
  for (const Rank rank : members) counts.push_back(blocks.count(rank));
  return Blocks::uneven(std::move(counts));
}

// Where the blocks of a host's ranks lie in `whole`.
std::vector<Slice> pieces_of(const std::vector<Rank>& members, const Blocks& blocks,
                             const Slice& whole) {
  std::vector<Slice> found;
  for (const Rank rank : members) {
    const Slice next = part(whole, blocks, rank);
    const bool goes_on = !found.empty() && found.back().offset + found.back().count == next.offset;
    goes_on ? static_cast<void>(found.back().count += next.count) : found.push_back(next);
  }
  return found;
}

// Cuts `whole` as the pieces are cut.
std::vector<Slice> cut_like(const std::vector<Slice>& pieces, const Slice& whole) {
  std::vector<Slice> found;
  std::uint64_t offset = 0;
  for (const Slice& piece : pieces) {
    found.push_back(part(whole, offset, piece.count));
    offset += piece.count;
  }
  return found;
}

void barrier(PlanBuilder& b, const Layout& at) {
  if (at.is_leader()) {
    b.wait_all(at.local, 1);
    dissemination_barrier(b, at.leaders);
    b.publish(2);
  } else {
    b.publish(1);
    b.wait(at.local, at.leader, 2);
  }
  b.close_phases(2);
}

void broadcast(PlanBuilder& b, const Shape& shape, const Method& method, const Layout& at) {
  const Slice in{Place::input, 0, shape.count};
  const Slice out{Place::result, 0, shape.count};
  const Slice source = shape.is_root() ? in : out;
  const Rank hosts = at.leaders.size();
  const Rank place = (at.leaders.me + hosts - at.at[shape.root]) % hosts;
  const Segments segments(shape.count, method.segment);
  staged_broadcast(b, at.local, at.leader, source, out, method.segment, [&](std::uint64_t i) {
    if (place > 0) b.receive(at.leaders, at.leaders.before(1), segments.of(source, i));
    if (place + 1 < hosts) b.send(at.leaders, at.leaders.after(1), segments.of(source, i));
  });
}

void reduce(PlanBuilder& b, const Shape& shape, const Method& method, const Layout& at) {
  const Slice in{Place::input, 0, shape.count};
  const Slice out{Place::result, 0, shape.count};
  const bool needs_scratch = at.is_leader() && !shape.is_root();
  const Slice sum = needs_scratch ? b.scratch(shape.count) : out;
  b.hold_finish(true);
  staged_reduce(b, at.local, at.leader, in, sum, method);
  b.hold_finish(false);
  if (!at.is_leader()) return;
  chain_reduce(b, at.leaders, at.at[shape.root], sum, out, method.segment, true);
}

void all_reduce(PlanBuilder& b, const Shape& shape, const Method& method, const Layout& at) {
  const Slice in{Place::input, 0, shape.count};
  const Slice out{Place::result, 0, shape.count};
  b.hold_finish(true);
  staged_reduce(b, at.local, at.leader, in, out, method);
  b.hold_finish(false);
  if (at.is_leader()) ring_all_reduce(b, at.leaders, out, out, method);
  staged_broadcast(b, at.local, at.leader, out, out, method.segment);
}

void all_gather(PlanBuilder& b, const Shape& shape, const Method& method, const Layout& at) {
  const Slice in{Place::input, 0, shape.blocks.count(shape.rank)};
  const Slice out{Place::result, 0, shape.blocks.total()};
  Pieces pieces;
  for (const std::vector<Rank>& members : at.members) {
    pieces.push_back(pieces_of(members, shape.blocks, out));
  }
  const Blocks local = blocks_of(at.local.ranks, shape.blocks);
  const std::vector<Slice>& own = pieces[at.leaders.me];
  Slice gathered = own.front();
  if (own.size() > 1 && at.is_leader()) gathered = b.scratch(local.total());
  staged_gather(b, at.local, at.leader, local, in, gathered, method.segment);
  if (at.is_leader()) {
    const std::vector<Slice> cut = cut_like(own, gathered);
    for (std::size_t i = 0; i < own.size(); ++i) b.copy(cut[i], own[i]);
    ring_all_gather(b, at.leaders, pieces, method.segment);
  }
  staged_broadcast(b, at.local, at.leader, out, out, method.segment);
}

void reduce_scatter(PlanBuilder& b, const Shape& shape, const Method& method, const Layout& at) {
  const std::uint64_t total = shape.blocks.total();
  const Slice in{Place::input, 0, total};
  const Slice out{Place::result, 0, shape.blocks.count(shape.rank)};
  const Blocks local = blocks_of(at.local.ranks, shape.blocks);
  const Slice sum = at.is_leader() ? b.scratch(total) : Slice{Place::scratch, 0, total};
  const Slice own =
      at.is_leader() ? b.scratch(local.total()) : Slice{Place::scratch, 0, local.total()};
  b.hold_finish(true);
  staged_reduce(b, at.local, at.leader, in, sum, method);
  b.hold_finish(false);
  if (at.is_leader()) {
    Pieces pieces;
    for (const std::vector<Rank>& members : at.members) {
      pieces.push_back(pieces_of(members, shape.blocks, sum));
    }
    ring_reduce_scatter(b, at.leaders, pieces, cut_like(pieces[at.leaders.me], own),
                        method.segment);
  }
  staged_scatter(b, at.local, at.leader, local, own, out, method.segment);
}

}  // namespace

void add_hierarchical(PlanBuilder& b, const Shape& shape, const Method& method,
                      const Hosts& hosts) {
  switch (shape.operation) {
    case Operation::barrier: return barrier(b, layout_of(shape, hosts, false));
    case Operation::broadcast: return broadcast(b, shape, method, layout_of(shape, hosts, true));
    case Operation::reduce: return reduce(b, shape, method, layout_of(shape, hosts, true));
    case Operation::all_reduce: return all_reduce(b, shape, method, layout_of(shape, hosts, false));
    case Operation::all_gather: return all_gather(b, shape, method, layout_of(shape, hosts, false));
    case Operation::reduce_scatter:
      return reduce_scatter(b, shape, method, layout_of(shape, hosts, false));
    default: return;
  }
}

}  // namespace muster::collectives

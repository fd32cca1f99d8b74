// The plan functions, by family. Private; plans.h is the way in.
//
// Each adds the steps of one member to a builder. `in` and `out` are where the
// member's input and result lie; those that it has none of are ignored. The
// direct ones read the others' `in` (and `out`) at the same place as their own.

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "muster/collectives/plan_builder.h"
#include "muster/collectives/plans.h"

namespace muster::collectives {

// On one host, from and to the callers' own memory (direct_plans.cpp).
void direct_barrier(PlanBuilder& b, const Team& team);
void direct_broadcast(PlanBuilder& b, const Team& team, Rank root, const Slice& in,
                      const Slice& out);
void direct_scatter(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks,
                    const Slice& in, const Slice& out);
void direct_gather(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks,
                   const Slice& in, const Slice& out);
void direct_reduce(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out,
                   const Method& method);
void direct_all_reduce(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out,
                       const Method& method);
void direct_all_gather(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                       const Slice& out);
void direct_reduce_scatter(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                           const Slice& out);
void direct_all_to_all(PlanBuilder& b, const Team& team, const Blocks& sends,
                       const Blocks& receives, const std::vector<std::uint64_t>& peer_offsets,
                       const Slice& in, const Slice& out);

// On one host, through the windows (staged_plans.cpp, staged_reductions.cpp).
// `bring(i)`, if given, adds what brings segment i of `in` to the root.
void staged_broadcast(PlanBuilder& b, const Team& team, Rank root, const Slice& in,
                      const Slice& out, std::uint64_t segment,
                      const std::function<void(std::uint64_t)>& bring = {});
void staged_scatter(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks,
                    const Slice& in, const Slice& out, std::uint64_t segment);
void staged_gather(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks,
                   const Slice& in, const Slice& out, std::uint64_t segment);
void staged_all_gather(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                       const Slice& out, std::uint64_t segment);
// Blocks of `count` from everybody to everybody.
void staged_all_to_all(PlanBuilder& b, const Team& team, std::uint64_t count, const Slice& in,
                       const Slice& out, std::uint64_t segment);
void staged_reduce(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out,
                   const Method& method);
void staged_all_reduce(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out,
                       const Method& method);
void staged_reduce_scatter(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                           const Slice& out, const Method& method);
// Each that gets the result reduces all of it.
void flat_reduce(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out);
void flat_all_reduce(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out);

// Everybody with everybody, or with the root (linear_plans.cpp).
void linear_broadcast(PlanBuilder& b, const Team& team, Rank root, const Slice& in,
                      const Slice& out);
void linear_scatter(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks,
                    const Slice& in, const Slice& out);
void linear_gather(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks,
                   const Slice& in, const Slice& out);
void linear_reduce(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out);
void linear_all_gather(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                       const Slice& out);
void linear_reduce_scatter(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                           const Slice& out);
void pairwise_reduce_scatter(PlanBuilder& b, const Team& team, const Blocks& blocks,
                             const Slice& in, const Slice& out);
void pairwise_all_to_all(PlanBuilder& b, const Team& team, const Blocks& sends,
                         const Blocks& receives, const Slice& in, const Slice& out);

// Through the first member (star_plans.cpp).
void star_barrier(PlanBuilder& b, const Team& team);
void star_all_reduce(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out);
void star_all_gather(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                     const Slice& out);

// Binomial trees (tree_plans.cpp, tree_blocks.cpp).
void tree_broadcast(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out);
void tree_reduce(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out,
                 bool is_commutative);
void tree_scatter(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks,
                  const Slice& in, const Slice& out);
void tree_gather(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks, const Slice& in,
                 const Slice& out);

// Pipelines and rings (chain_plans.cpp, ring_plans.cpp).
void chain_broadcast(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out,
                     std::uint64_t segment);
void chain_reduce(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out,
                  std::uint64_t segment, bool is_commutative);
// Where each member's part lies; a member may have several pieces.
using Pieces = std::vector<std::vector<Slice>>;
void ring_all_reduce(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out,
                     const Method& method);
void ring_all_gather(PlanBuilder& b, const Team& team, const Pieces& out, std::uint64_t segment);
// `out` of this member is its own pieces, elsewhere or where they lie in `in`.
void ring_reduce_scatter(PlanBuilder& b, const Team& team, const Pieces& in,
                         const std::vector<Slice>& out, std::uint64_t segment);

// In logarithmically many exchanges (doubling_plans.cpp, rabenseifner_plan.cpp).
void dissemination_barrier(PlanBuilder& b, const Team& team);
void doubling_all_reduce(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out);
void doubling_all_gather(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                         const Slice& out);
void rabenseifner_all_reduce(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out,
                             std::uint64_t grain);
void halving_reduce_scatter(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                            const Slice& out);

// Hosts of ranks (hierarchical_plans.cpp).
void add_hierarchical(PlanBuilder& b, const Shape& shape, const Method& method, const Hosts& hosts);

}  // namespace muster::collectives

#include "muster/collectives/plans.h"

#include <algorithm>

#include "muster/base/check.h"
#include "muster/collectives/plan_families.h"

namespace muster::collectives {
namespace {

using enum Algorithm;

bool is_one_of(Algorithm algorithm, std::initializer_list<Algorithm> list) {
  return std::find(list.begin(), list.end(), algorithm) != list.end();
}

bool has_algorithm(Operation operation, Algorithm algorithm) {
  switch (operation) {
    case Operation::barrier: return is_one_of(algorithm, {direct, star, doubling, hierarchical});
    case Operation::broadcast:
      return is_one_of(algorithm, {direct, staged, linear, tree, chain, hierarchical});
    case Operation::scatter:
    case Operation::gather: return is_one_of(algorithm, {direct, staged, linear, tree});
    case Operation::reduce:
      return is_one_of(algorithm, {direct, staged, flat, linear, tree, chain, hierarchical});
    case Operation::all_reduce:
      return is_one_of(algorithm,
                       {direct, staged, flat, star, ring, doubling, rabenseifner, hierarchical});
    case Operation::all_gather:
      return is_one_of(algorithm, {direct, staged, linear, star, ring, doubling, hierarchical});
    case Operation::reduce_scatter:
      return is_one_of(algorithm, {direct, staged, linear, ring, halving, pairwise, hierarchical});
    case Operation::all_to_all: return is_one_of(algorithm, {direct, staged, pairwise});
  }
  return false;
}

bool reduces(Operation operation) {
  return operation == Operation::reduce || operation == Operation::all_reduce ||
         operation == Operation::reduce_scatter;
}

// One who makes plans for a shape, operation by operation.
class Maker {
 public:
  Maker(const Shape& shape, const Method& method, const Hosts& hosts)
      : shape_(shape),
        method_(method),
        hosts_(hosts),
        team_(Team::all(shape)),
        in_{Place::input, 0, input_count(shape)},
        out_{Place::result, 0, result_count(shape)},
        whole_in_{Place::input, 0, largest_buffer(shape)},
        whole_out_{Place::result, 0, largest_buffer(shape)},
        b_(shape.has_finish) {}

  Plan make() {
    if (method_.algorithm == hierarchical) {
      add_hierarchical(b_, shape_, method_, hosts_);
      return b_.take();
    }
    switch (shape_.operation) {
      case Operation::barrier: barrier(); break;
      case Operation::broadcast: broadcast(); break;
      case Operation::scatter: scatter(); break;
      case Operation::gather: gather(); break;
      case Operation::reduce: reduce(); break;
      case Operation::all_reduce: all_reduce(); break;
      case Operation::all_gather: all_gather(); break;
      case Operation::reduce_scatter: reduce_scatter(); break;
      case Operation::all_to_all: all_to_all(); break;
    }
    return b_.take();
  }

 private:
  void barrier() {
    switch (method_.algorithm) {
      case direct: return direct_barrier(b_, team_);
      case star: return star_barrier(b_, team_);
      default: return dissemination_barrier(b_, team_);
    }
  }

  void broadcast() {
    const Rank root = shape_.root;
    switch (method_.algorithm) {
      case direct: return direct_broadcast(b_, team_, root, whole_in_, whole_out_);
      case staged: return staged_broadcast(b_, team_, root, whole_in_, whole_out_, method_.segment);
      case linear: return linear_broadcast(b_, team_, root, whole_in_, whole_out_);
      case tree: return tree_broadcast(b_, team_, root, whole_in_, whole_out_);
      default: return chain_broadcast(b_, team_, root, whole_in_, whole_out_, method_.segment);
    }
  }

  void scatter() {
    const Rank root = shape_.root;
    switch (method_.algorithm) {
      case direct: return direct_scatter(b_, team_, root, shape_.blocks, whole_in_, out_);
      case staged:
        return staged_scatter(b_, team_, root, shape_.blocks, whole_in_, out_, method_.segment);
      case linear: return linear_scatter(b_, team_, root, shape_.blocks, whole_in_, out_);
      default: return tree_scatter(b_, team_, root, shape_.blocks, whole_in_, out_);
    }
  }

  void gather() {
    const Rank root = shape_.root;
    switch (method_.algorithm) {
      case direct: return direct_gather(b_, team_, root, shape_.blocks, in_, whole_out_);
      case staged:
        return staged_gather(b_, team_, root, shape_.blocks, in_, whole_out_, method_.segment);
      case linear: return linear_gather(b_, team_, root, shape_.blocks, in_, whole_out_);
      default: return tree_gather(b_, team_, root, shape_.blocks, in_, whole_out_);
    }
  }

  void reduce() {
    const Rank root = shape_.root;
    const bool any_order = shape_.is_commutative;
    switch (method_.algorithm) {
      case direct: return direct_reduce(b_, team_, root, in_, whole_out_, method_);
      case staged: return staged_reduce(b_, team_, root, in_, whole_out_, method_);
      case flat: return flat_reduce(b_, team_, root, in_, whole_out_);
      case linear: return linear_reduce(b_, team_, root, in_, whole_out_);
      case tree: return tree_reduce(b_, team_, root, in_, whole_out_, any_order);
      default: return chain_reduce(b_, team_, root, in_, whole_out_, method_.segment, any_order);
    }
  }

  void all_reduce() {
    switch (method_.algorithm) {
      case direct: return direct_all_reduce(b_, team_, in_, out_, method_);
      case staged: return staged_all_reduce(b_, team_, in_, out_, method_);
      case flat: return flat_all_reduce(b_, team_, in_, out_);
      case star: return star_all_reduce(b_, team_, in_, out_);
      case ring: return ring_all_reduce(b_, team_, in_, out_, method_);
      case doubling: return doubling_all_reduce(b_, team_, in_, out_);
      default: return rabenseifner_all_reduce(b_, team_, in_, out_, method_.grain);
    }
  }

  void all_gather() {
    const Blocks& blocks = shape_.blocks;
    switch (method_.algorithm) {
      case direct: return direct_all_gather(b_, team_, blocks, in_, out_);
      case staged: return staged_all_gather(b_, team_, blocks, in_, out_, method_.segment);
      case linear: return linear_all_gather(b_, team_, blocks, in_, out_);
      case star: return star_all_gather(b_, team_, blocks, in_, out_);
      case doubling: return doubling_all_gather(b_, team_, blocks, in_, out_);
      default:
        b_.copy(in_, part(out_, blocks, shape_.rank));
        return ring_all_gather(b_, team_, one_piece_each(out_), method_.segment);
    }
  }

  void reduce_scatter() {
    const Blocks& blocks = shape_.blocks;
    switch (method_.algorithm) {
      case direct: return direct_reduce_scatter(b_, team_, blocks, in_, out_);
      case staged: return staged_reduce_scatter(b_, team_, blocks, in_, out_, method_);
      case linear: return linear_reduce_scatter(b_, team_, blocks, in_, out_);
      case halving: return halving_reduce_scatter(b_, team_, blocks, in_, out_);
      case pairwise: return pairwise_reduce_scatter(b_, team_, blocks, in_, out_);
      default: return ring_reduce_scatter(b_, team_, one_piece_each(in_), {out_}, method_.segment);
    }
  }

  void all_to_all() {
    const Blocks& sends = shape_.blocks;
    switch (method_.algorithm) {
      case direct:
        return direct_all_to_all(b_, team_, sends, shape_.receives, shape_.peer_offsets, in_, out_);
      case staged: return staged_all_to_all(b_, team_, sends.count(0), in_, out_, method_.segment);
      default: return pairwise_all_to_all(b_, team_, sends, shape_.receives, in_, out_);
    }
  }

  Pieces one_piece_each(const Slice& whole) const {
    Pieces pieces;
    for (Rank rank = 0; rank < shape_.ranks; ++rank) {
      pieces.push_back({part(whole, shape_.blocks, rank)});
    }
    return pieces;
  }

  const Shape& shape_;
  const Method& method_;
  const Hosts& hosts_;
  Team team_;
  Slice in_;  // As this rank has them.
  Slice out_;
  Slice whole_in_;  // As the root has them.
  Slice whole_out_;
  PlanBuilder b_;
};

bool is_one_host(const Hosts& hosts) {
  return std::all_of(hosts.begin(), hosts.end(),
                     [&](std::uint32_t host) { return host == hosts.front(); });
}

}  // namespace

std::string_view name(Algorithm algorithm) {
  switch (algorithm) {
    case direct: return "direct";
    case staged: return "staged";
    case flat: return "flat";
    case linear: return "linear";
    case star: return "star";
    case tree: return "tree";
    case chain: return "chain";
    case ring: return "ring";
    case doubling: return "doubling";
    case rabenseifner: return "rabenseifner";
    case halving: return "halving";
    case pairwise: return "pairwise";
    case hierarchical: return "hierarchical";
  }
  return "unknown";
}

std::optional<Algorithm> algorithm_named(std::string_view text) {
  for (const Algorithm algorithm : kAlgorithms) {
    if (name(algorithm) == text) return algorithm;
  }
  return std::nullopt;
}

bool is_possible(const Shape& shape, Algorithm algorithm, const Hosts& hosts) {
  if (!has_algorithm(shape.operation, algorithm)) return false;
  const bool needs_one_host = is_one_of(algorithm, {direct, staged, flat});
  if (needs_one_host && !is_one_host(hosts)) return false;
  const bool any_order = is_one_of(algorithm, {ring, halving, pairwise, hierarchical});
  if (reduces(shape.operation) && any_order && !shape.is_commutative) return false;
  if (shape.operation == Operation::all_to_all) {
    if (algorithm == direct) return shape.peer_offsets.size() == shape.ranks;
    if (algorithm == staged) return shape.is_even;
  }
  return true;
}

Plan make_plan(const Shape& shape, const Method& method, const Hosts& hosts) {
  MUSTER_CHECK(is_possible(shape, method.algorithm, hosts), "no such plan for this shape");
  return Maker(shape, method, hosts).make();
}

}  // namespace muster::collectives

// make_plan(): the steps of one rank for an operation, by a given method. Pure.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "muster/collectives/plan.h"
#include "muster/collectives/shape.h"

namespace muster::collectives {

// The numbers stand in no message, the names in the table of choices.
enum class Algorithm : std::uint8_t {
  direct,        // One host: everybody reads what it needs where it lies.
  staged,        // One host: through the windows, in segments that stay in the caches.
  flat,          // One host: through the windows, each that gets a result reduces all of it.
  linear,        // Messages: everybody with everybody, or with the root.
  star,          // Messages: everybody with the first, which passes on what comes of it.
  tree,          // Messages: binomial.
  chain,         // Messages: a pipeline of segments, rank to rank.
  ring,          // Messages: round and round, a block each; commutative ones only.
  doubling,      // Messages: recursive doubling, dissemination.
  rabenseifner,  // Messages: recursive halving, then doubling.
  halving,       // Messages: recursive halving alone; commutative ones only.
  pairwise,      // Messages: exchanges with each in turn.
  hierarchical,  // direct or staged on each host, a pipelined ring between its leaders.
};

inline constexpr std::array kAlgorithms{
    Algorithm::direct,      Algorithm::staged,       Algorithm::flat,    Algorithm::linear,
    Algorithm::star,        Algorithm::tree,         Algorithm::chain,   Algorithm::ring,
    Algorithm::doubling,    Algorithm::rabenseifner, Algorithm::halving, Algorithm::pairwise,
    Algorithm::hierarchical};

std::string_view name(Algorithm algorithm);
std::optional<Algorithm> algorithm_named(std::string_view text);

struct Method {
  Algorithm algorithm = Algorithm::linear;
  // Elements that go through at a time: of a window (staged), of a message of
  // a pipeline (chain, ring, hierarchical), of all ranks' shares (direct). 0: all.
  std::uint64_t segment = 0;
  // Shares of a buffer begin at multiples of so many elements, so that no two
  // ranks write to one cache line and kernels find their alignment.
  std::uint64_t grain = 16;

  friend bool operator==(const Method&, const Method&) = default;
};

// Which host each rank is on: hosts[rank], numbers of any kind. Empty: one for all.
using Hosts = std::vector<std::uint32_t>;

// Whether make_plan() has this method for the shape.
bool is_possible(const Shape& shape, Algorithm algorithm, const Hosts& hosts = {});

// Only for what is_possible(). All ranks have to give the same but for `rank`
// and what all_to_all has of its own. input and result may be the same memory
// for all_reduce and reduce, for broadcast (input at the root, result
// elsewhere), and where the smaller is the rank's own block of the larger.
Plan make_plan(const Shape& shape, const Method& method, const Hosts& hosts = {});

}  // namespace muster::collectives

// Which method an operation is done by: a table of rows, and the rule that
// reads it. Pure; all ranks that say the same choose the same.
//
// The rows (choices.inc, choices_intel.inc) are measured and written by `scripts/tune
// collectives`, but for barriers, for hosts, and for nine ranks and more.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/processors.h"
#include "muster/base/result.h"
#include "muster/collectives/plans.h"
#include "muster/collectives/shape.h"

namespace muster::collectives {

// What lies between the ranks.
enum class Ground : std::uint8_t {
  arena,     // One host, and what others read of every rank lies in the arena.
  readable,  // One host, and every rank may read the others' memory (process_vm).
  windows,   // One host; only windows may be read.
  links,     // Nothing but messages.
  hosts,     // Several hosts, with several ranks on one of them at least.
};

inline constexpr std::array kGrounds{Ground::arena, Ground::readable, Ground::windows,
                                     Ground::links, Ground::hosts};

std::string_view name(Ground ground);

// For this ground and operation, from so many ranks on, up to so many bytes
// (largest_buffer()): this. The largest fitting `ranks` counts, then the
// smallest fitting `bytes`.
struct Choice {
  Ground ground = Ground::links;
  Operation operation = Operation::barrier;
  Rank ranks = 2;
  std::uint64_t bytes = 0;
  Algorithm algorithm = Algorithm::linear;
  std::uint64_t segment = 0;  // Bytes; 0: all at once.

  friend bool operator==(const Choice&, const Choice&) = default;
};

class ChoiceTable {
 public:
  // Code::invalid if a row names an algorithm that its operation does not have
  // on its ground.
  static Result<ChoiceTable> make(std::vector<Choice> rows);
  // The one in the tree. Between hosts it is the same on all machines; within one host,
  // where all ranks have the same processors, whose they are may matter.
  static const ChoiceTable& standard(ProcessorMaker maker = processor_maker());

  // The row's method for the shape, in elements of `size` bytes, with segments
  // that fit windows of `window` bytes. Where the row's cannot be (it is not
  // for reductions in the order of the ranks, say), the simplest that can.
  Method choose(const Shape& shape, std::size_t size, Ground ground, const Hosts& hosts = {},
                std::uint64_t window = std::uint64_t{4} << 20) const;

  std::span<const Choice> rows() const { return rows_; }

 private:
  const Choice* find(Ground ground, Operation operation, Rank ranks, std::uint64_t bytes) const;

  std::vector<Choice> rows_;  // By ground, operation, ranks, bytes.
};

// Whether the algorithm can be used on the ground at all.
bool is_possible_on(Ground ground, Algorithm algorithm);

}  // namespace muster::collectives

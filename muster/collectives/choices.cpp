#include "muster/collectives/choices.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "muster/base/check.h"
#include "muster/collectives/desk.h"

namespace muster::collectives {
namespace {

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

std::vector<Choice> common_rows() {
  using enum Operation;
  using enum Algorithm;
  return {
#include "muster/collectives/choices.inc"
  };
}

// In place of all common ones of the same ground and operation.
std::vector<Choice> intel_rows() {
  using enum Operation;
  using enum Algorithm;
  return {
#include "muster/collectives/choices_intel.inc"
  };
}

std::vector<Choice> rows_for(ProcessorMaker maker) {
  std::vector<Choice> rows = common_rows();
  if (maker != ProcessorMaker::intel) return rows;
  const std::vector<Choice> better = intel_rows();
  std::erase_if(rows, [&](const Choice& row) {
    return std::ranges::any_of(better, [&](const Choice& other) {
      return other.ground == row.ground && other.operation == row.operation;
    });
  });
  rows.insert(rows.end(), better.begin(), better.end());
  return rows;
}

auto key(const Choice& row) { return std::tuple(row.ground, row.operation, row.ranks, row.bytes); }

// What always works, the best first.
constexpr std::array kPlain{Algorithm::hierarchical, Algorithm::direct, Algorithm::staged,
                            Algorithm::ring,         Algorithm::tree,   Algorithm::rabenseifner,
                            Algorithm::pairwise,     Algorithm::linear, Algorithm::doubling};

// The largest segment that goes with windows of `window` bytes; 0: any.
std::uint64_t most_of_window(const Shape& shape, Algorithm algorithm, std::uint64_t window) {
  switch (algorithm) {
    // Two cells of a segment, and two of a share of it.
    case Algorithm::staged:
    case Algorithm::hierarchical: return std::max<std::uint64_t>(window / 4, 4096);
    // Two cells of a share.
    case Algorithm::direct:
      return shape.operation == Operation::reduce ? std::max<std::uint64_t>(window / 2, 4096) : 0;
    default: return 0;
  }
}

// Phases of an operation are numbered in few bits by those who run plans, which have up
// to three parts of so many.
constexpr std::uint64_t kMostSegments = std::uint64_t{1} << 18;
static_assert(3 * (kMostSegments + 1) < kLastPhase);

// What segments are taken of: pieces of all blocks go together, as long as the largest lasts.
std::uint64_t cut_elements(const Shape& shape) {
  switch (shape.operation) {
    case Operation::scatter:
    case Operation::gather:
    case Operation::all_gather:
    case Operation::reduce_scatter: return shape.blocks.largest() * shape.ranks;
    default: return largest_buffer(shape);
  }
}

}  // namespace

std::string_view name(Ground ground) {
  switch (ground) {
    case Ground::arena: return "arena";
    case Ground::readable: return "readable";
    case Ground::windows: return "windows";
    case Ground::links: return "links";
    case Ground::hosts: return "hosts";
  }
  return "unknown";
}

bool is_possible_on(Ground ground, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::direct: return ground == Ground::arena || ground == Ground::readable;
    case Algorithm::staged:
    case Algorithm::flat: return ground != Ground::links && ground != Ground::hosts;
    case Algorithm::hierarchical: return ground == Ground::hosts;
    default: return true;
  }
}

Result<ChoiceTable> ChoiceTable::make(std::vector<Choice> rows) {
  for (const Choice& row : rows) {
    const Shape shape = Shape::equal(row.operation, 2, 0, 1);
    const bool is_direct_barrier =
        row.operation == Operation::barrier && row.ground == Ground::windows;
    if (!is_possible(shape, row.algorithm) ||
        (!is_possible_on(row.ground, row.algorithm) && !is_direct_barrier)) {
      return Error(Code::invalid, "read the table of choices: " + std::string(name(row.operation)) +
                                      " cannot be done by " + std::string(name(row.algorithm)) +
                                      " on " + std::string(name(row.ground)) + "; correct the row");
    }
  }
  // Rows of one key stay in order. (std::stable_sort uses what C++17 has deprecated.)
  const auto is_less = [](const Choice& a, const Choice& b) { return key(a) < key(b); };
  for (auto next = rows.begin(); next != rows.end(); ++next) {
    std::rotate(std::upper_bound(rows.begin(), next, *next, is_less), next, next + 1);
  }
  ChoiceTable table;
  table.rows_ = std::move(rows);
  return table;
}

const ChoiceTable& ChoiceTable::standard(ProcessorMaker maker) {
  const auto make_for = [](ProcessorMaker whose) {
    Result<ChoiceTable> made = make(rows_for(whose));
    MUSTER_CHECK(made.has_value(), "the table in the tree has a row that cannot be");
    return *std::move(made);
  };
  static const ChoiceTable kIntel = make_for(ProcessorMaker::intel);
  static const ChoiceTable kOther = make_for(ProcessorMaker::other);
  return maker == ProcessorMaker::intel ? kIntel : kOther;
}

const Choice* ChoiceTable::find(Ground ground, Operation operation, Rank ranks,
                                std::uint64_t bytes) const {
  const Choice* found = nullptr;
  for (const Choice& row : rows_) {
    if (row.ground != ground || row.operation != operation || row.bytes < bytes) continue;
    // Rows go up: the first of more ranks is better only if they are not too many.
    const bool is_first = found == nullptr;
    const bool is_closer = !is_first && row.ranks > found->ranks && row.ranks <= ranks;
    if (is_first || is_closer) found = &row;
  }
  return found;
}

Method ChoiceTable::choose(const Shape& shape, std::size_t size, Ground ground, const Hosts& hosts,
                           std::uint64_t window) const {
  const std::uint64_t bytes = largest_buffer(shape) * size;
  Method method;
  method.grain = std::max<std::uint64_t>(64 / size, 1);
  const auto can_be = [&](Algorithm algorithm) {
    if (algorithm == Algorithm::flat && bytes > window) return false;
    const bool is_barrier = shape.operation == Operation::barrier && ground == Ground::windows;
    return is_possible(shape, algorithm, hosts) &&
           (is_possible_on(ground, algorithm) || is_barrier);
  };
  const Choice* const row = find(ground, shape.operation, shape.ranks, bytes);
  std::uint64_t segment = row != nullptr ? row->segment : std::uint64_t{256} << 10;
  if (row != nullptr && can_be(row->algorithm)) {
    method.algorithm = row->algorithm;
  } else {
    method.algorithm = *std::find_if(kPlain.begin(), kPlain.end(), can_be);
  }
  if (const std::uint64_t most = most_of_window(shape, method.algorithm, window); most > 0) {
    if (segment == 0 || segment > most) segment = most;
  }
  if (segment != 0) segment = std::max(segment, cut_elements(shape) * size / kMostSegments);
  method.segment = segment == 0 ? 0 : std::max<std::uint64_t>(segment / size, 1);
  return method;
}

}  // namespace muster::collectives

#include "muster/collectives/shape.h"

#include <algorithm>
#include <utility>

namespace muster::collectives {

std::string_view name(Operation operation) {
  switch (operation) {
    case Operation::barrier: return "barrier";
    case Operation::broadcast: return "broadcast";
    case Operation::scatter: return "scatter";
    case Operation::gather: return "gather";
    case Operation::reduce: return "reduce";
    case Operation::all_reduce: return "all_reduce";
    case Operation::all_gather: return "all_gather";
    case Operation::reduce_scatter: return "reduce_scatter";
    case Operation::all_to_all: return "all_to_all";
  }
  return "unknown";
}

Blocks Blocks::equal(Rank ranks, std::uint64_t count) {
  return uneven(std::vector<std::uint64_t>(ranks, count));
}

Blocks Blocks::uneven(std::vector<std::uint64_t> counts) {
  std::uint64_t end = 0;
  for (std::uint64_t& count : counts) count = end += count;
  Blocks made;
  made.ends_ = std::move(counts);
  return made;
}

Blocks Blocks::shares(std::uint64_t total, Rank ranks, std::uint64_t grain) {
  const std::uint64_t grains = (total + grain - 1) / grain;
  Blocks made;
  made.ends_.reserve(ranks);
  std::uint64_t end = 0;
  for (Rank i = 0; i < ranks; ++i) {
    end += grains / ranks + (i < grains % ranks ? 1 : 0);
    made.ends_.push_back(std::min(end * grain, total));
  }
  return made;
}

std::uint64_t Blocks::largest() const {
  std::uint64_t found = 0;
  for (Rank i = 0; i < ranks(); ++i) found = std::max(found, count(i));
  return found;
}

Slice Blocks::span(Place place, Rank first, Rank last) const {
  return {place, offset(first), (last == 0 ? 0 : ends_[last - 1]) - offset(first)};
}

Shape Shape::equal(Operation operation, Rank ranks, Rank rank, std::uint64_t count, Rank root) {
  Shape shape;
  shape.operation = operation;
  shape.ranks = ranks;
  shape.rank = rank;
  shape.root = root;
  shape.count = count;
  shape.blocks = Blocks::equal(ranks, count);
  if (operation == Operation::all_to_all) {
    shape.receives = shape.blocks;
    shape.peer_offsets.assign(ranks, rank * count);
  }
  return shape;
}

std::uint64_t largest_buffer(const Shape& shape) {
  switch (shape.operation) {
    case Operation::barrier: return 0;
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::all_reduce: return shape.count;
    case Operation::all_to_all: return std::max(shape.blocks.total(), shape.receives.total());
    default: return shape.blocks.total();
  }
}

std::uint64_t input_count(const Shape& shape) {
  switch (shape.operation) {
    case Operation::barrier: return 0;
    case Operation::broadcast: return shape.is_root() ? shape.count : 0;
    case Operation::reduce:
    case Operation::all_reduce: return shape.count;
    case Operation::scatter: return shape.is_root() ? shape.blocks.total() : 0;
    case Operation::gather:
    case Operation::all_gather: return shape.blocks.count(shape.rank);
    case Operation::reduce_scatter:
    case Operation::all_to_all: return shape.blocks.total();
  }
  return 0;
}

std::uint64_t result_count(const Shape& shape) {
  switch (shape.operation) {
    case Operation::barrier: return 0;
    case Operation::broadcast: return shape.is_root() ? 0 : shape.count;
    case Operation::reduce: return shape.is_root() ? shape.count : 0;
    case Operation::all_reduce: return shape.count;
    case Operation::scatter:
    case Operation::reduce_scatter: return shape.blocks.count(shape.rank);
    case Operation::gather: return shape.is_root() ? shape.blocks.total() : 0;
    case Operation::all_gather: return shape.blocks.total();
    case Operation::all_to_all: return shape.receives.total();
  }
  return 0;
}

}  // namespace muster::collectives

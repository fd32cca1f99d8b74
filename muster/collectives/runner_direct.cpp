// A plan's direct steps: reading other ranks' memory where it lies.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/base/crash_point.h"
#include "muster/collectives/kernels.h"
#include "muster/collectives/runner.h"

namespace muster::collectives::internal {
namespace {

// As much of each rank at a time as stays in the second cache.
constexpr std::uint64_t kTile = std::uint64_t{64} << 10;

}  // namespace

Result<Runner::Source> Runner::find(Rank peer, const Slice& slice) {
  Source source;
  source.peer = peer;
  if (peer == crew_.rank()) {
    source.direct = at(slice);
    return source;
  }
  const Exposure& exposure = *exposures_[peer];
  const Region& region = slice.place == Place::input    ? exposure.input
                         : slice.place == Place::result ? exposure.result
                                                        : exposure.window;
  const std::uint64_t offset = slice.offset * size_of(call_.element);
  if (slice.count == 0) return source;
  if (offset > region.bytes || bytes(slice) > region.bytes - offset) {
    return Error(Code::invalid, fmt::format("rank {} shows too little memory", crew_.called(peer)));
  }
  if (region.kind == Region::Kind::arena) {
    MUSTER_TRY(source.keep, crew_.segment(peer, region.segment));
    const std::uint64_t size = source.keep->size();
    if (region.place > size || offset + bytes(slice) > size - region.place) {
      return Error(Code::invalid,
                   fmt::format("rank {} shows memory that it has not", crew_.called(peer)));
    }
    source.direct = source.keep->base() + region.place + offset;
    return source;
  }
  if (region.kind != Region::Kind::private_memory || !crew_.may_read_private()) {
    return Error(Code::invalid, fmt::format("rank {} shows no memory", crew_.called(peer)));
  }
  // Also of a rank that is another thread of this process: it may give up, and the memory be gone.
  source.pid = crew_.pid_of(peer);
  source.address = region.place + offset;
  return source;
}

Status Runner::read(const Source& source, std::uint64_t offset, std::byte* to,
                    std::uint64_t bytes) {
  if (read_memory(source.pid, source.address + offset, to, bytes)) return ok();
  return crew_.await_trouble(
      fmt::format("the memory of rank {} is gone", crew_.called(source.peer)));
}

Status Runner::fetch(const Step& step) {
  MUSTER_TRY(const Source source, find(step.peer, step.from));
  const std::uint64_t size = bytes(step.to);
  if (size == 0) return ok();
  MUSTER_CRASH_POINT();
  if (source.direct == nullptr) return read(source, 0, at(step.to), size);
  if (source.direct != at(step.to)) {
    collectives::copy(source.direct, at(step.to), size, stores_for(step));
  }
  return ok();
}

Status Runner::combine_group(const Plan& plan, const Step& step) {
  if (step.to.count == 0) return ok();
  const std::vector<Rank>& group = plan.groups[step.group];
  std::vector<Source> sources;
  sources.reserve(group.size());
  for (const Rank peer : group) {
    MUSTER_TRY(Source source, find(peer, step.from));
    sources.push_back(std::move(source));
  }
  MUSTER_CRASH_POINT();
  return combine_tiles(step, sources, group.size());
}

Status Runner::combine_tiles(const Step& step, const std::vector<Source>& sources,
                             std::size_t ranks) {
  const std::uint64_t element = size_of(call_.element);
  const bool is_direct =
      std::ranges::all_of(sources, [](const Source& one) { return one.direct != nullptr; });
  const std::uint64_t total = bytes(step.to);
  const std::uint64_t tile = is_direct ? total : std::min(total, kTile / element * element);
  if (!is_direct && workshop_.tiles.size() < tile * ranks) workshop_.tiles.resize(tile * ranks);
  const Stores stores = stores_for(step);
  std::vector<const std::byte*> pointers(ranks);
  std::byte* const to = at(step.to);
  for (std::uint64_t offset = 0; offset < total; offset += tile) {
    const std::uint64_t size = std::min(tile, total - offset);
    for (std::size_t i = 0; i < ranks; ++i) {
      if (sources[i].direct != nullptr) {
        pointers[i] = sources[i].direct + offset;
        continue;
      }
      std::byte* const here = workshop_.tiles.data() + i * tile;
      MUSTER_TRY_OK(read(sources[i], offset, here, size));
      pointers[i] = here;
    }
    if (step.is_final) {
      combine_all(call_.reduction, call_.element, pointers, to + offset, size / element,
                  crew_.size(), stores);
    } else {
      combine(call_.reduction, call_.element, pointers, to + offset, size / element, stores);
    }
  }
  return ok();
}

}  // namespace muster::collectives::internal

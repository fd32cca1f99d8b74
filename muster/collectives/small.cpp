#include "muster/collectives/small.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "muster/collectives/kernels.h"

namespace muster::collectives::internal {
namespace {

// Beyond, it pays to have each rank reduce a share.
constexpr std::uint64_t kMostToReduce = 4096;

std::uint64_t total_bytes(const Call& call, Rank ranks) {
  return call.block_offset(ranks - 1) + call.block_bytes(ranks - 1);
}

// Where rank `to`'s block begins among what `from` sends.
std::uint64_t sent_offset(const Call& call, Rank ranks, Rank from, Rank to) {
  if (!call.is_uneven) return call.block_offset(to);
  const auto row = call.table.begin() + static_cast<std::ptrdiff_t>(from) * ranks;
  return std::accumulate(row, row + to, std::uint64_t{0}) * size_of(call.element);
}

std::uint64_t most_sent(const Call& call, Rank ranks) {
  if (!call.is_uneven) return call.count * ranks * size_of(call.element);
  std::uint64_t most = 0;
  for (Rank from = 0; from < ranks; ++from) {
    const auto row = call.table.begin() + static_cast<std::ptrdiff_t>(from) * ranks;
    most = std::max(most, std::accumulate(row, row + ranks, std::uint64_t{0}));
  }
  return most * size_of(call.element);
}

std::uint64_t largest_block(const Call& call) {
  if (!call.is_uneven) return call.count * size_of(call.element);
  return *std::ranges::max_element(call.counts) * size_of(call.element);
}

void put(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

// The same where the two may overlap.
void move(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes > 0 && to != from) std::memmove(to, from, bytes);
}

// From byte `begin` to before byte `end`.
struct Extent {
  std::uint64_t begin;
  std::uint64_t end;
};

class Small {
 public:
  Small(Crew& crew, const Call& call)
      : crew_(crew), call_(call), ranks_(crew.size()), rank_(crew.rank()) {}

  Status run() {
    const bool is_root = rank_ == call_.root;
    switch (call_.operation) {
      case Operation::barrier: MUSTER_TRY_OK(show(0)); return meet_all();
      case Operation::broadcast: return broadcast(is_root);
      case Operation::scatter: return scatter(is_root);
      case Operation::gather:
        MUSTER_TRY_OK(show(is_root ? 0 : call_.block_bytes(rank_)));
        return is_root ? gather() : ok();
      case Operation::all_gather: MUSTER_TRY_OK(show(call_.block_bytes(rank_))); return gather();
      case Operation::reduce:
        MUSTER_TRY_OK(show(call_.block_bytes(rank_)));
        return is_root ? reduce(0, call_.count) : ok();
      case Operation::all_reduce:
        MUSTER_TRY_OK(show(call_.block_bytes(rank_)));
        return reduce(0, call_.count);
      case Operation::reduce_scatter:
        MUSTER_TRY_OK(show(total_bytes(call_, ranks_)));
        return reduce(call_.block_offset(rank_), call_.block_bytes(rank_) / size_of(call_.element));
      case Operation::all_to_all: return all_to_all();
    }
    return ok();
  }

 private:
  // Shows the first `bytes` of the input.
  Status show(std::uint64_t bytes) {
    MUSTER_TRY(own_, crew_.slot());
    put(own_->payload, call_.input, bytes);
    post();
    return ok();
  }

  // The same but for `own`, which nobody else needs: a line that others have read has to be
  // fetched back before it is written.
  Status show_around(Extent own, std::uint64_t bytes) {
    MUSTER_TRY(own_, crew_.slot());
    put(own_->payload, call_.input, own.begin);
    put(own_->payload + own.end, call_.input + own.end, bytes - own.end);
    post();
    return ok();
  }

  // A user's function may take its time, and nobody has to sleep through it.
  void post() {
    if (call_.reduction.kind() == Reduction::Kind::user) {
      crew_.post();
    } else {
      crew_.post_quietly();
    }
  }

  // What `rank` shows.
  Result<const std::byte*> payload(Rank rank) {
    if (rank == rank_) return static_cast<const std::byte*>(own_->payload);
    MUSTER_TRY(const Slot* slot, crew_.peer_slot(rank));
    return static_cast<const std::byte*>(slot->payload);
  }

  // What `rank` has brought; of this one it is where it was, and need not be shown.
  Result<const std::byte*> contribution(Rank rank) {
    return rank == rank_ ? call_.input : payload(rank);
  }

  Status meet_all() {
    for (Rank rank = 0; rank < ranks_; ++rank) MUSTER_TRY_OK(payload(rank));
    return ok();
  }

  Status broadcast(bool is_root) {
    const std::uint64_t bytes = call_.block_bytes(0);
    MUSTER_TRY_OK(show(is_root ? bytes : 0));
    if (is_root) return ok();
    MUSTER_TRY(const std::byte* from, payload(call_.root));
    put(call_.result, from, bytes);
    return ok();
  }

  Status scatter(bool is_root) {
    const std::uint64_t begin = call_.block_offset(rank_);
    const std::uint64_t bytes = call_.block_bytes(rank_);
    if (is_root) {
      MUSTER_TRY_OK(show_around({begin, begin + bytes}, total_bytes(call_, ranks_)));
      put(call_.result, call_.input + begin, bytes);
      return ok();
    }
    MUSTER_TRY_OK(show(0));
    MUSTER_TRY(const std::byte* from, payload(call_.root));
    put(call_.result, from + begin, bytes);
    return ok();
  }

  Status gather() {
    for (Rank rank = 0; rank < ranks_; ++rank) {
      MUSTER_TRY(const std::byte* from, contribution(rank));
      put(call_.result + call_.block_offset(rank), from, call_.block_bytes(rank));
    }
    return ok();
  }

  Status reduce(std::uint64_t offset, std::uint64_t count) {
    std::vector<const std::byte*> sources = std::exchange(kept_sources_, {});
    sources.resize(ranks_);
    for (Rank rank = 0; rank < ranks_; ++rank) {
      MUSTER_TRY(const std::byte* from, payload(rank));
      sources[rank] = from + offset;
    }
    if (count == 0) return ok();
    combine_all(call_.reduction, call_.element, sources, call_.result, count, ranks_);
    kept_sources_ = std::move(sources);
    return ok();
  }

  Status all_to_all() {
    const std::uint64_t own = sent_offset(call_, ranks_, rank_, rank_);
    MUSTER_TRY_OK(
        show_around({own, own + received(rank_)}, sent_offset(call_, ranks_, rank_, ranks_)));
    std::uint64_t at = 0;
    for (Rank rank = 0; rank < rank_; ++rank) at += received(rank);
    // First, since in place what comes from others may lie where it was.
    move(call_.result + at, call_.input + own, received(rank_));
    at = 0;
    for (Rank rank = 0; rank < ranks_; at += received(rank++)) {
      if (rank == rank_) continue;
      MUSTER_TRY(const std::byte* from, payload(rank));
      put(call_.result + at, from + sent_offset(call_, ranks_, rank, rank_), received(rank));
    }
    return ok();
  }

  // Bytes that `rank` sends to this one in an all-to-all.
  std::uint64_t received(Rank rank) const {
    return (call_.is_uneven ? call_.receives[rank] : call_.count) * size_of(call_.element);
  }

  // Kept, so that an operation of a few bytes allocates nothing. Taken while it is in use: a
  // user's function may call an operation of another communicator.
  static thread_local std::vector<const std::byte*> kept_sources_;

  Crew& crew_;
  const Call& call_;
  const Rank ranks_;
  const Rank rank_;
  Slot* own_ = nullptr;
};

thread_local std::vector<const std::byte*> Small::kept_sources_;

}  // namespace

bool is_small(const Call& call, Rank ranks) {
  switch (call.operation) {
    case Operation::barrier: return true;
    case Operation::broadcast: return call.block_bytes(0) <= kPayload;
    case Operation::scatter: return total_bytes(call, ranks) <= kPayload;
    case Operation::gather:
    case Operation::all_gather: return largest_block(call) <= kPayload;
    case Operation::reduce:
    case Operation::all_reduce: return call.block_bytes(0) <= kMostToReduce;
    case Operation::reduce_scatter: return total_bytes(call, ranks) <= kPayload;
    case Operation::all_to_all: return most_sent(call, ranks) <= kPayload;
  }
  return false;
}

Status run_small(Crew& crew, const Call& call) { return Small(crew, call).run(); }

}  // namespace muster::collectives::internal

// What passes between two ranks beside the operations, and by reference.

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "muster/collectives/communicator_core.h"

namespace muster::collectives {
namespace internal {

// To all others from `root`, or from everybody.
Result<std::vector<Buffer>> CommunicatorCore::share(Buffer mine, std::optional<Rank> root) {
  return inside([&]() -> Result<std::vector<Buffer>> {
    if (root && *root >= size_) {
      return refuse(
          Error(Code::invalid, fmt::format("share: there is no rank {} to be the root", *root)));
    }
    std::vector<Buffer> all;
    const auto work = [&] { return share_over_crew(mine, root, all); };
    if (manners_.elastic) {
      MUSTER_TRY_OK(do_together(work));
      return all;
    }
    MUSTER_TRY_OK(work());
    count_completed();
    return all;
  });
}

Status CommunicatorCore::share_over_crew(const Buffer& mine, std::optional<Rank> root,
                                         std::vector<Buffer>& all) {
  if (root) {
    const auto found = find(*root);
    is_recoverable_ = found.has_value();
    if (!found) return found.error();
  }
  Description what;
  what.deed = root ? Deed::share : Deed::all_share;
  what.root = root.value_or(0);
  all.assign(size_, Buffer());
  MUSTER_TRY_OK(crew_->begin(what));
  const bool gives = !root || *root == rank_;
  for (Rank peer = 0; gives && peer < crew_->size(); ++peer) {
    if (peer != crew_->rank()) crew_->send(peer, mine);
  }
  if (gives) all[rank_] = mine;
  for (Rank peer = 0; peer < crew_->size(); ++peer) {
    if (peer == crew_->rank() || (root && *root != alive_[peer])) continue;
    Result<Buffer> part = crew_->receive(peer);
    if (!part) return crew_->fail(part.error());
    all[alive_[peer]] = *std::move(part);
  }
  if (const Status sent = crew_->check_sent(); !sent) return crew_->fail(sent.error());
  crew_->end();
  return ok();
}

Result<std::pair<std::shared_ptr<Crew>, Rank>> CommunicatorCore::find(Rank rank) const {
  const loop::Turn turn(fabric_->loop());
  const auto found = std::ranges::lower_bound(alive_, rank);
  if (found == alive_.end() || *found != rank) {
    return Error(Code::unavailable, fmt::format("rank {} ({}) was lost", rank, members_[rank]));
  }
  return std::pair(crew_, static_cast<Rank>(found - alive_.begin()));
}

std::vector<Rank> CommunicatorCore::lost() const {
  const loop::Turn turn(fabric_->loop());
  const std::shared_ptr<Crew> crew = crew_;
  std::vector<bool> is_here(size_);
  for (const Rank rank : alive_) is_here[rank] = true;
  for (const Rank rank : crew->lost()) is_here[alive_[rank]] = false;
  std::vector<Rank> lost;
  for (Rank rank = 0; rank < size_; ++rank) {
    if (!is_here[rank]) lost.push_back(rank);
  }
  return lost;
}

}  // namespace internal

namespace {

Error nothing_there(std::string_view attempt, std::uint64_t count) {
  return {Code::invalid, fmt::format("{}: {} elements at no address", attempt, count)};
}

}  // namespace

Status Communicator::send(Input data, Rank to, std::uint32_t tag, const msg::Wait& wait) {
  if (to >= size()) return Error(Code::invalid, fmt::format("send: there is no rank {}", to));
  if (data.data == nullptr && data.count > 0) return nothing_there("send", data.count);
  MUSTER_TRY(const auto there, core_->find(to));
  Description what;
  what.element = data.element;
  what.count = data.count;
  if (const Status fits = there.first->check_size(there.second, data.bytes()); !fits) {
    return fits.error().during("send");
  }
  const std::span bytes(static_cast<const std::byte*>(data.data), data.bytes());
  return there.first->send_message(there.second, tag, what, Buffer::copy_of(bytes), wait);
}

Status Communicator::receive(Output data, Rank from, std::uint32_t tag, const msg::Wait& wait) {
  if (from >= size()) {
    return Error(Code::invalid, fmt::format("receive: there is no rank {}", from));
  }
  if (data.data == nullptr && data.count > 0) return nothing_there("receive", data.count);
  MUSTER_TRY(const auto there, core_->find(from));
  Description what;
  MUSTER_TRY(const Buffer part, there.first->receive_message(there.second, tag, what, wait));
  if (what.element != data.element || what.count != data.count || part.size() != data.bytes()) {
    const auto element = element_of_number(static_cast<std::uint8_t>(what.element));
    return Error(Code::invalid, fmt::format("receive: rank {} sent {} x {}, expected were {} x {}",
                                            from, what.count, element ? name(*element) : "unknown",
                                            data.count, name(data.element)));
  }
  if (!part.empty()) std::memcpy(data.data, part.data(), part.size());
  return ok();
}

}  // namespace muster::collectives

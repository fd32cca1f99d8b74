#include "muster/collectives/runner.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "muster/collectives/kernels.h"

namespace muster::collectives::internal {
namespace {

// Messages up to here are copied, so that nobody waits for them to leave.
constexpr std::uint64_t kCopied = std::uint64_t{16} << 10;

Stores stores_for(const Step& step, std::uint64_t bytes) {
  return step.is_stream && bytes >= kStreamingBytes / 4 ? Stores::streaming : Stores::cached;
}

}  // namespace

Status Runner::run(const Plan& plan) {
  MUSTER_TRY_OK(prepare(plan));
  Status outcome = ok();
  for (const Step& next : plan.steps) {
    outcome = step(plan, next);
    if (!outcome) break;
  }
  return finish_up(plan, outcome);
}

Status Runner::prepare(const Plan& plan) {
  const Shape shape = call_.shape(crew_.size(), crew_.rank());
  input_ = call_.input;
  result_ = call_.result;
  input_bytes_ = input_ != nullptr ? input_count(shape) * size_of(call_.element) : 0;
  result_bytes_ = result_ != nullptr ? result_count(shape) * size_of(call_.element) : 0;
  const std::uint64_t scratch = plan.scratch * size_of(call_.element);
  if (workshop_.scratch.size() < scratch) workshop_.scratch.resize(scratch);
  if (crew_.own_desk() == nullptr) return ok();
  exposures_.resize(crew_.size());
  MUSTER_TRY_OK(prepare_window(plan.window * size_of(call_.element)));
  if (plan.is_exposed) MUSTER_TRY_OK(move_into_arena(plan));
  return expose(plan);
}

Status Runner::prepare_window(std::uint64_t bytes) {
  window_bytes_ = bytes;
  if (bytes == 0) return ok();
  const std::uint64_t finished = crew_.finished_by_all();
  for (Workshop::Window& window : workshop_.windows) {
    if (window.memory.size() < bytes || window.used_in > finished) continue;
    window.used_in = number_;
    window_ = window.memory.data();
    return ok();
  }
  // Those that are too small will never do again.
  std::erase_if(workshop_.windows, [&](const Workshop::Window& window) {
    return window.memory.size() < bytes && window.used_in <= finished;
  });
  MUSTER_TRY(WritableBuffer memory, crew_.fabric().allocate(bytes));
  window_ = memory.data();
  workshop_.windows.push_back({std::move(memory), number_});
  return ok();
}

// Where nobody may read this process, what is to be read moves to where all can.
Status Runner::move_into_arena(const Plan&) {
  if (crew_.may_read_private()) return ok();
  const bool is_one = input_ == result_;
  if (input_bytes_ > 0 && !crew_.is_known(input_, input_bytes_)) {
    MUSTER_TRY(arena_input_, crew_.fabric().allocate(input_bytes_));
    copy(input_, arena_input_.data(), input_bytes_);
    input_ = arena_input_.data();
  }
  if (result_bytes_ > 0 && !crew_.is_known(result_, result_bytes_)) {
    if (is_one && arena_input_.size() > 0) {
      result_ = arena_input_.data();
    } else {
      MUSTER_TRY(arena_result_, crew_.fabric().allocate(result_bytes_));
      result_ = arena_result_.data();
    }
  }
  return ok();
}

Result<Region> Runner::region_of(const std::byte* data, std::uint64_t bytes) {
  Region region;
  if (data == nullptr || bytes == 0) return region;
  region.bytes = bytes;
  if (const auto place = crew_.find_own(data, bytes)) {
    region.kind = Region::Kind::arena;
    region.segment = place->first;
    region.place = place->second;
    return region;
  }
  if (!crew_.may_read_private()) {
    return Error(Code::unsupported, "the ranks of this host cannot read each other's memory");
  }
  region.kind = Region::Kind::private_memory;
  region.place = reinterpret_cast<std::uint64_t>(data);
  return region;
}

Status Runner::expose(const Plan& plan) {
  MUSTER_TRY(Slot* const slot, crew_.slot());
  Exposure exposure;
  if (plan.is_exposed) {
    MUSTER_TRY(exposure.input, region_of(input_, input_bytes_));
    MUSTER_TRY(exposure.result, region_of(result_, result_bytes_));
  }
  MUSTER_TRY(exposure.window, region_of(window_, window_bytes_));
  std::memcpy(slot->payload, &exposure, sizeof exposure);
  crew_.post();
  return ok();
}

Status Runner::finish_up(const Plan& plan, const Status& outcome) {
  MUSTER_TRY_OK(outcome);
  if (crew_.own_desk() != nullptr && plan.is_exposed) MUSTER_TRY_OK(crew_.check_unspoilt());
  if (crew_.has_unsettled()) MUSTER_TRY_OK(crew_.settle());
  if (result_ != call_.result && result_bytes_ > 0) copy(result_, call_.result, result_bytes_);
  return ok();
}

std::byte* Runner::at(const Slice& slice) const {
  const std::uint64_t offset = slice.offset * size_of(call_.element);
  switch (slice.place) {
    case Place::input: return const_cast<std::byte*>(input_) + offset;
    case Place::result: return result_ + offset;
    case Place::scratch: return workshop_.scratch.data() + offset;
    case Place::window: return window_ + offset;
  }
  return nullptr;
}

Status Runner::step(const Plan& plan, const Step& step) {
  switch (step.kind) {
    case Step::Kind::send: lend_and_send(step); return ok();
    case Step::Kind::receive:
    case Step::Kind::receive_reduce: return receive(step);
    case Step::Kind::settle: return crew_.has_unsettled() ? crew_.settle() : ok();
    case Step::Kind::copy:
      if (step.to.count > 0 && at(step.from) != at(step.to)) {
        copy(at(step.from), at(step.to), bytes(step.to), stores_for(step, bytes(step.to)));
      }
      return ok();
    case Step::Kind::reduce:
      reduce(at(step.from), at(step.to), step.to.count, step.is_left);
      return ok();
    case Step::Kind::finish:
      if (step.to.count > 0) {
        finish(call_.reduction, call_.element, at(step.to), step.to.count, crew_.size());
      }
      return ok();
    case Step::Kind::publish:
      if (plan.is_exposed) MUSTER_TRY_OK(crew_.check_unspoilt());
      crew_.publish(step.phase);
      return ok();
    case Step::Kind::wait: return wait(plan.groups[step.group], step.phase);
    case Step::Kind::fetch: return fetch(step);
    case Step::Kind::combine: return combine_group(plan, step);
  }
  return ok();
}

void Runner::lend_and_send(const Step& step) {
  const std::span<const std::byte> slice(at(step.from), bytes(step.from));
  if (slice.size() <= kCopied) return crew_.send(step.peer, Buffer::copy_of(slice));
  crew_.send(step.peer, crew_.lend(slice));
}

Status Runner::receive(const Step& step) {
  MUSTER_TRY(const Buffer part, crew_.receive(step.peer));
  if (part.size() != bytes(step.to)) {
    return Error(Code::invalid, fmt::format("rank {} sent {} bytes where {} were expected",
                                            step.peer, part.size(), bytes(step.to)));
  }
  if (part.empty()) return ok();
  if (step.kind == Step::Kind::receive) {
    copy(part.data(), at(step.to), part.size());
  } else {
    reduce(part.data(), at(step.to), step.to.count, step.is_left);
  }
  return ok();
}

void Runner::reduce(const std::byte* other, std::byte* to, std::uint64_t count, bool is_left) {
  if (count == 0) return;
  const std::byte* const left = is_left ? other : to;
  const std::byte* const right = is_left ? to : other;
  const std::byte* const sources[] = {left, right};
  combine(call_.reduction, call_.element, sources, to, count);
}

Status Runner::wait(const std::vector<Rank>& group, std::uint32_t phase) {
  for (const Rank peer : group) {
    if (peer == crew_.rank()) continue;
    if (!exposures_[peer]) {
      MUSTER_TRY(const Slot* slot, crew_.peer_slot(peer));
      std::memcpy(&exposures_[peer].emplace(), slot->payload, sizeof(Exposure));
    }
    MUSTER_TRY_OK(crew_.await_phase(peer, phase));
  }
  return ok();
}

}  // namespace muster::collectives::internal

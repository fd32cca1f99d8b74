#include "muster/collectives/runner.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "muster/collectives/kernels.h"

namespace muster::collectives::internal {
namespace {

// What a rank has for all its operations that go through windows.
constexpr std::uint64_t kWindow = std::uint64_t{4} << 20;
// Messages up to here are copied, so that nobody waits for them to leave.
constexpr std::uint64_t kCopied = std::uint64_t{16} << 10;
// What is copied at a time while messages are under way.
constexpr std::uint64_t kPiece = std::uint64_t{256} << 10;

bool passes_messages(const Step& step) {
  return step.kind == Step::Kind::send || step.kind == Step::Kind::receive ||
         step.kind == Step::Kind::receive_reduce;
}

}  // namespace

Runner::Runner(Crew& crew, Workshop& workshop, const Call& call, const Shape& shape)
    : crew_(crew),
      workshop_(workshop),
      call_(call),
      shape_(shape),
      input_(call.input),
      result_(call.result) {
  if (input_ != nullptr) input_bytes_ = input_count(shape) * size_of(call.element);
  if (result_ != nullptr) result_bytes_ = result_count(shape) * size_of(call.element);
}

Status Runner::run() {
  // By what all know alike: a rank may be alone on its host where others are not.
  const bool is_apart = std::ranges::max(crew_.hosts()) + 1 == crew_.size();
  if (is_apart) return run(plan_for(Ground::links));
  exposures_.resize(crew_.size());
  MUSTER_TRY_OK(crew_.make_window(kWindow));
  if (crew_.is_one_host()) {
    MUSTER_TRY_OK(show());
    MUSTER_TRY(const Ground ground, see_all());
    return run(plan_for(ground));
  }
  const Plan& plan = plan_for(Ground::hosts);
  if (crew_.own_desk() == nullptr) return run(plan);
  if (plan.is_exposed) MUSTER_TRY_OK(move_into_arena());
  MUSTER_TRY_OK(show());
  for (Rank peer = 0; plan.window > 0 && peer < crew_.size(); ++peer) {
    if (peer != crew_.rank() && crew_.is_here(peer)) MUSTER_TRY_OK(see(peer));
  }
  return run(plan);
}

const Plan& Runner::plan_for(Ground ground) {
  const std::size_t size = size_of(call_.element);
  return workshop_.plans.find({crew_.context(), ground, size}, shape_, [&] {
    const Hosts hosts = crew_.is_one_host() ? Hosts{} : crew_.hosts();
    const ChoiceTable* const given = crew_.fabric().options().choices;
    const ChoiceTable& choices = given != nullptr ? *given : ChoiceTable::standard(maker_);
    return make_plan(shape_, choices.choose(shape_, size, ground, hosts, kWindow), hosts);
  });
}

Status Runner::run(const Plan& plan) {
  const std::uint64_t scratch = plan.scratch * size_of(call_.element);
  if (workshop_.scratch.size() < scratch) workshop_.scratch.resize(scratch);
  if (plan.window * size_of(call_.element) > kWindow) {
    return Error(Code::internal, "a plan wants a larger window than there is");
  }
  const auto locate = [this](const Slice& slice) {
    const auto begin = reinterpret_cast<std::uintptr_t>(at(slice));
    return Ahead::Extent{begin, begin + bytes(slice)};
  };
  const auto is_settled = [this](std::size_t send) { return crew_.is_settled(send); };
  Ahead ahead(plan, net::kLargePart / size_of(call_.element), locate, is_settled);
  const bool has_messages = std::ranges::any_of(plan.steps, &passes_messages);
  if (has_messages && crew_.is_one_host()) crew_.begin_messages();
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (ahead.is_of_use()) announce(ahead, i);
    if (i == 0 && has_messages) crew_.resume_messages();
    MUSTER_TRY_OK(step(plan, plan.steps[i]));
  }
  return finish_up();
}

// Large messages that come before their step find where they belong.
void Runner::announce(Ahead& ahead, std::size_t now) {
  while (const std::optional<Ahead::Landing> next = ahead.next(now)) {
    const Slice& to = next->step->to;
    crew_.expect(next->step->peer, next->index, {at(to), bytes(to)});
  }
}

// Where nobody may read this process, what is to be read moves to where all can.
Status Runner::move_into_arena() {
  if (crew_.may_read_private()) return ok();
  const bool is_one = input_ == result_;
  if (input_bytes_ > 0 && !crew_.is_known(input_, input_bytes_)) {
    MUSTER_TRY(workshop_.arena_input, crew_.fabric().allocate(input_bytes_));
    collectives::copy(input_, workshop_.arena_input.data(), input_bytes_);
    input_ = workshop_.arena_input.data();
  }
  if (result_bytes_ > 0 && !crew_.is_known(result_, result_bytes_)) {
    if (is_one && workshop_.arena_input.size() > 0) {
      result_ = workshop_.arena_input.data();
    } else {
      MUSTER_TRY(workshop_.arena_result, crew_.fabric().allocate(result_bytes_));
      result_ = workshop_.arena_result.data();
    }
  }
  return ok();
}

Region Runner::region_of(const std::byte* data, std::uint64_t bytes) const {
  Region region;
  if (data == nullptr || bytes == 0) return region;
  region.bytes = bytes;
  if (const auto place = crew_.find_own(data, bytes)) {
    region.kind = Region::Kind::arena;
    region.segment = place->first;
    region.place = place->second;
  } else {
    region.kind = Region::Kind::private_memory;
    region.place = reinterpret_cast<std::uint64_t>(data);
  }
  return region;
}

Status Runner::show() {
  MUSTER_TRY(Slot* const slot, crew_.slot());
  const Exposure exposure{.input = region_of(input_, input_bytes_),
                          .result = region_of(result_, result_bytes_),
                          .window = region_of(crew_.window(), kWindow),
                          .processors = static_cast<std::uint64_t>(processor_maker())};
  std::memcpy(slot->payload, &exposure, sizeof exposure);
  exposures_[crew_.rank()] = exposure;
  crew_.post();
  return ok();
}

Status Runner::see(Rank peer) {
  if (exposures_[peer]) return ok();
  MUSTER_TRY(const Slot* slot, crew_.peer_slot(peer));
  std::memcpy(&exposures_[peer].emplace(), slot->payload, sizeof(Exposure));
  return ok();
}

// Everybody sees the same, and so knows alike which methods there are.
Result<Ground> Runner::see_all() {
  bool is_arena = true;
  maker_ = processor_maker();
  for (Rank peer = 0; peer < crew_.size(); ++peer) {
    MUSTER_TRY_OK(see(peer));
    const auto same = static_cast<std::uint64_t>(maker_);
    if (exposures_[peer]->processors != same) maker_ = ProcessorMaker::other;
    for (const Region& region : {exposures_[peer]->input, exposures_[peer]->result}) {
      if (region.kind == Region::Kind::private_memory) is_arena = false;
    }
  }
  if (is_arena) return Ground::arena;
  return crew_.may_read_private() ? Ground::readable : Ground::windows;
}

Status Runner::finish_up() {
  if (crew_.own_desk() != nullptr) MUSTER_TRY_OK(crew_.check_unspoilt());
  if (crew_.has_unsettled()) MUSTER_TRY_OK(crew_.settle());
  MUSTER_TRY_OK(crew_.check_sent());
  if (result_ != call_.result && result_bytes_ > 0)
    collectives::copy(result_, call_.result, result_bytes_);
  return ok();
}

std::byte* Runner::at(const Slice& slice) const {
  const std::uint64_t offset = slice.offset * size_of(call_.element);
  switch (slice.place) {
    case Place::input: return const_cast<std::byte*>(input_) + offset;
    case Place::result: return result_ + offset;
    case Place::scratch: return workshop_.scratch.data() + offset;
    case Place::window: return crew_.window() + offset;
  }
  return nullptr;
}

Status Runner::step(const Plan& plan, const Step& step) {
  switch (step.kind) {
    case Step::Kind::send: lend_and_send(step); return ok();
    case Step::Kind::receive:
    case Step::Kind::receive_reduce: return receive(step);
    case Step::Kind::settle:
      return crew_.has_unsettled(step.phase) ? crew_.settle(step.phase) : ok();
    case Step::Kind::copy: copy(step); return ok();
    case Step::Kind::reduce: reduce(at(step.to), at(step.from), step); return ok();
    case Step::Kind::finish:
      if (step.to.count > 0) {
        finish(call_.reduction, call_.element, at(step.to), step.to.count, crew_.size());
      }
      return ok();
    case Step::Kind::publish:
      if (crew_.own_desk() == nullptr) return ok();  // Nobody is here to read it.
      if (plan.is_exposed) MUSTER_TRY_OK(crew_.check_unspoilt());
      crew_.publish(step.phase);
      return ok();
    case Step::Kind::wait: return wait(plan.groups[step.group], step.phase);
    case Step::Kind::fetch: return fetch(step);
    case Step::Kind::combine: return combine_group(plan, step);
  }
  return ok();
}

// Where messages are under way they move on between the pieces: the thread that copies
// is the one that drives them.
void Runner::copy(const Step& step) {
  const std::byte* const from = at(step.from);
  std::byte* const to = at(step.to);
  const std::uint64_t size = bytes(step.to);
  if (size == 0 || from == to) return;
  const Stores stores = size >= kStreamingBytes ? Stores::streaming : Stores::cached;
  const std::uint64_t most = crew_.is_one_host() ? size : kPiece;
  for (std::uint64_t done = 0; done < size; done += most) {
    if (done > 0) crew_.move_messages();
    collectives::copy(from + done, to + done, std::min(most, size - done), stores);
  }
}

void Runner::lend_and_send(const Step& step) {
  const std::span<const std::byte> slice(at(step.from), bytes(step.from));
  if (slice.size() <= kCopied) {
    crew_.note_copied(step.peer);
    return crew_.send(step.peer, Buffer::copy_of(slice));
  }
  crew_.send(step.peer, crew_.lend(step.peer, slice));
}

Status Runner::receive(const Step& step) {
  MUSTER_TRY(const Buffer part, crew_.receive(step.peer));
  if (part.size() != bytes(step.to)) {
    return Error(Code::invalid, fmt::format("rank {} sent {} bytes where {} were expected",
                                            crew_.called(step.peer), part.size(), bytes(step.to)));
  }
  if (part.empty()) return ok();
  if (step.kind == Step::Kind::receive) {
    if (part.data() != at(step.to)) collectives::copy(part.data(), at(step.to), part.size());
  } else {
    reduce(at(step.from), part.data(), step);
  }
  return ok();
}

// `own` (op) `other` into the step's destination, or the reverse.
void Runner::reduce(const std::byte* own, const std::byte* other, const Step& step) {
  if (step.to.count == 0) return;
  const std::byte* const sources[] = {step.is_left ? other : own, step.is_left ? own : other};
  combine(call_.reduction, call_.element, sources, at(step.to), step.to.count);
}

Status Runner::wait(const std::vector<Rank>& group, std::uint32_t phase) {
  for (const Rank peer : group) {
    if (peer == crew_.rank()) continue;
    MUSTER_TRY_OK(see(peer));
    MUSTER_TRY_OK(crew_.await_phase(peer, phase));
  }
  return ok();
}

}  // namespace muster::collectives::internal

#include "muster/collectives/communicator_core.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sched.h>

#include "muster/collectives/kernels.h"
#include "muster/collectives/small.h"

namespace muster::collectives::internal {
namespace {

// Numbers that the ranks need of each other before they can do `call`.
Call counting_for(const Call& call) {
  Call tell;
  tell.element = Element::i64;
  Description what = call.description();
  what.form = static_cast<std::uint8_t>(what.form | Description::kCounting);
  tell.part_of = what;
  return tell;
}

// From so many bytes on it matters where a thread runs.
constexpr std::uint64_t kWorthMoving = std::uint64_t{1} << 20;

thread_local bool is_awaited = false;
thread_local std::shared_ptr<const void> current_owner;

// Moves this thread to a processor, if it may run there, and leaves it free to be moved on.
void move_to(int processor) {
  if (processor < 0 || sched_getcpu() == processor) return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  if (!CPU_ISSET(processor, &allowed)) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  if (sched_setaffinity(0, sizeof one, &one) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
}

}  // namespace

CommunicatorCore::CommunicatorCore(std::shared_ptr<Crew> crew, const Manners& manners,
                                   std::shared_ptr<Crew> ancestor)
    : fabric_(crew->shared_fabric()),
      crew_(std::move(crew)),
      ancestor_(std::move(ancestor)),
      manners_(manners),
      size_(crew_->size()),
      rank_(crew_->rank()),
      alive_(size_) {
  for (const auto& seat : crew_->seats()) {
    members_.push_back(seat != nullptr ? seat->name : fabric_->member());
  }
  std::iota(alive_.begin(), alive_.end(), 0);
}

CommunicatorCore::~CommunicatorCore() {
  is_closing_ = true;
  {
    const loop::Turn turn(fabric_->loop());
    crew_->cancel();
    if (future_ != nullptr) future_->cancel();
  }
  if (has_worker_) worker_.reset();
  if (future_ != nullptr) future_->leave();
  crew_->leave();
}

std::shared_ptr<Crew> CommunicatorCore::crew_now() const {
  const loop::Turn turn(fabric_->loop());
  return crew_;
}

Worker& CommunicatorCore::worker() {
  std::call_once(worker_made_, [this] {
    worker_ = std::make_unique<Worker>(turnstile_);
    has_worker_ = true;
  });
  return *worker_;
}

void CommunicatorCore::leave() {
  turnstile_.leave();
  if (has_worker_.load(std::memory_order_acquire)) worker_->look();
}

Result<Outcome> CommunicatorCore::run(const Call& call, const Status& made) {
  return inside([&] { return do_or_refuse(call, made); });
}

Result<Outcome> CommunicatorCore::do_or_refuse(const Call& call, const Status& made) {
  if (!made) return refuse(made.error());
  return do_call(call);
}

Error CommunicatorCore::refuse(const Error& why) {
  if (manners_.elastic) refused_.push_back(why);
  crew_->refuse(why);
  return why;
}

loop::Future<Outcome> CommunicatorCore::start(Call call, Status made) {
  auto promise = std::make_shared<loop::Promise<Outcome>>(fabric_->loop());
  loop::Future<Outcome> future = promise->future();
  try {
    worker();
  } catch (const std::system_error& none) {
    const Error why(Code::overloaded, fmt::format("make a thread: {}", none.what()));
    promise->set(inside([&]() -> Result<Outcome> { return refuse(why); }));
    return future;
  }
  call.owner = current_owner;
  const Turnstile::Ticket ticket = turnstile_.take();
  // The caller is about to sleep. Ranks have found a processor each by what their own threads
  // did; who is woken elsewhere shares one with another rank, and its numbers lie elsewhere.
  const bool is_large = made && call.count * size_of(call.element) >= kWorthMoving;
  const int place = is_awaited && is_large ? sched_getcpu() : -1;
  worker().give(
      ticket, [this, promise, call = std::move(call), made = std::move(made), place]() mutable {
        move_to(place);
        if (is_closing_) {
          promise->set(Error(Code::cancelled, "the communicator was closed on this rank"));
        } else {
          Result<Outcome> outcome = do_or_refuse(call, made);
          call.owner.reset();  // Who hears of the end has it alone.
          promise->set(std::move(outcome));
        }
      });
  return future;
}

Result<Outcome> CommunicatorCore::do_call(const Call& call) {
  if (manners_.elastic) return do_elastic(call);
  // Of the first that failed, which is the one that repeat() does.
  if (manners_.keep_input && !last_call) keep_input_of(call);
  const Status done = carry_out(call);
  if (!done) {
    if (!last_call) last_call = call;
    return done.error();
  }
  interrupted.reset();  // It was not repeated.
  count_completed();
  return Outcome{.number = completed(), .contributors = nullptr};
}

Status CommunicatorCore::carry_out(const Call& call) {
  if (!call.is_uneven ||
      (call.operation != Operation::scatter && call.operation != Operation::gather &&
       call.operation != Operation::all_to_all)) {
    return run_over_crew(call);
  }
  Call known = call;
  MUSTER_TRY_OK(known.operation == Operation::all_to_all ? tell_counts_of_all(known)
                                                         : tell_counts(known));
  return run_over_crew(known);
}

// scatter, gather: the root's counts, or each rank's own, become known to all.
Status CommunicatorCore::tell_counts(Call& call) {
  const Rank ranks = crew_->size();
  const Rank rank = crew_->rank();
  const std::uint64_t mine = call.count;
  std::vector<std::uint64_t> told(ranks);
  Call tell = counting_for(call);
  if (call.operation == Operation::scatter) {
    tell.operation = Operation::broadcast;
    tell.root = call.root;
    tell.count = ranks;
    if (rank == call.root) told = call.counts;
    auto* const bytes = reinterpret_cast<std::byte*>(told.data());
    if (rank == call.root) {
      tell.input = bytes;
    } else {
      tell.result = bytes;
    }
  } else {
    tell.operation = Operation::all_gather;
    tell.count = 1;
    tell.input = reinterpret_cast<const std::byte*>(&mine);
    tell.result = reinterpret_cast<std::byte*>(told.data());
  }
  MUSTER_TRY_OK(run_over_crew(tell));
  const bool is_wrong = call.operation == Operation::scatter
                            ? told[rank] != mine
                            : rank == call.root && told != call.counts;
  if (!is_wrong) {
    call.counts = std::move(told);
    return ok();
  }
  const auto at =
      call.operation == Operation::scatter
          ? rank
          : static_cast<Rank>(std::ranges::mismatch(told, call.counts).in1 - told.begin());
  return crew_->fail(Error(
      Code::invalid,
      fmt::format("{}: rank {} has a block of {} elements, the root {} counts {}",
                  name(call.operation), crew_->called(at),
                  call.operation == Operation::scatter ? mine : told[at], crew_->called(call.root),
                  call.operation == Operation::scatter ? told[at] : call.counts[at])));
}

// all_to_all: everybody knows what goes from where to where.
Status CommunicatorCore::tell_counts_of_all(Call& call) {
  const Rank ranks = crew_->size();
  const Rank rank = crew_->rank();
  call.table.resize(static_cast<std::size_t>(ranks) * ranks);
  Call tell = counting_for(call);
  tell.operation = Operation::all_gather;
  tell.count = ranks;
  tell.input = reinterpret_cast<const std::byte*>(call.counts.data());
  tell.result = reinterpret_cast<std::byte*>(call.table.data());
  MUSTER_TRY_OK(run_over_crew(tell));
  for (Rank from = 0; from < ranks; ++from) {
    const std::uint64_t sends = call.table[static_cast<std::size_t>(from) * ranks + rank];
    if (sends == call.receives[from]) continue;
    return crew_->fail(
        Error(Code::invalid,
              fmt::format("all_to_all: rank {} sends {} elements to rank {}, "
                          "which expects {}",
                          crew_->called(from), sends, crew_->called(rank), call.receives[from])));
  }
  return ok();
}

// A user's function may throw, and so does the system when it has no memory: whatever it
// is, the others must not wait for this rank.
Status CommunicatorCore::run_over_crew(const Call& call) {
  if (crew_->size() == 1) return run_alone(call);
  const Result<std::uint64_t> number = crew_->begin(call.description());
  if (!number) return number.error();
  Status done = ok();
  try {
    done = perform(call);
  } catch (const std::exception& thrown) {
    done = Error(Code::failed, fmt::format("rank {} threw: {}", rank_, thrown.what()));
  } catch (...) {
    done = Error(Code::failed, fmt::format("rank {} threw", rank_));
  }
  if (!done) {
    const Error told = crew_->fail(done.error());
    crew_->recall();
    workshop_.let_go();
    return told;
  }
  crew_->end();
  workshop_.let_go();
  return ok();
}

Status CommunicatorCore::perform(const Call& call) {
  if (crew_->is_one_host() && is_small(call, crew_->size())) {
    MUSTER_TRY_OK(run_small(*crew_, call));
    return crew_->check_unspoilt();
  }
  Shape shape = call.shape(crew_->size(), crew_->rank());
  if (manners_.reproducible) shape.is_commutative = false;
  // Blocks change places: not where they are read.
  Call apart = call;
  if (call.operation == Operation::all_to_all && call.input == call.result) {
    const std::uint64_t bytes = input_count(shape) * size_of(call.element);
    workshop_.moved.assign(call.input, call.input + bytes);
    apart.input = workshop_.moved.data();
  }
  return Runner(*crew_, workshop_, apart, shape).run();
}

Status CommunicatorCore::run_alone(const Call& call) {
  if (crew_->has_trouble()) return *crew_->trouble();
  if (call.result == nullptr || call.input == nullptr) return ok();
  const std::uint64_t count = call.is_uneven ? call.counts[0] : call.count;
  if (count == 0) return ok();
  if (call.input != call.result)
    collectives::copy(call.input, call.result, count * size_of(call.element));
  const bool reduces = call.operation == Operation::reduce ||
                       call.operation == Operation::all_reduce ||
                       call.operation == Operation::reduce_scatter;
  if (reduces) finish(call.reduction, call.element, call.result, count, 1);
  return ok();
}

void CommunicatorCore::keep_input_of(const Call& call) {
  kept_input.clear();
  if (!call.is_in_place(size_, rank_)) return;
  kept_input.assign(call.input, call.input + call.input_bytes(size_, rank_));
}

bool set_awaited(bool awaited) { return std::exchange(is_awaited, awaited); }

std::shared_ptr<const void> set_owner(std::shared_ptr<const void> owner) {
  return std::exchange(current_owner, std::move(owner));
}

std::uint64_t derive_context(std::uint64_t from, std::span<const std::uint64_t> facts) {
  std::vector<std::uint64_t> all(facts.begin(), facts.end());
  all.push_back(from);
  return digest_of(all);
}

}  // namespace muster::collectives::internal

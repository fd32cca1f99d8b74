#include "muster/collectives/communicator.h"

#include <utility>

#include "muster/collectives/communicator_core.h"

namespace muster::collectives {

using internal::CommunicatorCore;

Communicator::Communicator(std::unique_ptr<CommunicatorCore> core) : core_(std::move(core)) {}
Communicator::~Communicator() = default;

Rank Communicator::rank() const { return core_->where().rank; }
Rank Communicator::size() const { return core_->where().ranks; }
const std::string& Communicator::member(Rank rank) const { return core_->member(rank); }
const Manners& Communicator::manners() const { return core_->manners(); }
loop::Loop& Communicator::loop() const { return core_->fabric().loop(); }

Result<WritableBuffer> Communicator::allocate(std::size_t bytes) {
  return core_->fabric().allocate(bytes);
}

void Communicator::introduce(const Buffer& memory) { core_->fabric().introduce(memory); }

bool Communicator::is_read_in_place(std::span<const std::byte> bytes) const {
  return core_->crew_now()->find_own(bytes.data(), bytes.size()).has_value();
}

std::vector<Rank> Communicator::lost() const { return core_->lost(); }
std::vector<Rank> Communicator::waiting_for() const { return core_->waiting_for(); }
std::uint64_t Communicator::completed() const { return core_->completed(); }

Result<Outcome> Communicator::barrier() { return core_->run(internal::make_barrier(), ok()); }
loop::Future<Outcome> Communicator::ibarrier() {
  return core_->start(internal::make_barrier(), ok());
}

loop::Future<Outcome> Communicator::irefuse(Error why) {
  return core_->start(internal::Call(), std::move(why));
}

// Each operation twice: to be waited for, and not.
#define MUSTER_OPERATION(name, parameters, arguments)      \
  Result<Outcome> Communicator::name parameters {          \
    const internal::Where where = core_->where();          \
    internal::Call call;                                   \
    const Status made = internal::make_##name arguments;   \
    return core_->run(call, made);                         \
  }                                                        \
  loop::Future<Outcome> Communicator::i##name parameters { \
    const internal::Where where = core_->where();          \
    internal::Call call;                                   \
    Status made = internal::make_##name arguments;         \
    return core_->start(std::move(call), std::move(made)); \
  }

MUSTER_OPERATION(broadcast, (Output data, Rank root), (call, where, data, root))
MUSTER_OPERATION(scatter, (Input all, Output mine, Rank root), (call, where, all, mine, root))
MUSTER_OPERATION(gather, (Input mine, Output all, Rank root), (call, where, mine, all, root))
MUSTER_OPERATION(reduce, (Input mine, Output result, const Reduction& reduction, Rank root),
                 (call, where, mine, result, reduction, root))
MUSTER_OPERATION(all_reduce, (Input mine, Output result, const Reduction& reduction),
                 (call, where, mine, result, reduction))
MUSTER_OPERATION(all_gather, (Input mine, Output all), (call, where, mine, all))
MUSTER_OPERATION(reduce_scatter, (Input all, Output mine, const Reduction& reduction),
                 (call, where, all, mine, reduction))
MUSTER_OPERATION(all_to_all, (Input send, Output receive), (call, where, send, receive))
MUSTER_OPERATION(scatter_v, (Input all, Counts counts, Output mine, Rank root),
                 (call, where, all, counts, mine, root))
MUSTER_OPERATION(gather_v, (Input mine, Output all, Counts counts, Rank root),
                 (call, where, mine, all, counts, root))
MUSTER_OPERATION(all_gather_v, (Input mine, Output all, Counts counts),
                 (call, where, mine, all, counts))
MUSTER_OPERATION(reduce_scatter_v,
                 (Input all, Counts counts, Output mine, const Reduction& reduction),
                 (call, where, all, counts, mine, reduction))
MUSTER_OPERATION(all_to_all_v,
                 (Input send, Counts send_counts, Output receive, Counts receive_counts),
                 (call, where, send, send_counts, receive, receive_counts))
#undef MUSTER_OPERATION

Result<Buffer> Communicator::share(Buffer mine, Rank root) {
  MUSTER_TRY(std::vector<Buffer> all, core_->share(std::move(mine), root));
  return std::move(all[root]);
}

Result<std::vector<Buffer>> Communicator::all_share(Buffer mine) {
  return core_->share(std::move(mine), std::nullopt);
}

}  // namespace muster::collectives

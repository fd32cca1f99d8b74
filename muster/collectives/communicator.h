// Communicator: ranks 0 to n-1 that do operations together.
//
//   auto runtime = *Runtime::make();
//   auto all = *runtime->communicator({.name = "train", .size = 4, .rank = rank});
//   all->all_reduce(gradients, gradients, Reduction::mean);
//
// Every rank calls the same operations in the same order. A call whose
// operation, count, type or root differs from the others' fails on every rank,
// and says who called what. Calls without an i in front wait; the others give a
// Future at once, and are carried out in the order in which they were made by a
// thread of the communicator's own. Their memory must stay as it is until then.
//
// Any thread may call, but the threads of one rank agree on an order among
// themselves. Never call while holding the loop's baton.
//
// Death. When a member is lost, every operation that has not ended fails with
// Code::unavailable and the rank's number, and so does every later one. What
// was returned before is right, on whoever returned it. shrink() gives the
// survivors a new communicator. Where Manners::elastic is set the operation is
// finished over the survivors instead.
//
// Memory made by allocate() is read by the other ranks of this host where it
// lies; other memory is copied once more, or read by process_vm.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/collectives/communicator_options.h"
#include "muster/collectives/element.h"
#include "muster/collectives/plan.h"
#include "muster/collectives/reduction.h"
#include "muster/collectives/view.h"
#include "muster/loop/future.h"
#include "muster/loop/loop.h"
#include "muster/msg/wait.h"

namespace muster::msg {
class Proxy;
}

namespace muster::collectives {

// What an operation gives beside the numbers.
struct Outcome {
  std::uint64_t number = 0;  // Of the operation; they count from 1.
  // Elastic: the ranks whose contributions are in, ascending. Null: all of them.
  std::shared_ptr<const std::vector<Rank>> contributors = nullptr;
};

using Counts = std::span<const std::uint64_t>;

namespace internal {
class CommunicatorCore;
}

namespace internal {
bool set_awaited(bool awaited);
std::shared_ptr<const void> set_owner(std::shared_ptr<const void> owner);
}  // namespace internal

// While one lives its thread waits for what it begins, and does nothing else meanwhile. Large
// operations are then carried out on the processor that it leaves.
class Awaited {
 public:
  explicit Awaited(bool is = true) : before_(internal::set_awaited(is)) {}
  ~Awaited() { internal::set_awaited(before_); }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

 private:
  bool before_;
};

// While one lives, what its thread begins keeps `owner`: until it is over, and if it was
// interrupted for as long as it can be repeated.
class Owned {
 public:
  explicit Owned(std::shared_ptr<const void> owner)
      : before_(internal::set_owner(std::move(owner))) {}
  ~Owned() { internal::set_owner(std::move(before_)); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

 private:
  std::shared_ptr<const void> before_;
};

class Communicator {
 public:
  // Meets the others by name alone, with no proxy, and returns once all are
  // here. Code::timeout names the ranks that are missing; Code::invalid, that
  // somebody else has this rank or another size.
  static Result<std::unique_ptr<Communicator>> join(loop::Loop& loop, CommunicatorOptions options,
                                                    const msg::Wait& wait = {});
  // Over components of the proxy's group, this one among them. Ranks follow the
  // order of `members`, which is the same everywhere. `name` tells several
  // communicators of one group apart.
  static Result<std::unique_ptr<Communicator>> over(msg::Proxy& proxy, const std::string& name,
                                                    const std::vector<std::string>& members,
                                                    const Manners& manners = {},
                                                    const msg::Wait& wait = {});
  // Over all components of a type, `size` of them, ranked by their names. This
  // one is of that type.
  static Result<std::unique_ptr<Communicator>> over_type(msg::Proxy& proxy, const std::string& name,
                                                         const std::string& type, Rank size,
                                                         const Manners& manners = {},
                                                         const msg::Wait& wait = {});

  // Says goodbye: to the others this is a loss with a friendlier reason. What
  // is under way ends with Code::cancelled. The last of those made from each
  // other waits, a second at most, until the ranks of this host have read what
  // this one brought to the last operation.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  Rank rank() const;
  Rank size() const;
  // The name that a rank has in the registry: "rank_3", or a component's.
  const std::string& member(Rank rank) const;
  const Manners& manners() const;
  loop::Loop& loop() const;

  // Memory that the ranks of this host read where it lies.
  Result<WritableBuffer> allocate(std::size_t bytes);
  // So do they, from now on, with memory of Runtime::allocate(). Other memory stays as it is.
  void introduce(const Buffer& memory);
  // True if they do with these bytes: what is not so is copied, or read from this process.
  bool is_read_in_place(std::span<const std::byte> bytes) const;

  // ---- Operations. In place: where input and output are the same memory, or
  // the smaller is the rank's own block of the larger. Where they overlap in
  // another way the call is refused.

  Result<Outcome> barrier();
  // The root's `data` everywhere.
  Result<Outcome> broadcast(Output data, Rank root);
  // The root's `all`, one block for each rank: `mine`. Others leave `all` empty.
  Result<Outcome> scatter(Input all, Output mine, Rank root);
  Result<Outcome> gather(Input mine, Output all, Rank root);
  // The root's `result`. Others leave it empty.
  Result<Outcome> reduce(Input mine, Output result, const Reduction& reduction, Rank root);
  Result<Outcome> all_reduce(Input mine, Output result, const Reduction& reduction);
  Result<Outcome> all_gather(Input mine, Output all);
  // `all` has one block for each rank; `mine` is the sum of those for this one.
  Result<Outcome> reduce_scatter(Input all, Output mine, const Reduction& reduction);
  // Block i of `send` goes to rank i, block i of `receive` comes from it.
  Result<Outcome> all_to_all(Input send, Output receive);

  // The same with a count for each rank. scatter_v and gather_v need them at
  // the root only, elsewhere they may be empty.
  Result<Outcome> scatter_v(Input all, Counts counts, Output mine, Rank root);
  Result<Outcome> gather_v(Input mine, Output all, Counts counts, Rank root);
  Result<Outcome> all_gather_v(Input mine, Output all, Counts counts);
  Result<Outcome> reduce_scatter_v(Input all, Counts counts, Output mine,
                                   const Reduction& reduction);
  Result<Outcome> all_to_all_v(Input send, Counts send_counts, Output receive,
                               Counts receive_counts);

  loop::Future<Outcome> ibarrier();
  loop::Future<Outcome> ibroadcast(Output data, Rank root);
  loop::Future<Outcome> iscatter(Input all, Output mine, Rank root);
  loop::Future<Outcome> igather(Input mine, Output all, Rank root);
  loop::Future<Outcome> ireduce(Input mine, Output result, const Reduction& reduction, Rank root);
  loop::Future<Outcome> iall_reduce(Input mine, Output result, const Reduction& reduction);
  loop::Future<Outcome> iall_gather(Input mine, Output all);
  loop::Future<Outcome> ireduce_scatter(Input all, Output mine, const Reduction& reduction);
  loop::Future<Outcome> iall_to_all(Input send, Output receive);
  loop::Future<Outcome> iscatter_v(Input all, Counts counts, Output mine, Rank root);
  loop::Future<Outcome> igather_v(Input mine, Output all, Counts counts, Rank root);
  loop::Future<Outcome> iall_gather_v(Input mine, Output all, Counts counts);
  loop::Future<Outcome> ireduce_scatter_v(Input all, Counts counts, Output mine,
                                          const Reduction& reduction);
  loop::Future<Outcome> iall_to_all_v(Input send, Counts send_counts, Output receive,
                                      Counts receive_counts);

  // For a layer above, which knows that this rank cannot make its next call, and why: the
  // others, who make it, are told so and do not wait. Ends with `why`.
  loop::Future<Outcome> irefuse(Error why);

  // The root's buffer, read where it lies by the ranks of its host: nothing is
  // copied if it was made by allocate(). It must not be written any more. Others
  // give an empty one. all_share() gives everybody's, in the order of the ranks; elastic: an empty
  // one of who is not among the contributors.
  Result<Buffer> share(Buffer mine, Rank root);
  Result<std::vector<Buffer>> all_share(Buffer mine);

  // ---- Point to point, beside the operations: in order per pair and tag. Elastic:
  // what was not received when a member was lost is gone.

  // Returns once `data` may be written again.
  Status send(Input data, Rank to, std::uint32_t tag = 0, const msg::Wait& wait = {});
  // Of just so many elements; Code::invalid if what came is of another count or
  // type, which is then dropped.
  Status receive(Output data, Rank from, std::uint32_t tag = 0, const msg::Wait& wait = {});

  // ---- Others from this one. All members call them, as operations. Elastic: they go on without
  // who is lost meanwhile.

  // Members with the same colour, ranked by key, then by their rank here. Null
  // for a negative colour.
  Result<std::unique_ptr<Communicator>> split(int colour, int key);
  Result<std::unique_ptr<Communicator>> dup();

  // ---- Death.

  // Survivors agree on who they are, and on the last operation that all of them
  // completed. All survivors call it; nothing else works any more on a
  // communicator that has lost a member. Without a loss it is a dup() that also
  // works after a mismatch or a deadline. Code::unavailable if this rank was
  // itself taken for lost, or most members cannot be reached. Once it has given
  // one, Code::invalid. Elastic: when one calls it, the others' calls fail with
  // Code::unavailable until they do.
  Result<std::unique_ptr<Communicator>> shrink(const msg::Wait& wait = {});
  // Of a communicator that shrink() gave: the last operation of the old one
  // that all its survivors completed. Elastic: also if this rank gave it up; its
  // result is in the memory that it was called with.
  std::uint64_t completed_before() const;
  // Of a communicator that shrink() gave: does the operation that was
  // interrupted on this rank again, over the survivors, with the memory it was
  // called with. Code::invalid if none was, or its input is lost: it was in
  // place, and Manners::keep_input was not set: then it fails on the others too.
  // A rank on which it had ended calls the operation itself.
  Result<Outcome> repeat();
  // What keeps that memory, by Owned; null if nothing does, or there is nothing to repeat.
  std::shared_ptr<const void> owner_of_interrupted() const;
  // Takes in whoever asks to join() under this name with a rank from size() on,
  // until there are `size` members. Elastic: from the number of those who are
  // left on. All members call it; newcomers find themselves in the same
  // communicator as those who get this one's result. If they have not come in time, which is that
  // of the member with the least of it, this one goes on as before; where one rank alone cannot
  // reach them, or a member itself has not come in time, all shrink() it first. Members are waited
  // for at least a second.
  Result<std::unique_ptr<Communicator>> grow(Rank size, const msg::Wait& wait = {});
  // Ranks that are known to be lost, ascending.
  std::vector<Rank> lost() const;

  // ---- Stuck, not dead. Any thread, also while another is inside an operation.

  // Ranks that have not come to the operation that this one is in; empty
  // outside of operations.
  std::vector<Rank> waiting_for() const;
  // Operations that have ended on this rank.
  std::uint64_t completed() const;

  explicit Communicator(std::unique_ptr<internal::CommunicatorCore> core);

 private:
  std::unique_ptr<internal::CommunicatorCore> core_;
};

}  // namespace muster::collectives

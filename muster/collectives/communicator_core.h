// CommunicatorCore: what stands behind a Communicator.
//
// Lets one call in at a time, in the order in which they were made, and carries
// it out over the crew: on the desks if it is small, else by a plan.

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "muster/collectives/call.h"
#include "muster/collectives/communicator.h"
#include "muster/collectives/crew.h"
#include "muster/collectives/runner.h"
#include "muster/collectives/turnstile.h"
#include "muster/collectives/worker.h"

namespace muster::collectives::internal {

class CommunicatorCore {
 public:
  // `ancestor`: the crew that this one came from by shrinking; it still answers
  // those who have not heard what was decided.
  CommunicatorCore(std::shared_ptr<Crew> crew, const Manners& manners,
                   std::shared_ptr<Crew> ancestor = nullptr);
  ~CommunicatorCore();
  CommunicatorCore(const CommunicatorCore&) = delete;
  CommunicatorCore& operator=(const CommunicatorCore&) = delete;

  Where where() const { return {size_, rank_}; }
  const std::string& member(Rank rank) const { return members_[rank]; }
  const Manners& manners() const { return manners_; }
  Fabric& fabric() const { return *fabric_; }
  // Of those who are inside, or have nothing to fear from who is.
  Crew& crew() const { return *crew_; }
  std::shared_ptr<Crew> crew_now() const;
  // Any thread. The crew that has `rank` now, and which of its ranks it is.
  Result<std::pair<std::shared_ptr<Crew>, Rank>> find(Rank rank) const;
  std::vector<Rank> waiting_for() const;

  // A call that cannot be made, as `made` tells, fails here when its turn has come, and the others
  // are told.
  Result<Outcome> run(const Call& call, const Status& made);
  loop::Future<Outcome> start(Call call, Status made);
  // Runs `body` when its turn has come.
  template <class Body>
  auto inside(Body body) {
    const Turnstile::Ticket ticket = turnstile_.take();
    turnstile_.wait_for(ticket);
    const Visit visit{*this};
    return body();
  }

  Result<std::vector<Buffer>> share(Buffer mine, std::optional<Rank> root);

  // Inside only. What this rank called cannot be done; gives `why` back.
  Error refuse(const Error& why);
  // Inside only. Elastic: the crew is the one that was agreed upon last. Before all that is
  // no elastic operation itself.
  Status catch_up();
  // Inside only. Makes a communicator, which all who are left get or none; elastic: again, as long
  // as somebody is lost meanwhile.
  template <class Body>
  auto make_of_those_left(Body body) {
    for (;;) {
      if (const Status caught_up = catch_up(); !caught_up) {
        return decltype(body())(caught_up.error());
      }
      auto made = body();
      if (made || !may_recover(made.error())) return made;
    }
  }
  // Inside only. Elastic: does `work`, which is an operation over the crew of the moment, again as
  // long as somebody is lost meanwhile. All who are left have then done it over the same crew,
  // which stays until the next call, or none has. Who gives up while it recovers does not know
  // which, and nothing works any more until it shrinks; unless the others hear of it, and
  // `may_be_tried_again`.
  Status do_together(const std::function<Status()>& work, bool may_be_tried_again = false);
  // Inside only. What all agree upon who go on with another communicator.
  Result<Decision> agree_to_shrink(const msg::Wait& wait);
  // Inside only. How far it has come, as agreements count it.
  Position position() const {
    const std::uint64_t at = manners_.elastic ? settled_ : completed();
    return {.completed = at, .prepared = at + (has_unsure_ ? 1 : 0)};
  }
  // Inside only. One operation over the crew, whatever it is for.
  Status carry_out(const Call& call);
  // Inside only. The counter of calls that have ended well.
  std::uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }
  void count_completed() { completed_.store(completed() + 1, std::memory_order_relaxed); }

  // Inside only. A crew of some of this one's members, and perhaps of others. If
  // not all come in time, those who do are told not to wait for this one.
  Result<std::shared_ptr<Crew>> crew_for(std::uint64_t context, Seats seats, Rank rank,
                                         const msg::Wait& wait);
  // The same where all who are left are known to come, as after do_together().
  Result<std::shared_ptr<Crew>> crew_of_those_left(std::uint64_t context, Seats seats, Rank rank);
  // Tells those who make this crew that this member does not come to it.
  void stay_away(std::uint64_t context, Seats seats, Rank rank);
  // The crew that was agreed upon. There is no other: after Code::timeout the
  // next call waits for the same.
  // `called`: how the caller counts them, if otherwise.
  Result<std::shared_ptr<Crew>> crew_of(const Decision& decision, const msg::Wait& wait,
                                        const std::vector<Rank>& called = {});

  // Newcomers.
  msg::Wait wait_for_members(const msg::Wait& wait, const msg::Wait& bounded) const;
  msg::internal::Waited find_newcomers(std::vector<Id>& newcomers, const msg::Wait& wait) const;
  // Inside only. The crew of all members and of these: once each is here, or known to be lost.
  Result<std::shared_ptr<Crew>> take_in(const std::vector<Id>& newcomers, std::uint64_t context,
                                        const msg::Wait& wait);

  // Ranks that are known to be lost.
  std::vector<Rank> lost() const;

  // Takes over what was interrupted in the one that this one came from.
  void inherit(CommunicatorCore& old, const Decision& decision);
  // Inside only.
  Result<Outcome> repeat_interrupted();

  // Of the shrunken: what the old one left.
  std::uint64_t completed_before = 0;
  std::optional<Call> interrupted;    // As it was called.
  bool is_input_lost = false;         // It was in place, and no copy was kept.
  std::vector<std::byte> kept_input;  // Of the call that is, or was, under way.
  std::optional<Call> last_call;      // If it failed.
  bool is_shrunk = false;

 private:
  struct Visit {
    CommunicatorCore& core;
    ~Visit() { core.leave(); }
  };

  Result<Outcome> do_or_refuse(const Call& call, const Status& made);
  Result<Outcome> do_call(const Call& call);
  Result<Outcome> do_elastic(const Call& call);
  // Elastic (elastic.cpp).
  Status carry_out_over_those_left(const Call& call);
  Status elastic_rounds(const std::function<Status()>& work, bool may_be_tried_again);
  Status elastic_round(const std::function<Status()>& work, bool& is_prepared);
  Status recover(bool is_prepared, bool& is_committed);
  bool may_recover(const Error& why) const;
  Status follow_decision(const msg::Wait& wait = {});
  Result<Decision> agree_with_those_who_went_on(const msg::Wait& wait);
  void count_settled();
  Result<std::shared_ptr<Crew>> crew_with(const std::vector<Id>& newcomers, std::uint64_t context,
                                          const msg::Wait& wait);
  void bring_to_rank_0(const std::vector<Id>& found, std::vector<Id>& told) const;
  void bring_together(const std::vector<Id>& newcomers) const;
  std::vector<Rank> unmet(const std::vector<Id>& newcomers) const;
  std::string unmet_in_words(const std::vector<Id>& newcomers) const;
  void welcome(std::uint64_t context, const Seats& seats, const std::vector<Id>& newcomers) const;
  Result<std::shared_ptr<Crew>> start_crew(std::uint64_t context, Seats seats, Rank rank);
  Result<std::shared_ptr<Crew>> finish_crew(std::shared_ptr<Crew> crew, const Status& ready);
  Status share_over_crew(const Buffer& mine, std::optional<Rank> root, std::vector<Buffer>& all);

  Status tell_counts(Call& call);
  Status tell_counts_of_all(Call& call);
  Status run_alone(const Call& call);
  Status run_over_crew(const Call& call);
  Status perform(const Call& call);
  void keep_input_of(const Call& call);
  void leave();
  Worker& worker();

  const std::shared_ptr<Fabric> fabric_;
  std::shared_ptr<Crew> crew_;
  std::shared_ptr<Crew> ancestor_;
  std::shared_ptr<Crew> future_;  // Being made. Under the baton.
  const Manners manners_;
  const Rank size_;
  const Rank rank_;
  std::vector<std::string> members_;
  std::vector<Rank> alive_;          // Elastic: the ranks here of the crew's ranks.
  std::vector<Rank> round_;          // Elastic: whose contributions are in.
  std::optional<Decision> decided_;  // Elastic: agreed upon, and yet to be followed.
  bool is_recoverable_ = true;
  bool has_unsure_ = false;      // Elastic: a result that was had and given up.
  bool has_given_up_ = false;    // Elastic: an operation that others may complete.
  std::uint64_t settled_ = 0;    // Elastic: elastic operations that have ended well.
  std::vector<Error> refused_;   // Elastic: why calls after them could not be made.
  Where before_{};               // Of the shrunken: where the interrupted call was made,
  std::vector<Rank> survivors_;  // and who of them is here.

  Turnstile turnstile_;
  Workshop workshop_;
  std::atomic<std::uint64_t> completed_{0};
  std::once_flag worker_made_;
  std::unique_ptr<Worker> worker_;
  std::atomic<bool> has_worker_{false};
  std::atomic<bool> is_closing_{false};
};

// Meets the others: found or be taken in.
Result<std::shared_ptr<Crew>> meet(const std::shared_ptr<Fabric>& fabric, const Manners& manners,
                                   const msg::Wait& wait);

// A context that all who know the same derive alike.
std::uint64_t derive_context(std::uint64_t from, std::span<const std::uint64_t> facts);

}  // namespace muster::collectives::internal

// Crew: the ranks of one context, and all that lies between them.
//
// A crew never changes: who shrinks, grows or splits makes another. One thread
// at a time is inside an operation; what it may call says so. Messages and
// losses arrive under the baton.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/arena/segment.h"
#include "muster/base/result.h"
#include "muster/collectives/agreement.h"
#include "muster/collectives/communicator_options.h"
#include "muster/collectives/crew_peer.h"
#include "muster/collectives/description.h"
#include "muster/collectives/desk.h"
#include "muster/collectives/fabric.h"
#include "muster/collectives/plans.h"
#include "muster/loop/timers.h"
#include "muster/msg/proxy_wait.h"
#include "muster/msg/wait.h"

namespace muster::collectives::internal {

// The same wait; where it has no end, the manners' deadline is its end.
msg::Wait bounded(const msg::Wait& wait, const Manners& manners, const loop::Loop& loop);

using Seats = std::vector<std::shared_ptr<Seat>>;  // By rank; null: this member.

class Crew {
 public:
  // Under the baton. Tells all `seats` that this member is in the crew.
  static Result<std::shared_ptr<Crew>> start(std::shared_ptr<Fabric> fabric, std::uint64_t context,
                                             Seats seats, Rank rank, const Manners& manners);
  // Any thread. Returns once all have told this one, or were lost: then the
  // crew has trouble from the start. After Code::timeout, which names the ranks
  // that have not come, it can be called again.
  Status await_ready(const msg::Wait& wait);
  // The same for the survivors that were agreed upon in `parent`. Who has left that instead of
  // coming has left this one.
  Status await_survivors(const Crew& parent, const msg::Wait& wait);
  // The same for ranks that do not all come, or all know that they do not. Of the members of
  // `parent` each comes unless its call has failed, and it says that it has, there or here: then it
  // fails here.
  // Somebody's loss is no reason not to wait for the others, who may have begun.
  Status await_members(const Crew& parent, const msg::Wait& wait);
  // The same where all members of `parent` who are left are known to come: that they have found
  // somebody lost there meanwhile does not keep them. Who was agreed there to be lost, is: also
  // if its link is up, unless it comes.
  Status await_those_left(const Crew& parent, const msg::Wait& wait);
  // For a newcomer: those who have called grow() come, or leave.
  Status await_welcomers(const msg::Wait& wait);
  // start() and await_ready(), or await_welcomers(). If not all come in time, those who do are told
  // not to wait for this member.
  static Result<std::shared_ptr<Crew>> make(std::shared_ptr<Fabric> fabric, std::uint64_t context,
                                            Seats seats, Rank rank, const Manners& manners,
                                            const msg::Wait& wait, bool is_newcomer = false);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Of the operation that began last: the same on all who have completed it. How many were
  // completed before is not, once some have failed on some ranks alone.
  std::uint64_t number() const { return number_; }
  std::uint64_t context() const { return context_; }
  Rank rank() const { return rank_; }
  Rank size() const { return static_cast<Rank>(seats_.size()); }
  const Seats& seats() const { return seats_; }
  Fabric& fabric() const { return *fabric_; }
  const std::shared_ptr<Fabric>& shared_fabric() const { return fabric_; }
  const Hosts& hosts() const { return hosts_; }
  bool is_one_host() const { return is_one_host_; }
  // Ranks of this host may read each other's private memory.
  bool may_read_private() const { return may_read_private_; }
  bool is_here(Rank rank) const { return hosts_[rank] == hosts_[rank_]; }
  // How the caller counts the ranks, for words, where that is otherwise: elastic.
  void call_ranks(const std::vector<Rank>& ranks);
  Rank called(Rank rank) const { return called_.empty() ? rank : called_[rank]; }

  // ---- Inside an operation: begin(), then as below, then end() or fail().

  // Says what this rank does; the number of the operation. An error if there
  // is trouble already.
  Result<std::uint64_t> begin(const Description& what);
  // Instead of all this: the call cannot be made on this rank. It counts as an operation, so that
  // ranks on which all of them were refused go on together; all others hear `why`.
  void refuse(const Error& why);
  // Under the baton. Another rank's call was refused that this one is about to make.
  bool has_refusal_ahead() const;
  // Under the baton. `rank` has begun the operation that this one is about to.
  bool is_ahead(Rank rank) const;
  // Newcomers have not come in time for this rank: rank 0, which counts, is told.
  void tell_late();
  // Under the baton. Another has told that it cannot wait for those whom the operation names that
  // this rank is about to begin.
  bool is_anybody_late() const;
  // The slot for this operation, once it is free to be written.
  Result<Slot*> slot();
  // Shows the slot.
  void post();
  // The same; who sleeps until it is there is woken when this rank waits for another's, or ends.
  void post_quietly();
  // A peer's slot of this operation, once it is there and says the same.
  Result<const Slot*> peer_slot(Rank peer);
  void publish(std::uint32_t phase);
  Status await_phase(Rank peer, std::uint32_t phase);
  // What was read in others' memory until now is what they meant to show, and
  // none of them has given this operation up.
  Status check_unspoilt();
  // This rank has read what it had to.
  void end();
  // This rank gives the operation up: all others are told. Gives `why` back, in words.
  Error fail(const Error& why);

  // Messages: who shares memory with all others says first that there are some. `part`
  // is kept until it has left; once `settle` holds, all have.
  void begin_messages();
  void send(Rank to, Buffer part);
  Result<Buffer> receive(Rank from);
  // An error if a message of this operation was refused, as one above the link's limit is:
  // it has been let go, and will not arrive.
  Status check_sent() const;
  // Until all sends of this operation but the last `but` have been let go.
  Status settle(std::size_t but = 0);
  // The `index`-th message from this rank may be written to `memory` as soon as
  // it comes, if it is of just that size. It is written before or in its receive(),
  // or not at all; what comes elsewhere has to be copied.
  void expect(Rank from, std::uint64_t index, std::span<std::byte> memory);

  // Memory to be sent that is the caller's: settle() waits until it is let go.
  Buffer lend(Rank to, std::span<const std::byte> bytes);
  // A send was of a copy: nobody has to wait for it.
  void note_copied(Rank to) { sent_.push_back({nullptr, to}); }
  bool has_unsettled(std::size_t but = 0) const;
  // A rank that has not let go of what was sent to it.
  std::optional<Rank> holder() const;
  // What came for this operation before it had begun may come now: its places are known.
  void resume_messages();
  // Lets messages under way go on, without waiting.
  void move_messages() { loop_.run_ready(); }
  // The so-many-th send of this operation has been let go.
  bool is_settled(std::size_t index) const { return sent_[index].is_settled(); }

  const Desk* own_desk() const { return desk_; }
  // Memory that the ranks of this host read, one for all operations: nobody writes its own
  // before it has seen the slots of all others of its host, and who shows one has ended the
  // operation before.
  Status make_window(std::size_t bytes);
  std::byte* window() const { return window_.data(); }
  // Where memory of ours lies, if all ranks of this host know the segment.
  std::optional<std::pair<std::uint32_t, std::uint64_t>> find_own(const std::byte* data,
                                                                  std::uint64_t bytes) const;
  bool is_known(const std::byte* data, std::uint64_t bytes) const {
    return find_own(data, bytes).has_value();
  }
  std::int64_t pid_of(Rank peer) const { return pids_[peer]; }
  // A peer's segment, mapped.
  Result<std::shared_ptr<arena::Segment>> segment(Rank peer, std::uint32_t number);

  // ---- Any thread.

  bool has_trouble() const { return has_trouble_.load(std::memory_order_acquire); }
  // Why nothing works any more, as a call says it.
  std::optional<Error> trouble() const;
  std::vector<Rank> lost() const;
  // Who has not come to what this rank is in: an operation, an agreement, the
  // making of the crew.
  std::vector<Rank> waiting_for() const;
  msg::Wait bounded(const msg::Wait& wait) const {
    return internal::bounded(wait, manners_, loop_);
  }
  // Operations of this rank end by its caller's own time instead of the manners', and when that
  // one is to stop, from here on until the other is called. That says whether one has ended so.
  void heed(msg::Wait callers) { callers_ = std::move(callers); }
  bool heed_no_more();
  // This rank's call has failed, though not in an operation: the others are told. Gives back why.
  Error give_up();
  // The same, where there was no trouble before: `why` is it.
  Error give_up(const Error& why);
  // Ends what is under way.
  void cancel();
  // Tells the others that nothing more will come. Once no thread is inside an operation.
  void leave();
  // True once there is trouble; waits a little for it. For who has found that
  // another rank is gone, and not yet why.
  Error await_trouble(const std::string& instead);

  // Elastic: while it is in no call, others are answered for it.
  void enter_call();
  void leave_call(const Position& position);
  // What was sent and not let go of must not be read any more, nor written what
  // was to come: the caller gets its memory back. Cuts whoever still holds some when its link
  // would have been lost by silence.
  void recall();

  // Under the baton. Why nothing is made of this crew any more on this rank, if others have agreed
  // to go on without it.
  std::optional<Error> why_left_out() const;
  // Agrees with all other survivors; nothing else works on this crew any more.
  Result<Decision> agree(const Position& position, const msg::Wait& wait);

  // Point to point.
  // Any thread. An error for what is too large for one message.
  Status check_size(Rank to, std::uint64_t bytes) const;
  Status send_message(Rank to, std::uint32_t tag, const Description& what, Buffer part,
                      const msg::Wait& wait);
  Result<Buffer> receive_message(Rank from, std::uint32_t tag, Description& what,
                                 const msg::Wait& wait);

  // ---- From the fabric, under the baton.

  bool take(Seat& seat, const Note& note, wire::Frame& frame);
  // False for a message of an operation that this rank has not begun.
  bool is_ready_for(const Note& note) const;
  // Where the bytes of a message belong, if that is known and free.
  WritableBuffer place(Seat& seat, const Note& note, std::uint64_t size);
  void lose(Seat& seat);
  // More is known of somebody.
  void look_who_is_left();
  void room_came(Seat& seat);
  // What was queued for this seat will not arrive.
  void message_refused(Seat& seat, const Note& note, const Error& why);

 private:
  Crew(std::shared_ptr<Fabric> fabric, std::uint64_t context, Seats seats, Rank rank,
       const Manners& manners);

  // Making (crew_setup.cpp).
  Status make_desk();
  void tell_ready();
  void take_what_came_before();
  Status await_ready(const msg::Wait& wait, const std::function<bool()>& is_done);
  bool has_given_up(const Seat& seat) const;
  bool has_excluded(const Seat& seat) const;
  bool is_out(Rank rank, const Crew& parent) const;
  bool is_about_to_decide() const;
  std::optional<Rank> absentee(const Crew& parent) const;
  std::optional<Rank> deserter(const Crew& parent) const;
  Error missing_of(const Crew& parent, Rank rank) const;
  bool is_ready(Rank rank) const;
  std::vector<Rank> unready() const;
  Status read_readies();
  void find_hosts(const std::vector<std::vector<bool>>& shares);
  void leave_memory_to_readers();

  // In words.
  std::vector<Rank> called(std::vector<Rank> ranks) const;

  void count(const Description& what);
  Error mismatch_before(Rank peer) const;
  Status raise_floor(std::uint64_t wanted);

  // Waiting (crew_wait.cpp).
  // A word of `peer`'s.
  Status await(Rank peer, const Word& word, std::uint64_t wanted);
  Status await_slowly(Rank peer, const Word& word, std::uint64_t wanted);
  Status sleep_on(Rank peer, const Word& word, std::uint64_t wanted);
  // From `peer`, if from one.
  Status await_messages(std::optional<Rank> peer, const std::function<bool()>& done);
  bool has_left(Rank peer) const {
    return peers_[peer].left_after.load(std::memory_order_acquire) != UINT64_MAX;
  }
  // While `peer` is waited for, if it is one alone.
  Status check_time(std::optional<Rank> peer);
  bool is_late(TimePoint now) const;
  bool is_to_stop(TimePoint now);
  void begin_to_wait();
  void complain(const std::string& deed, const std::vector<Rank>& missing,
                std::optional<Rank> peer = std::nullopt) const;
  void wake_readers(const Word& word);
  void wake_untold();
  void wake_own();
  void say_here();

  // Trouble (crew_trouble.cpp).
  std::optional<Rank> rank_of(const Seat& seat) const;
  void set_trouble(Error why) { set_trouble(std::move(why), rank_); }
  void set_trouble(Error why, Rank found_by);
  // To all others, once, so that nobody waits for this rank.
  void tell_trouble();
  Error trouble_or(std::string_view instead) const;
  Error in_words(const Error& why) const;
  Error mismatch(Rank peer, const Description& theirs, std::uint64_t number) const;
  // Of an operation that has ended here.
  Error late_mismatch(Rank peer, const Description& theirs, std::uint64_t number) const;
  void take_abort(Rank from, const Note& note, const wire::Frame& frame);
  void take_here(Rank from, const Note& note);
  void take_leave(Rank from, const Note& note);

  // Refused calls (crew_refusals.cpp).
  void tell_refusal(const Error& why);
  void take_refused(Rank from, const Note& note, const wire::Frame& frame);
  void judge_refusals(std::uint64_t begun);
  Error departed(Rank peer) const;

  // Agreeing (crew_agree.cpp).
  void begin_agreement(const Position& position);
  void answer_while_idle();
  std::vector<Rank> not_agreeing() const;
  Result<Decision> await_decision(const msg::Wait& wait);
  Error not_agreed(msg::internal::Waited waited) const;
  void take_agreement(Rank from, const wire::Frame& frame);
  void take_early();
  void feed_losses();
  bool may_learn_of_an_end() const;
  void ask_again_while_few();
  void send_agreement();
  void tell_away();

  // Messages (crew_messages.cpp).
  void take_data(Rank from, const Note& note, wire::Frame& frame);
  void take_credit(Rank from, const Note& note);
  void pump(Rank to);
  void pump(Rank to, Stream& stream);
  void take_refusal(Rank to, const Note& note, const Error& why);
  void confirm(Rank from, Stream& stream, std::uint32_t tag, std::uint64_t bytes);
  void notice_mismatch(Rank from, const Incoming& incoming);
  void drop_incoming();
  // By then a link has told that its peer is lost.
  Duration bound_on_silence() const;
  Duration patience_with_holders() const;

  // Landing (crew_landing.cpp).
  Status let_land(Rank from, Buffer& part);
  bool is_written_by(Rank peer) const;
  // The caller's memory is read or written by others.
  bool has_lent() const;
  void count_messages_anew();

  const std::shared_ptr<Fabric> fabric_;
  loop::Loop& loop_;
  const std::uint64_t context_;
  const Seats seats_;
  const Rank rank_;
  const Manners manners_;
  // What the description of each call says of them: ranks whose manners differ would do the same
  // call in different ways.
  const std::uint8_t form_;
  std::unique_ptr<Peer[]> peers_;

  Buffer desk_memory_;
  Desk* desk_ = nullptr;  // Null: no rank of this host but this.
  WritableBuffer window_;
  std::vector<const Desk*> other_desks_;  // Of this host.
  Hosts hosts_;
  std::vector<std::int64_t> pids_;
  bool is_one_host_ = false;
  bool is_crowded_ = false;  // More ranks here than processors.
  bool may_read_private_ = false;
  bool is_made_ = false;  // All have told each other.

  // Of the thread inside an operation.
  std::uint64_t number_ = 0;
  Description what_;
  std::array<Description, kSlots> whats_;  // Of the latest operations, as slots are.
  std::uint64_t history_ = 0;              // extended() by each.
  std::vector<Sent> sent_;                 // In this operation.
  std::uint64_t floor_ = 0;  // All ranks of this host have ended operations up to here.
  TimePoint slow_since_{};   // It waited for the first time in this operation; 0: it has not.
  TimePoint here_due_{};
  bool has_complained_ = false;
  std::optional<msg::Wait> callers_;  // Time, where it is not the manners'.
  TimePoint ask_due_{};               // Whether the caller is to stop.
  bool was_to_stop_ = false;
  bool has_untold_ = false;  // It has shown something, and woken nobody for it.

  std::atomic<std::uint64_t> inside_{0};  // The operation, else 0.
  // The latest operation of which a message was refused.
  std::atomic<std::uint64_t> refused_send_{0};
  std::atomic<const Word*> sleeping_on_{nullptr};
  enum class Stage : std::uint8_t { working, getting_ready, agreeing };
  std::atomic<Stage> stage_{Stage::working};
  std::atomic<bool> has_trouble_{false};
  std::atomic<bool> is_cancelled_{false};
  std::atomic<bool> has_departures_{false};  // Somebody has closed its end.
  std::atomic<bool> has_refusals_{false};    // There are some to be judged.
  std::atomic<bool> is_busy_{true};          // In a call of the user's. Elastic.
  Position idle_position_;                   // Else how far it has come.

  // Under the baton.
  std::vector<Rank> called_;
  std::optional<Trouble> trouble_;
  std::vector<Refusal> refusals_;  // Of others.
  // The calls that were refused here, and how many ranks have said the same of theirs.
  std::map<std::uint64_t, Rank> refused_here_;
  Description current_;  // What messages of operation current_number_ have to be.
  std::uint64_t current_number_ = 0;
  std::uint32_t current_history_ = 0;
  std::unique_ptr<Agreement> agreement_;
  bool is_told_away_ = false;   // To all, that this rank was left out.
  bool has_withdrawn_ = false;  // From agreement_, as for too long too few could be reached.
  std::uint64_t parent_ = 0;    // The context of which this is made of those who are left.
  std::vector<std::pair<Rank, AgreementMessage>> early_;
  loop::Timer ask_again_;  // Whether those who are lost have ended; while they are the most.
  Duration ask_after_{};
  std::optional<TimePoint> few_since_;  // They are the most, and this rank cannot decide.
};

// "attempt: ranks 2, 5 did not come"; or that `peer` did not go on.
std::string name_missing(std::string_view attempt, const std::vector<Rank>& missing,
                         std::optional<Rank> peer = std::nullopt);

}  // namespace muster::collectives::internal

// How the survivors of a crew agree: an Agreement, fed by links.

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "muster/collectives/crew.h"

namespace muster::collectives::internal {
namespace {

constexpr std::size_t kMostEarlyMessages = 4096;
// How often it is asked anew whether a lost process has ended: at first, and after a while.
constexpr Duration kAskAgain = std::chrono::milliseconds(5);
constexpr Duration kAskRarely = std::chrono::seconds(1);

}  // namespace

Result<Decision> Crew::agree(const Position& position, const msg::Wait& wait) {
  {
    const loop::Turn turn(loop_);
    set_trouble(Error(Code::unavailable,
                      fmt::format("rank {} has begun to shrink(); do so too", called(rank_))));
    tell_trouble();
    if (agreement_ == nullptr) {
      begin_agreement(position);
      take_early();
    }
    stage_ = Stage::agreeing;
  }
  Result<Decision> decision = await_decision(bounded(wait));
  stage_ = Stage::working;
  return decision;
}

Result<Decision> Crew::await_decision(const msg::Wait& wait) {
  const TimePoint begun = loop_.now();
  const TimePoint deadline = wait.deadline_from([this] { return loop_.now(); });
  bool has_complained = false;
  TimePoint asked = begun;
  std::optional<TimePoint> few_since;  // Too few to decide could be reached.
  for (;;) {
    const auto waited =
        msg::internal::wait_for(loop_, wait, std::min(deadline, loop_.now() + kAskAgain), [this] {
          return agreement_->decision().has_value() || agreement_->is_excluded() || is_cancelled_;
        });
    // The waits here are too short for it to be asked by them.
    bool is_over = false;
    if (wait.check() != nullptr && loop_.now() - asked >= msg::Wait::kCheckEvery) {
      asked = loop_.now();
      is_over = wait.check()();
    }
    const loop::Turn turn(loop_);
    if (agreement_->decision()) return *agreement_->decision();
    if (const std::optional<Error> why = why_left_out()) return *why;
    is_over = is_over || is_cancelled_ || waited == msg::internal::Waited::cancelled;
    if (is_over || loop_.now() >= deadline) {
      return not_agreed(is_over ? msg::internal::Waited::cancelled
                                : msg::internal::Waited::timeout);
    }
    // Of a loss on another host no more is ever known: to wait for that is in vain.
    if (!agreement_->lacks_quorum()) few_since.reset();
    if (agreement_->lacks_quorum() && !few_since) few_since = loop_.now();
    if (few_since && loop_.now() - *few_since >= bound_on_silence()) {
      return not_agreed(msg::internal::Waited::timeout);
    }
    if (!has_complained && loop_.now() - begun >= manners_.patience) {
      has_complained = true;
      complain("agree on who is left", not_agreeing(), agreement_->awaited());
    }
    feed_losses();
    send_agreement();
  }
}

std::optional<Error> Crew::why_left_out() const {
  if (agreement_ == nullptr || !agreement_->is_excluded()) return std::nullopt;
  if (has_withdrawn_) return not_agreed(msg::internal::Waited::timeout);
  return Error(Code::unavailable, "the other ranks have taken this one for lost; join anew");
}

Error Crew::not_agreed(msg::internal::Waited waited) const {
  std::optional<Rank> peer = agreement_->awaited();
  if (peer) peer = called(*peer);
  Error error = msg::internal::why_not(
      waited, name_missing("agree on who is left", called(not_agreeing()), peer));
  if (waited == msg::internal::Waited::cancelled || !agreement_->lacks_quorum()) return error;
  return Error(Code::unavailable, "most ranks cannot be reached").during(error.message());
}

void Crew::enter_call() { is_busy_.store(true, std::memory_order_seq_cst); }

void Crew::leave_call(const Position& position) {
  idle_position_ = position;
  is_busy_.store(false, std::memory_order_seq_cst);
  if (!has_trouble()) return;
  // Others may have asked meanwhile.
  const loop::Turn turn(loop_);
  answer_while_idle();
}

// In no call of an elastic one: it stays where it is, as it finds trouble when
// it comes next. Others may wait for it to lead.
void Crew::answer_while_idle() {
  if (agreement_ != nullptr || is_busy_.load(std::memory_order_seq_cst)) return;
  bool is_asked = !early_.empty();
  for (Rank rank = 0; rank < size(); ++rank) is_asked = is_asked || peers_[rank].agrees;
  if (!is_asked) return;
  set_trouble(Error(Code::unavailable, "other ranks have begun to shrink(); do so too"));
  begin_agreement(idle_position_);
  take_early();
}

// All are told, so that everybody can name who has not come.
void Crew::begin_agreement(const Position& position) {
  agreement_ = std::make_unique<Agreement>(size(), rank_, position);
  const Note note{.kind = NoteKind::here, .flags = kAgrees, .context = context_};
  for (const auto& seat : seats_) {
    if (seat != nullptr && seat->is_here()) static_cast<void>(seat->send(note));
  }
}

std::vector<Rank> Crew::not_agreeing() const {
  std::vector<Rank> missing;
  for (Rank rank = 0; rank < size(); ++rank) {
    const bool is_needed = rank != rank_ && !agreement_->is_lost(rank);
    if (is_needed && !peers_[rank].agrees) missing.push_back(rank);
  }
  return missing;
}

void Crew::take_early() {
  feed_losses();
  for (const auto& [from, message] : std::exchange(early_, {})) agreement_->receive(from, message);
  send_agreement();
}

void Crew::feed_losses() {
  for (Rank rank = 0; rank < size(); ++rank) {
    const Seat* const seat = seats_[rank].get();
    if (seat == nullptr) continue;
    if (has_left(rank)) {
      agreement_->lose(rank, Loss::left);
    } else if (seat->lost) {
      agreement_->lose(rank, seat->loss());
    } else if (size() == 2 && seat->away_from.contains(context_)) {
      // Of more, it may have accepted what a third has decided.
      agreement_->lose(rank, Loss::left);
    } else if (peers_[rank].is_left_out && !is_ready(rank)) {
      // What says that it comes would have come before.
      if (seat->away_from.contains(parent_)) agreement_->lose(rank, Loss::left);
      agreement_->leave_out(rank);
    }
  }
  ask_again_while_few();
}

// One of this host, whose links break before it has ended.
bool Crew::may_learn_of_an_end() const {
  return std::ranges::any_of(seats_, [&](const auto& seat) {
    return seat != nullptr && seat->lost && seat->hello &&
           seat->hello->process.is_same_host(fabric_->process()) && seat->loss() == Loss::unsure;
  });
}

// Also in no call: others may wait for this rank to lead. Of a loss on another host no more is ever
// known: then they are not to wait for it for longer than silence may last.
void Crew::ask_again_while_few() {
  const bool is_over = agreement_->decision() || agreement_->is_excluded() || is_cancelled_;
  if (is_over || !agreement_->lacks_quorum()) {
    loop_.stop(ask_again_);
    ask_after_ = {};
    return few_since_.reset();
  }
  if (!few_since_) few_since_ = loop_.now();
  const TimePoint bound = *few_since_ + bound_on_silence();
  const bool may_learn = may_learn_of_an_end();
  if (!may_learn && loop_.now() >= bound) {
    has_withdrawn_ = true;
    agreement_->withdraw();
  } else if (!ask_again_.is_armed()) {
    if (may_learn) ask_after_ = std::clamp(2 * ask_after_, kAskAgain, kAskRarely);
    loop_.start(ask_again_, may_learn ? loop_.now() + ask_after_ : bound);
  }
}

void Crew::send_agreement() {
  for (const Agreement::Outgoing& outgoing : agreement_->take_outgoing()) {
    Seat& seat = *seats_[outgoing.to];
    wire::Parts parts;
    parts.push_back(Buffer::adopt(encode(outgoing.message)));
    static_cast<void>(seat.send({.kind = NoteKind::agree, .context = context_}, std::move(parts)));
  }
  if (agreement_->is_excluded() && !std::exchange(is_told_away_, true)) tell_away();
}

// Also who counts this rank in, and who knows nothing of it: nothing is made of this crew here from
// now on (start_crew()), so that whoever hears this has heard of all that was.
void Crew::tell_away() {
  for (const auto& seat : seats_) {
    if (seat == nullptr || !seat->is_here()) continue;
    static_cast<void>(seat->send({.kind = NoteKind::away, .context = context_}));
  }
}

void Crew::look_who_is_left() {
  if (agreement_ == nullptr) return;
  feed_losses();
  send_agreement();
}

void Crew::take_agreement(Rank from, const wire::Frame& frame) {
  if (frame.parts.size() != 1) return;
  Result<AgreementMessage> message = decode_agreement(frame.parts[0].bytes(), size());
  if (!message) return;
  if (agreement_ == nullptr) {
    // Somebody has given this crew up: so has it to be by all.
    set_trouble(Error(Code::unavailable, "other ranks have begun to shrink(); do so too"));
    if (early_.size() < kMostEarlyMessages) early_.emplace_back(from, *std::move(message));
    return answer_while_idle();
  }
  feed_losses();
  agreement_->receive(from, *message);
  send_agreement();
}

}  // namespace muster::collectives::internal

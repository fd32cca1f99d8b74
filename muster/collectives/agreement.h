// Agreement: how survivors decide, once, who they are and how far they all came.
//
// A value that is told what happens and says what to send; it knows no clock
// and no link. The lowest rank that is not lost asks all others for their
// positions, proposes a decision when all who are left have answered, and makes
// it known when all who are left have accepted. Whoever takes over from it asks
// first, and proposes again what it finds accepted. So no two ranks ever decide
// differently, also if the one that decided first dies at once.
//
// A rank that may be alive, but cannot be reached, is only left out by a
// majority, or by the half with the lowest rank: two sides of a cut network
// never decide both. The dead count as well while one may be alive that has
// decided with them. Of two who cannot reach each other, but can be reached,
// the higher rank is left out: they could do nothing together.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "muster/base/result.h"
#include "muster/collectives/plan.h"

namespace muster::collectives {

// What is known of a rank that cannot be reached any more, the later the more.
enum class Loss : std::uint8_t {
  unsure,  // It may be alive.
  dead,    // It has ended, and may have decided before.
  left,    // It has said goodbye, after all else that it had to say.
};

// How far a rank has come, in operations.
struct Position {
  std::uint64_t completed = 0;  // Returned to the caller.
  std::uint64_t prepared = 0;   // Has the result, but may not be sure that all have. Elastic.
  bool shrinks = false;         // Its caller goes on with another communicator.
  bool is_unsure() const { return prepared > completed; }
  friend bool operator==(const Position&, const Position&) = default;
};

struct Decision {
  std::vector<Rank> survivors;  // Ascending.
  // Over the survivors.
  std::uint64_t all_completed = 0;  // The least.
  std::uint64_t any_completed = 0;  // The most.
  std::uint64_t all_prepared = 0;   // The least.
  bool is_shrink = false;           // One shrinks: so have all to.
  friend bool operator==(const Decision&, const Decision&) = default;
};

// Counts up; of equal rounds the higher rank is later.
struct Ballot {
  std::uint32_t round = 0;  // 0: none.
  Rank rank = 0;
  friend auto operator<=>(const Ballot&, const Ballot&) = default;
};

struct AgreementMessage {
  enum class Kind : std::uint8_t {
    ask = 1,      // Where are you? Promise to follow nobody earlier than `ballot`.
    state = 2,    // The answer: position, and what was accepted.
    propose = 3,  // Accept this decision.
    accept = 4,   // It is.
    refuse = 5,   // A later ballot was promised: this one. Or `lost` names the receiver, or the
                  // sender: that one has no part in this any more.
    decided = 6,  // This is decided.
  };
  Kind kind = Kind::ask;
  Ballot ballot = {};
  Position position = {};                 // state.
  Ballot accepted = {};                   // state: when `decision` was accepted; round 0: never.
  std::optional<Decision> decision = {};  // state, propose, decided.
  std::vector<Rank> lost = {};            // ask, state, propose: whom the sender takes for lost.

  friend bool operator==(const AgreementMessage&, const AgreementMessage&) = default;
};

// The bytes of a message, and back. Code::invalid for what is none among `ranks`.
std::vector<std::byte> encode(const AgreementMessage& message);
Result<AgreementMessage> decode_agreement(std::span<const std::byte> bytes, Rank ranks);

class Agreement {
 public:
  struct Outgoing {
    Rank to;
    AgreementMessage message;
  };

  Agreement(Rank ranks, Rank me, Position mine);

  // `rank` cannot be reached any more. May be called again when more is known.
  void lose(Rank rank, Loss loss);
  // `rank` is not one of those who agree here, though it may be alive and within reach: then it is
  // told.
  void leave_out(Rank rank);
  // This rank has no part in this any more, as it cannot decide. Others do not wait for it: to them
  // it is one that may be alive.
  void withdraw();
  void receive(Rank from, const AgreementMessage& message);

  // What has to be sent by now, in order. To be asked for after each of the above.
  std::vector<Outgoing> take_outgoing();

  const std::optional<Decision>& decision() const { return decision_; }
  // The others have taken this rank for lost, or it has withdrawn.
  bool is_excluded() const { return is_excluded_; }
  // Too few can be reached to decide; may change when more is known of a loss.
  bool lacks_quorum() const { return !has_quorum(); }
  bool is_lost(Rank rank) const { return peers_[rank].is_lost; }
  // One of those whose word is waited for.
  std::optional<Rank> awaited() const;

 private:
  struct Peer {
    bool is_lost = false;
    Loss loss = Loss::unsure;
    std::optional<AgreementMessage> state;
    bool has_accepted = false;
  };
  enum class Stage : std::uint8_t { following, asking, proposing };

  Rank coordinator() const;
  bool has_quorum() const;
  std::vector<Rank> lost() const;
  void consider();
  void begin_round();
  void propose_if_all_answered();
  bool leave_out_the_parted();
  void decide_if_all_accepted();
  Decision choose() const;
  AgreementMessage own_state() const;
  void answer_ask(Rank from, const AgreementMessage& message);
  void answer_proposal(Rank from, const AgreementMessage& message);
  void adopt_losses(const std::vector<Rank>& lost);
  void take_for_lost(Rank rank);
  void be_excluded();
  void take_up_held();
  void decide(const Decision& decision);
  void send(Rank to, AgreementMessage message);
  void send_to_others(const AgreementMessage& message);

  Rank ranks_;
  Rank me_;
  Position mine_;
  std::vector<Peer> peers_;  // This rank among them.
  Stage stage_ = Stage::following;
  Ballot promised_;
  Ballot own_ballot_;
  Ballot accepted_;
  std::optional<Decision> accepted_decision_;
  std::optional<Decision> proposal_;
  std::optional<Decision> known_;     // What is decided, also if this rank has no part in it.
  std::optional<Decision> decision_;  // The same, if it has.
  bool is_excluded_ = false;
  // Who cannot reach whom, the lower rank first, though both had answered: known
  // before this round. If both answer again, neither is dead.
  std::set<std::pair<Rank, Rank>> parted_;
  // Asks of ranks that would lead if others were lost of whom that is not known here.
  std::vector<std::pair<Rank, AgreementMessage>> held_;
  std::vector<Outgoing> outgoing_;
};

}  // namespace muster::collectives

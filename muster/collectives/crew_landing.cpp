// Where messages land: in the caller's memory, if it was said before they come.

#include <algorithm>
#include <utility>

#include "muster/collectives/crew.h"

namespace muster::collectives::internal {
namespace {

// Owns nothing; tells when nobody writes the bytes any more.
class LandingOwner final : public BufferOwner {
 public:
  LandingOwner(std::shared_ptr<std::atomic<bool>> is_back, loop::Loop& loop)
      : is_back_(std::move(is_back)), loop_(loop) {}

 private:
  void dispose() noexcept override {
    is_back_->store(true, std::memory_order_release);
    // Who waits looks again when the baton is given up; else it has to be told.
    if (!loop_.is_held()) loop_.post([] {});
    delete this;
  }

  const std::shared_ptr<std::atomic<bool>> is_back_;
  loop::Loop& loop_;
};

}  // namespace

void Crew::expect(Rank from, std::uint64_t index, std::span<std::byte> memory) {
  const loop::Turn turn(loop_);
  peers_[from].landings.push_back({index, memory, nullptr});
}

bool Crew::is_ready_for(const Note& note) const {
  return note.kind != NoteKind::data || note.number <= current_number_ || has_trouble();
}

void Crew::resume_messages() {
  const loop::Turn turn(loop_);
  for (const auto& seat : seats_) {
    if (seat != nullptr && seat->link != nullptr) seat->link->resume();
  }
}

WritableBuffer Crew::place(Seat& seat, const Note& note, std::uint64_t size) {
  const std::optional<Rank> from = rank_of(seat);
  if (!from || note.kind != NoteKind::data || has_trouble()) return {};
  // What is of another operation, or of another call, has no place in this one.
  if (note.number != inside_.load(std::memory_order_acquire)) return {};
  if (note.number != current_number_ || note.what != current_) return {};
  for (Landing& landing : peers_[*from].landings) {
    if (landing.index != note.value) continue;
    // Given out once: nobody writes where another message lies.
    if (landing.is_back != nullptr || landing.memory.size() != size) return {};
    landing.is_back = std::make_shared<std::atomic<bool>>(false);
    return {landing.memory, new LandingOwner(landing.is_back, loop_)};  // NOLINT(*-owning-memory)
  }
  return {};
}

// `part` is the next message of `from`'s. Once it is the caller's memory that it
// lies in, nobody but the caller has it.
Status Crew::let_land(Rank from, Buffer& part) {
  Peer& peer = peers_[from];
  const std::uint64_t index = peer.receives++;
  while (!peer.landings.empty() && peer.landings.front().index <= index) {
    const Landing landing = peer.landings.front();
    if (landing.is_back != nullptr) {
      if (part.data() == landing.memory.data()) part = Buffer(landing.memory, nullptr);
      if (!landing.is_back->load(std::memory_order_acquire)) {
        return Error(Code::invalid, "a rank sent a message twice");
      }
    }
    peer.landings.pop_front();
  }
  return ok();
}

bool Crew::is_written_by(Rank peer) const {
  return std::ranges::any_of(peers_[peer].landings, [](const Landing& landing) {
    return landing.is_back != nullptr && !landing.is_back->load(std::memory_order_acquire);
  });
}

bool Crew::has_lent() const {
  if (has_unsettled()) return true;
  for (Rank peer = 0; peer < size(); ++peer) {
    if (is_written_by(peer)) return true;
  }
  return false;
}

void Crew::count_messages_anew() {
  for (Rank peer = 0; peer < size(); ++peer) {
    peers_[peer].sends = peers_[peer].receives = 0;
    peers_[peer].landings.clear();
  }
}

}  // namespace muster::collectives::internal

// An agreement's messages as bytes: numbers, one after the other.

#include <cstring>

#include "muster/collectives/agreement.h"
#include "muster/wire/bytes.h"

namespace muster::collectives {
namespace {

// Beside the kind, and beside that there is a decision.
constexpr std::uint64_t kShrinks = 1U << 8;
constexpr std::uint64_t kIsShrink = 1U << 1;

class Writer {
 public:
  void put(std::uint64_t number) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof number);
    wire::store(bytes_.data() + at, number);
  }
  void put(const Ballot& ballot) {
    put(ballot.round);
    put(ballot.rank);
  }
  void put(const std::vector<Rank>& ranks) {
    put(ranks.size());
    for (const Rank rank : ranks) put(rank);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, Rank ranks) : bytes_(bytes), ranks_(ranks) {}

  std::uint64_t number() {
    if (bytes_.size() < sizeof(std::uint64_t)) {
      is_sound_ = false;
      return 0;
    }
    const auto value = wire::load<std::uint64_t>(bytes_.data());
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  Rank rank() {
    const std::uint64_t value = number();
    if (value >= ranks_) is_sound_ = false;
    return is_sound_ ? static_cast<Rank>(value) : 0;
  }
  Ballot ballot() {
    const std::uint64_t round = number();
    if (round > UINT32_MAX) is_sound_ = false;
    return {static_cast<std::uint32_t>(round), rank()};
  }
  std::vector<Rank> ranks() {
    const std::uint64_t count = number();
    if (count > ranks_) is_sound_ = false;
    std::vector<Rank> list;
    for (std::uint64_t i = 0; is_sound_ && i < count; ++i) {
      const Rank next = rank();
      if (!list.empty() && next <= list.back()) is_sound_ = false;
      list.push_back(next);
    }
    return list;
  }
  bool is_sound() const { return is_sound_; }
  bool is_over() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  Rank ranks_;
  bool is_sound_ = true;
};

}  // namespace

std::vector<std::byte> encode(const AgreementMessage& message) {
  Writer writer;
  writer.put(static_cast<std::uint64_t>(message.kind) | (message.position.shrinks ? kShrinks : 0));
  writer.put(message.ballot);
  writer.put(message.position.completed);
  writer.put(message.position.prepared);
  writer.put(message.accepted);
  writer.put(message.lost);
  if (!message.decision) {
    writer.put(0);
  } else {
    writer.put(1 | (message.decision->is_shrink ? kIsShrink : 0));
    writer.put(message.decision->survivors);
    writer.put(message.decision->all_completed);
    writer.put(message.decision->any_completed);
    writer.put(message.decision->all_prepared);
  }
  return writer.take();
}

Result<AgreementMessage> decode_agreement(std::span<const std::byte> bytes, Rank ranks) {
  Reader reader(bytes, ranks);
  AgreementMessage message;
  const std::uint64_t first = reader.number();
  const std::uint64_t kind = first & ~kShrinks;
  message.position.shrinks = (first & kShrinks) != 0;
  message.kind = static_cast<AgreementMessage::Kind>(kind);
  message.ballot = reader.ballot();
  message.position.completed = reader.number();
  message.position.prepared = reader.number();
  message.accepted = reader.ballot();
  message.lost = reader.ranks();
  const std::uint64_t has_decision = reader.number();
  if ((has_decision & ~kIsShrink) == 1) {
    Decision decision;
    decision.is_shrink = (has_decision & kIsShrink) != 0;
    decision.survivors = reader.ranks();
    decision.all_completed = reader.number();
    decision.any_completed = reader.number();
    decision.all_prepared = reader.number();
    message.decision = std::move(decision);
  }
  if (!reader.is_sound() || !reader.is_over() || kind < 1 || kind > 6) {
    return Error(Code::invalid, "read an agreement's message: these bytes are none");
  }
  return message;
}

}  // namespace muster::collectives

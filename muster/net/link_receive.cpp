// A link's receiving half: nothing of what the peer says is believed unchecked.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/net/invalid.h"
#include "muster/net/link.h"
#include "muster/net/link_shared.h"

namespace muster::net {
namespace {

Lane lane_of(const LinkHead& head) { return {head.channel, head.priority}; }

}  // namespace

inline void Link::deliver(wire::Frame& frame, std::uint64_t size, Lane lane, std::uint32_t cost) {
  ++counters_.messages_received;
  counters_.bytes_received += size;
  sink_->on_message(frame, lane, cost);
}

// Most are charged in full; less only where parts have come by reference.
inline bool Link::is_cost_of(const wire::Frame& frame, std::uint64_t size,
                             std::uint32_t cost) const {
  if (cost == kMessageCost + size) return true;
  return cost < kMessageCost + size && cost >= kMessageCost + look_at(frame).counted;
}

inline void Link::take_message(const LinkHead& head, wire::Frame& frame) {
  const std::uint64_t size = frame.body_size();
  if (!is_cost_of(frame, size, head.aux) || size > shared_.options.max_body) {
    return protocol_error(
        invalid(fmt::format("a message of {} bytes that costs {}", size, head.aux)));
  }
  if (!receive_window_.take(head.aux))
    return protocol_error(invalid("more than the window allows"));
  deliver(frame, size, lane_of(head), head.aux);
}

void Link::on_frame(wire::Frame& frame) {
  if (!is_established()) return shake_hands(frame);
  LinkHead head;
  if (!read_link_head(frame.head, version_, head)) {
    return protocol_error(why_not_a_head(frame.head, version_));
  }
  keep_alive_.heard();
  if (!send_window_.give_back(head.credit)) return protocol_error(invalid("credit for nothing"));
  if (head.kind == Kind::message) {
    take_message(head, frame);
  } else {
    dispatch(head, frame);
  }
  if (head.credit != 0 && !lanes_.empty()) pump();
}

void Link::dispatch(const LinkHead& head, wire::Frame& frame) {
  switch (head.kind) {
    case Kind::beat:
    case Kind::credit: break;
    case Kind::offer: take_offer(head, frame); break;
    case Kind::chunk: take_chunk(head, frame); break;
    case Kind::grant: take_grant(head); break;
    case Kind::decline: take_decline(head); break;
    case Kind::bye: take_bye(head); break;
    default:
      protocol_error(
          invalid(fmt::format("a frame of kind {} after the handshake", name(head.kind))));
  }
}

void Link::take_offer(const LinkHead& head, wire::Frame& frame) {
  if (head.id <= last_offer_seen_) return protocol_error(invalid("an offer with an old id"));
  last_offer_seen_ = head.id;
  // All but the list of sizes is charged, and at most a quarter of the window.
  const std::uint64_t riding = look_at(frame).counted;
  const std::uint64_t list = frame.parts.empty() ? 0 : frame.parts[0].size();
  auto transfer = IncomingTransfer::read(head.id, std::move(frame.parts), shared_.options.max_body);
  if (!transfer) return protocol_error(transfer.error());
  const std::uint64_t least = transfer->bytes() + riding - std::min(riding, list) + kMessageCost;
  if (head.aux < std::min<std::uint64_t>(least, receive_window_.size() / 4) ||
      !receive_window_.take(head.aux)) {
    return protocol_error(invalid("an offer that the window does not allow"));
  }
  const std::uint64_t pause = version_ >= kPausesVersion ? head.offset : 0;
  if (pause >= transfer->bytes()) {
    return protocol_error(invalid("an offer with a pause at its end"));
  }
  receiving_.push_back(std::make_unique<internal::Receiving>(
      internal::Receiving{*std::move(transfer), frame.head, lane_of(head), head.aux, pause}));
  if (sink_->is_ready_for(frame.head)) admit(*receiving_.back());
}

void Link::resume() {
  // By index: one for which there is no memory goes.
  for (std::size_t i = 0; i < receiving_.size(); ++i) {
    if (receiving_[i]->is_postponed && sink_->is_ready_for(receiving_[i]->head)) {
      admit(*receiving_[i]);
    }
  }
}

void Link::admit(internal::Receiving& receiving) {
  if (!std::exchange(receiving.is_postponed, false)) return;
  shared_.grants.ask({this, receiving.transfer.id()}, receiving.transfer.bytes());
  shared_.grant_more();
}

void Link::grant(std::uint64_t transfer) {
  internal::Receiving& receiving = *find_receiving(transfer);
  const auto find = [&](std::size_t part, std::uint64_t size) {
    WritableBuffer memory = sink_->place_body(receiving.head, part, size);
    return memory.size() >= size ? std::move(memory) : shared_.bodies.take(size);
  };
  if (receiving.transfer.allocate(find)) return say_go_on(receiving);
  LinkHead head = head_for(Kind::decline, receiving.lane);
  head.id = transfer;
  shared_.grants.finish(receiving.transfer.bytes());
  receive_window_.done(receiving.cost);
  remove_receiving(transfer);
  send_control(head);
}

void Link::say_go_on(const internal::Receiving& receiving) {
  LinkHead head = head_for(Kind::grant, receiving.lane);
  head.id = receiving.transfer.id();
  send_control(head);
}

internal::Receiving* Link::find_receiving(std::uint64_t transfer) const {
  const auto found = std::ranges::find_if(
      receiving_, [&](const auto& one) { return one->transfer.id() == transfer; });
  return found == receiving_.end() ? nullptr : found->get();
}

std::unique_ptr<internal::Receiving> Link::remove_receiving(std::uint64_t transfer) {
  const auto found = std::ranges::find_if(
      receiving_, [&](const auto& one) { return one->transfer.id() == transfer; });
  std::unique_ptr<internal::Receiving> removed = std::move(*found);
  receiving_.erase(found);
  return removed;
}

WritableBuffer Link::place(const wire::Head& bytes, std::size_t part, std::uint64_t size) {
  if (!is_established()) {
    // A stranger has nothing so large to say.
    if (state_ != State::ending) fail(invalid("a large frame before the handshake was done"));
    return {};
  }
  LinkHead head;
  if (!read_link_head(bytes, version_, head)) {
    protocol_error(why_not_a_head(bytes, version_));
    return {};
  }
  // A message that goes whole may have one part of just this size.
  if (head.kind == Kind::message && size <= kLargePart) return {};
  const internal::Receiving* receiving = find_receiving(head.id);
  WritableBuffer memory;
  if (head.kind == Kind::chunk && part == 0 && receiving != nullptr) {
    memory = receiving->transfer.place(head.aux, head.offset, size);
  }
  if (memory.size() == 0) {
    protocol_error(
        invalid(fmt::format("a {} with {} bytes that have no place", name(head.kind), size)));
  }
  return memory;
}

bool Link::is_lent(const wire::Head& bytes) const {
  LinkHead head;
  if (!is_established() || !read_link_head(bytes, version_, head)) return false;
  const internal::Receiving* const receiving = find_receiving(head.id);
  return receiving != nullptr && receiving->transfer.received() < receiving->pause;
}

void Link::take_chunk(const LinkHead& head, wire::Frame& frame) {
  internal::Receiving* const receiving = find_receiving(head.id);
  if (receiving == nullptr || frame.parts.size() != 1) {
    return protocol_error(invalid("a chunk of no transfer"));
  }
  const std::uint64_t before = receiving->transfer.received();
  const Status accepted = receiving->transfer.accept(head.aux, head.offset, frame.parts[0]);
  if (!accepted) return protocol_error(accepted.error());
  if (const std::uint64_t now = receiving->transfer.received(); before < receiving->pause) {
    if (now > receiving->pause) return protocol_error(invalid("a chunk across a pause"));
    if (now == receiving->pause) say_go_on(*receiving);
  }
  if (!receiving->transfer.is_whole()) return;
  // Lets go of the memory first, so that the message is its only holder.
  frame.parts.clear();
  const std::unique_ptr<internal::Receiving> whole = remove_receiving(head.id);
  shared_.grants.finish(whole->transfer.bytes());
  wire::Frame message{whole->head, whole->transfer.take()};
  deliver(message, message.body_size(), whole->lane, whole->cost);
  shared_.grant_more();
}

void Link::take_grant(const LinkHead& head) {
  Queued* const queued = lanes_.find_waiting(head.id);
  if (queued == nullptr) return protocol_error(invalid("a grant of what was not offered"));
  lanes_.resume(queued);
  pump();
}

void Link::take_decline(const LinkHead& head) {
  Queued* const queued = lanes_.find_waiting(head.id);
  if (queued == nullptr) return protocol_error(invalid("a refusal of what was not offered"));
  // It was granted before, and what it lent may still be read.
  if (queued->transfer->is_at_pause()) return protocol_error(invalid("a refusal at a pause"));
  give_up(*queued, Error(Code::overloaded, "the peer has no memory for the body"));
  pump();
}

// A bye tells that nothing follows; its answer, with aux 1, that all before it
// was received. Only then may a side hang up: that drops what its driver
// holds. A side that is leaving too answers after its own bye.
void Link::take_bye(const LinkHead& head) {
  if (head.aux == 1) {
    if (!is_bye_said_) return protocol_error(invalid("an answer to a goodbye that was not said"));
    return fail(Error(Code::cancelled, "the link was closed on this side"));
  }
  if (is_bye_heard_) return protocol_error(invalid("a second goodbye"));
  is_bye_heard_ = true;
  if (state_ != State::leaving || is_bye_said_) answer_bye();
  if (state_ != State::up) return;
  why_ = Error(Code::unavailable, "the peer closed the link");
  wait_for(shared_.options.close_deadline, State::left);
}

}  // namespace muster::net

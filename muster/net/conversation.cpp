#include "muster/net/conversation.h"

#include <utility>

namespace muster::net {
namespace {

// Messages that may wait in the link while their sender goes on. With more it
// drives the loop until they have left, which is cheaper than leaving that to
// others.
constexpr std::size_t kMostQueued = 4;

}  // namespace

Conversation::~Conversation() {
  const loop::Turn turn(loop_);
  link_.reset();
  late_.clear();
  arrived_.clear();
}

Result<std::vector<Address>> Conversation::listen(std::span<const Address> addresses) {
  const loop::Turn turn(loop_);
  return endpoint_.listen(addresses, [this](std::unique_ptr<Link> link) -> LinkSink& {
    if (link_ == nullptr) {
      link_ = std::move(link);
      return *this;
    }
    std::erase_if(late_, [](const Latecomer& one) { return one.link == nullptr; });
    return late_.emplace_back(std::move(link));
  });
}

Status Conversation::wait_until_up(TimePoint deadline) {
  if (!loop_.wait_until([this] { return is_up_ || end_; }, deadline)) {
    return Error(Code::timeout, "the link did not come up before the deadline");
  }
  if (!is_up_) return ended();
  return ok();
}

Status Conversation::connect(const std::vector<Address>& addresses, DialOptions options,
                             TimePoint deadline) {
  {
    const loop::Turn turn(loop_);
    link_ = endpoint_.connect(addresses, *this, std::move(options));
  }
  return wait_until_up(deadline);
}

Status Conversation::send(Buffer body, TimePoint deadline) {
  wire::Frame frame;
  frame.head.resize(kLinkHead);
  frame.parts.push_back(std::move(body));
  return send_when_possible([&] { return link_->send(frame); }, deadline);
}

Status Conversation::send_copy(std::span<const std::byte> body, TimePoint deadline) {
  return send_when_possible([&] { return link_->send_copy(body); }, deadline);
}

template <class Send>
inline Status Conversation::send_when_possible(const Send& send, TimePoint deadline) {
  const auto try_to_send = [&]() -> Status {
    const loop::Turn turn(loop_);
    if (link_ == nullptr || end_) return ended();
    if (link_->queued() >= kMostQueued) return Error(Code::overloaded, "enough waits in the link");
    return send();
  };
  for (;;) {
    Status sent = try_to_send();
    if (sent || sent.error().code() != Code::overloaded) return sent;
    MUSTER_TRY_OK(wait_for_room(deadline));
  }
}

Status Conversation::wait_for_room(TimePoint deadline) {
  if (loop_.wait_until([this] { return link_->queued() == 0 || end_; }, deadline)) return ok();
  return Error(Code::timeout, "the link had no room before the deadline");
}

// Under the baton. True if there is something to give, or never will be.
bool Conversation::take_arrived() {
  // The loop may ask again after it was told yes.
  if (next_ < taken_.size()) return true;
  if (arrived_.empty()) return end_.has_value();
  taken_.clear();
  taken_.swap(arrived_);
  next_ = 0;
  link_->done(std::exchange(arrived_cost_, 0));
  return true;
}

Result<Buffer> Conversation::receive(TimePoint deadline) {
  if (next_ == taken_.size()) {
    if (!loop_.wait_until([this] { return take_arrived(); }, deadline)) {
      return Error(Code::timeout, "no message came before the deadline");
    }
    if (next_ == taken_.size()) return ended();
  }
  return std::move(taken_[next_++]);
}

Result<WritableBuffer> Conversation::allocate(std::size_t size) {
  const loop::Turn turn(loop_);
  if (link_ == nullptr) return ended();
  return link_->allocate(size);
}

void Conversation::close() {
  {
    const loop::Turn turn(loop_);
    if (link_ == nullptr) return;
    if (!end_) link_->close();
  }
  loop_.wait_until([this] { return end_.has_value(); });
}

LinkPeer Conversation::peer() const {
  const loop::Turn turn(loop_);
  return link_ != nullptr ? link_->peer() : LinkPeer{};
}

Error Conversation::ended() const {
  const loop::Turn turn(loop_);
  return end_ ? *end_ : Error(Code::invalid, "this conversation has not been begun");
}

void Conversation::on_up(Link&) { is_up_ = true; }

void Conversation::on_message(wire::Frame& frame, Lane, std::size_t cost) {
  arrived_.push_back(frame.parts.empty() ? Buffer() : std::move(frame.parts[0]));
  arrived_cost_ += cost;
}

}  // namespace muster::net

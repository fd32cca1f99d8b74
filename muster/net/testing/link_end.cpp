#include "muster/net/testing/link_end.h"

#include <utility>

#include "muster/net/testing/driver_suite.h"
#include "muster/net/testing/pattern.h"
#include "muster/wire/bytes.h"

namespace muster::net::testing {

LinkEnd::~LinkEnd() {
  const loop::Turn turn(loop_);
  link.reset();
}

Status LinkEnd::send(wire::Frame& frame, Lane lane) {
  const loop::Turn turn(loop_);
  const bool was_inside = std::exchange(is_inside_call_, true);
  Status sent = link->send(frame, lane);
  is_inside_call_ = was_inside;
  return sent;
}

void LinkEnd::close() {
  const loop::Turn turn(loop_);
  is_inside_call_ = true;
  link->close();
  is_inside_call_ = false;
}

void LinkEnd::release() {
  const loop::Turn turn(loop_);
  is_holding = false;
  link->done(std::exchange(held_, 0));
}

LinkCounters LinkEnd::counters() {
  const loop::Turn turn(loop_);
  return link->counters();
}

std::vector<wire::Frame> LinkEnd::take_messages() {
  const loop::Turn turn(loop_);
  return std::exchange(messages, {});
}

Error LinkEnd::closed_with() {
  const loop::Turn turn(loop_);
  return why_closed ? *why_closed : Error(Code::internal, "it is not closed");
}

void LinkEnd::check_news(const char* what) const {
  EXPECT_TRUE(loop_.is_held()) << what << " came without the baton";
  EXPECT_EQ(closed_count_, 0) << what << " came after the end";
}

void LinkEnd::on_up(Link& up) {
  check_news("up");
  EXPECT_TRUE(link == nullptr || link.get() == &up);
  EXPECT_FALSE(is_up_) << "up twice";
  is_up_ = true;
  ++up_count_;
}

void LinkEnd::on_message(wire::Frame& frame, Lane lane, std::size_t cost) {
  check_news("a message");
  EXPECT_TRUE(is_up_) << "a message while the link is down";
  EXPECT_FALSE(is_inside_call_) << "a message from inside a call";
  if (take) {
    take(frame, lane);
  } else {
    messages.push_back(std::move(frame));
    lanes.push_back(lane);
  }
  if (is_holding) {
    held_ += cost;
  } else {
    link->done(cost);
  }
  ++message_count_;
}

WritableBuffer LinkEnd::place_body(const wire::Head& head, std::size_t part, std::uint64_t size) {
  check_news("a body");
  return provide ? provide(head, part, size) : WritableBuffer();
}

void LinkEnd::on_room() {
  check_news("room");
  ++room_count_;
  if (when_room) when_room();
}

void LinkEnd::on_refused(wire::Frame& frame, Lane /*lane*/, const Error& /*why*/) {
  check_news("a refusal");
  refused.push_back(std::move(frame));
  ++refused_count_;
}

void LinkEnd::on_down(const Error& why, bool /*will_retry*/) {
  check_news("down");
  EXPECT_FALSE(is_inside_call_) << "down from inside a call";
  why_down = why;
  is_up_ = false;
  ++down_count_;
}

void LinkEnd::on_closed(Error why) {
  check_news("the end");
  EXPECT_FALSE(is_inside_call_) << "the end from inside a call";
  why_closed = std::move(why);
  is_up_ = false;
  ++closed_count_;
}

Party::Party(Rig::Side side, const std::function<void(EndpointOptions&)>& tweak)
    : loop_(side.loop) {
  EndpointOptions options;
  options.window = kWindow;
  options.token = token();
  options.name = "party";
  options.drivers = {&side.driver};
  // Where all takes longer, a handshake does.
  if (const std::size_t patience = from_environment("MUSTER_PATIENCE", 0); patience > 0) {
    options.handshake_deadline = std::chrono::seconds(patience);
  }
  if (tweak) tweak(options);
  const loop::Turn turn(loop_);
  auto made = Endpoint::make(loop_, std::move(options));
  if (!made) {
    ADD_FAILURE() << made.error().describe();
    return;
  }
  endpoint_ = *std::move(made);
}

Party::~Party() {
  const loop::Turn turn(loop_);
  // Nobody comes in any more; then the links, then what they stand on.
  if (endpoint_) endpoint_->stop_listening();
  dialed_.clear();
  accepted_.clear();
  endpoint_.reset();
}

Address Party::listen(const Address& address, std::function<void(LinkEnd&)> prepare) {
  const loop::Turn turn(loop_);
  prepare_ = std::move(prepare);
  const auto actual =
      endpoint_->listen(std::span(&address, 1), [this](std::unique_ptr<Link> link) -> LinkSink& {
        LinkEnd& made = accepted_.emplace_back(loop_);
        made.link = std::move(link);
        if (prepare_) prepare_(made);
        ++count_;
        return made;
      });
  if (actual) return actual->front();
  ADD_FAILURE() << actual.error().describe();
  return {};
}

LinkEnd& Party::connect(const Address& address, DialOptions options,
                        const std::function<void(LinkEnd&)>& prepare) {
  const loop::Turn turn(loop_);
  LinkEnd& made = dialed_.emplace_back(loop_);
  if (prepare) prepare(made);
  made.link = endpoint_->connect({address}, made, std::move(options));
  return made;
}

LinkEnd& Party::end(std::size_t index) {
  const loop::Turn turn(loop_);
  return *std::next(accepted_.begin(), static_cast<std::ptrdiff_t>(index));
}

std::vector<std::byte> token(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

wire::Frame message(std::uint64_t index, const std::vector<std::size_t>& sizes) {
  wire::Frame frame;
  wire::store(frame.head.resize(kLinkHead + sizeof index).data() + kLinkHead, index);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    frame.parts.push_back(pattern(sizes[i], index + i));
  }
  return frame;
}

std::uint64_t index_of(const wire::Head& head) {
  if (head.size() < kLinkHead + sizeof(std::uint64_t)) return UINT64_MAX;
  return wire::load<std::uint64_t>(head.bytes().data() + kLinkHead);
}

::testing::AssertionResult is_message(const wire::Frame& frame, std::uint64_t index,
                                      const std::vector<std::size_t>& sizes) {
  if (index_of(frame.head) != index) {
    return ::testing::AssertionFailure()
           << "message " << index_of(frame.head) << " in place of " << index;
  }
  if (frame.parts.size() != sizes.size()) {
    return ::testing::AssertionFailure() << frame.parts.size() << " parts";
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (frame.parts[i].size() != sizes[i] || !matches(frame.parts[i].bytes(), index + i)) {
      return ::testing::AssertionFailure()
             << "part " << i << " of " << frame.parts[i].size() << " bytes is another";
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace muster::net::testing

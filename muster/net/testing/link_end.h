// LinkEnd and Party: links under test, and who keeps them.
//
// A LinkEnd complains by itself, as a test failure, of news after the end or
// without the baton. What has no "Any thread." needs the baton of its loop.

#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "muster/net/endpoint.h"
#include "muster/net/link.h"
#include "muster/net/testing/rig.h"

namespace muster::net::testing {

class LinkEnd final : public LinkSink {
 public:
  explicit LinkEnd(loop::Loop& loop) : loop_(loop) {}
  // Any thread.
  ~LinkEnd();
  LinkEnd(const LinkEnd&) = delete;
  LinkEnd& operator=(const LinkEnd&) = delete;

  std::unique_ptr<Link> link;

  // What to do with news besides counting them. Messages are kept if this has
  // no `take`.
  std::function<void(wire::Frame&, Lane)> take;
  std::function<WritableBuffer(const wire::Head&, std::size_t, std::uint64_t)> provide;
  bool is_ready = true;  // For large messages.
  std::function<void()> when_room;
  bool is_holding = false;  // Is not done with any message until release().
  std::vector<wire::Frame> messages;
  std::vector<Lane> lanes;
  std::vector<wire::Frame> refused;
  std::optional<Error> why_down;
  std::optional<Error> why_closed;

  // Any thread, all below.
  Status send(wire::Frame& frame, Lane lane = {});
  Status send(wire::Frame&& frame, Lane lane = {}) { return send(frame, lane); }
  void close();
  void release();
  LinkCounters counters();
  std::vector<wire::Frame> take_messages();
  Error closed_with();

  std::size_t message_count() const { return message_count_; }
  std::size_t refused_count() const { return refused_count_; }
  int up_count() const { return up_count_; }
  int down_count() const { return down_count_; }
  int room_count() const { return room_count_; }
  bool is_closed() const { return closed_count_ > 0; }
  bool is_up() const { return is_up_; }
  loop::Loop& loop() const { return loop_; }

 private:
  void on_up(Link& up) override;
  void on_message(wire::Frame& frame, Lane lane, std::size_t cost) override;
  bool is_ready_for(const wire::Head& /*head*/) override { return is_ready; }
  WritableBuffer place_body(const wire::Head& head, std::size_t part, std::uint64_t size) override;
  void on_room() override;
  void on_refused(wire::Frame& frame, Lane lane, const Error& why) override;
  void on_down(const Error& why, bool will_retry) override;
  void on_closed(Error why) override;
  void check_news(const char* what) const;

  loop::Loop& loop_;
  bool is_inside_call_ = false;
  std::size_t held_ = 0;
  std::atomic<std::size_t> message_count_{0};
  std::atomic<std::size_t> refused_count_{0};
  std::atomic<int> up_count_{0};
  std::atomic<int> down_count_{0};
  std::atomic<int> room_count_{0};
  std::atomic<int> closed_count_{0};
  std::atomic<bool> is_up_{false};
};

// An endpoint, and the ends of all its links.
class Party {
 public:
  // Small enough to be filled by a test.
  static constexpr std::uint32_t kWindow = std::uint32_t{1} << 20;

  // `tweak` may change the options.
  explicit Party(Rig::Side side, const std::function<void(EndpointOptions&)>& tweak = nullptr);
  ~Party();
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;

  // `prepare` is called with each end before its first news.
  Address listen(const Address& address, std::function<void(LinkEnd&)> prepare = nullptr);
  LinkEnd& connect(const Address& address, DialOptions options = {},
                   const std::function<void(LinkEnd&)>& prepare = nullptr);

  // The one that was accepted as number `index`.
  LinkEnd& end(std::size_t index = 0);
  std::size_t count() const { return count_; }
  Endpoint& endpoint() { return *endpoint_; }
  loop::Loop& loop() const { return loop_; }

 private:
  loop::Loop& loop_;
  std::function<void(LinkEnd&)> prepare_;
  std::unique_ptr<Endpoint> endpoint_;
  std::list<LinkEnd> dialed_;
  std::list<LinkEnd> accepted_;
  std::atomic<std::size_t> count_{0};
};

std::vector<std::byte> token(std::string_view text = "a token that all tests share");

// Message number `index`: its number in the head, and parts of these sizes
// whose content follows from the number.
wire::Frame message(std::uint64_t index, const std::vector<std::size_t>& sizes = {});
::testing::AssertionResult is_message(const wire::Frame& frame, std::uint64_t index,
                                      const std::vector<std::size_t>& sizes = {});
std::uint64_t index_of(const wire::Head& head);

}  // namespace muster::net::testing

#include "tests/process/linked.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/loop/loop.h"
#include "muster/net/endpoint.h"

namespace muster::tests {
namespace {

using loop::Loop;
using loop::Timer;
using loop::Turn;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kBeat = milliseconds(100);
constexpr Duration kSilence = milliseconds(280);
constexpr Duration kPace = milliseconds(10);

TimePoint now() { return system_clock().now(); }

// One end, with all that it stands on.
class Station final : public net::LinkSink {
 public:
  explicit Station(const std::string& scheme) {
    const Turn turn(*loop);
    driver = scheme == "shm" ? *drivers::make_shm_driver(*loop) : drivers::make_tcp_driver(*loop);
    endpoint = *net::Endpoint::make(*loop, {.token = std::vector(32, std::byte{7}),
                                            .name = "station",
                                            .drivers = {driver.get()},
                                            .beat = kBeat,
                                            .silence = kSilence});
  }
  ~Station() {
    const Turn turn(*loop);
    link.reset();
    endpoint.reset();
    driver.reset();
  }
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

  void on_up(net::Link&) override { is_up = true; }
  void on_message(wire::Frame&, net::Lane, std::size_t cost) override {
    link->done(cost);
    ++linked.messages;
    linked.longest_gap =
        std::max(linked.longest_gap, now() - std::exchange(last_message_at, now()));
  }
  void on_down(const Error&, bool) override { is_up = false; }
  void on_closed(Error) override {}

  // Before what it gives to others.
  std::unique_ptr<Loop> loop = *Loop::make();
  std::unique_ptr<net::Driver> driver;
  std::unique_ptr<net::Endpoint> endpoint;
  std::unique_ptr<net::Link> link;
  std::atomic<bool> is_up = false;
  TimePoint last_message_at;
  Linked linked;
};

void join(Station& near, Station& far, const std::string& scheme) {
  const std::string anywhere = scheme == "shm" ? "shm://*" : "tcp://127.0.0.1:0";
  std::vector<net::Address> addresses{*net::Address::parse(anywhere)};
  {
    const Turn turn(*far.loop);
    addresses =
        *far.endpoint->listen(addresses, [&](std::unique_ptr<net::Link> made) -> net::LinkSink& {
          far.link = std::move(made);
          return far;
        });
  }
  {
    const Turn turn(*near.loop);
    near.link = near.endpoint->connect(addresses, near);
  }
  const auto are_up = [&] { return near.is_up && far.is_up; };
  const TimePoint deadline = now() + seconds(30);
  // What happens on the far loop wakes nobody here.
  while (!near.loop->wait_until(are_up, now() + milliseconds(1)) && now() < deadline) continue;
  EXPECT_TRUE(are_up());
}

// Waits at the far end until `end`, and says something each kPace for half of it.
void talk(Station& far, TimePoint start, TimePoint end) {
  Timer timer([&] {
    if (now() >= start + (end - start) / 2 || !far.is_up) return;
    static_cast<void>(far.link->send_copy({}));
    far.loop->start(timer, now() + kPace);
  });
  {
    const Turn turn(*far.loop);
    far.loop->start(timer, now());
  }
  far.loop->wait_until([] { return false; }, end);
  const Turn turn(*far.loop);
  far.loop->stop(timer);
}

}  // namespace

Linked compute_while_linked(const std::string& scheme, Duration time) {
  Station far(scheme);
  Station near(scheme);
  join(near, far, scheme);
  {
    const Turn turn(*near.loop);
    near.last_message_at = now();
  }
  const TimePoint start = now();
  const TimePoint end = start + time;
  std::thread talker([&] { talk(far, start, end); });
  // It has driven the loop until now, so that all rests on the hand-over.
  near.loop->wait_until([] { return false; }, now() + milliseconds(1));
  while (now() < end) {
  }
  talker.join();
  const bool is_up = near.is_up && far.is_up;
  const Turn turn(*near.loop);
  Linked linked = near.linked;
  linked.is_up = is_up;
  return linked;
}

void expect_linked(const Linked& linked, Duration time) {
  EXPECT_TRUE(linked.is_up) << "one end took the other for lost";
  EXPECT_LT(linked.longest_gap, milliseconds(200));
  EXPECT_GT(linked.messages, time / 2 / milliseconds(50));
}

}  // namespace muster::tests

#include "muster/net/testing/driver_suite.h"

#include <algorithm>
#include <cstdlib>

namespace muster::net::testing {

// A program may use the rest of this library without having a driver of its own.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DriverSuite);

Host::Host(Rig& rig, const Address& address, std::function<void(End&)> prepare)
    : loop_(rig.far().loop), prepare_(std::move(prepare)) {
  const loop::Turn turn(loop_);
  auto listener =
      rig.far().driver.listen(address, [this](std::unique_ptr<Connection> connection) -> Sink& {
        EXPECT_TRUE(loop_.is_held()) << "a connection came without the baton";
        End& end = add_end();
        end.connection = std::move(connection);
        if (prepare_) prepare_(end);
        ++count_;
        return end;
      });
  if (!listener) {
    ADD_FAILURE() << "listen on " << address.to_string() << ": " << listener.error().describe();
    return;
  }
  listener_ = *std::move(listener);
  address_ = listener_->address();
}

End& Host::add_end() {
  const std::lock_guard lock(mutex_);
  return ends_.emplace_back(loop_);
}

Host::~Host() {
  const loop::Turn turn(loop_);
  listener_.reset();
  ends_.clear();
}

void Host::stop_listening() {
  const loop::Turn turn(loop_);
  listener_.reset();
}

End& Host::end(std::size_t index) {
  const std::lock_guard lock(mutex_);
  return *std::next(ends_.begin(), static_cast<std::ptrdiff_t>(index));
}

DriverSuite::~DriverSuite() {
  hosts_.clear();
  ends_.clear();
  rig.reset();
  EXPECT_EQ(leaked(before_, look_at_holdings()), "") << "is not given back";
}

void DriverSuite::use_rig(Sides sides) {
  rig.reset();
  before_ = look_at_holdings();
  rig = GetParam().make_rig(sides);
}

Host& DriverSuite::listen(std::function<void(End&)> prepare) {
  return hosts_.emplace_back(*rig, rig->address(), std::move(prepare));
}

End& DriverSuite::dial(const Address& address, const std::function<void(End&)>& prepare) {
  const Rig::Side near = rig->near();
  const loop::Turn turn(near.loop);
  End& end = ends_.emplace_back(near.loop);
  if (prepare) prepare(end);
  auto dialed = near.driver.dial(address, end);
  if (dialed) {
    end.connection = *std::move(dialed);
  } else {
    ADD_FAILURE() << "dial " << address.to_string() << ": " << dialed.error().describe();
  }
  return end;
}

std::pair<End&, End&> DriverSuite::connect(Host& host) {
  const std::size_t index = host.count();
  End& end = dial(host);
  EXPECT_TRUE(run_until([&] { return host.count() > index; })) << "nobody accepted";
  return {end, host.end(index)};
}

void DriverSuite::carry(End& from, End& to, std::size_t size) {
  const Buffer body = pattern(size, size);
  const std::size_t most = from.passes(body) ? size : std::min(size, from.max_body());
  const std::size_t chunk = std::max<std::size_t>(most, 1);
  const std::size_t chunks = std::max<std::size_t>((size + chunk - 1) / chunk, 1);
  const std::size_t wanted = to.frame_count() + chunks;
  std::size_t got = 0;
  {
    const loop::Turn turn(to.loop());
    to.take = [&got, size](wire::Frame& frame) {
      ASSERT_EQ(frame.parts.size(), 1U);
      EXPECT_TRUE(matches(frame.parts[0].bytes(), size, got)) << "at " << got << " of " << size;
      got += frame.parts[0].size();
    };
  }
  Stream stream(from, chunks, [&](std::size_t index) {
    wire::Frame frame;
    frame.parts.push_back(body.slice(index * chunk, chunk));
    return frame;
  });
  stream.start();
  EXPECT_TRUE(run_until([&] { return to.frame_count() == wanted || to.is_closed(); }));
  const loop::Turn turn(to.loop());
  EXPECT_EQ(got, size);
  to.take = nullptr;
}

std::size_t from_environment(const char* name, std::size_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoul(text, nullptr, 10) : otherwise;
}

}  // namespace muster::net::testing

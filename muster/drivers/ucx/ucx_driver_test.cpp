// What the ucx driver does beyond the suite: who carries what, who may come in,
// and what it leaves open to others.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/drivers/tcp/tcp.h"
#include "muster/drivers/ucx/ucx.h"
#include "muster/net/testing/driver_suite.h"
#include "muster/net/token.h"
#include "muster/net/token_source.h"
#include "tests/ucx/subject.h"

namespace muster::drivers::ucx {
namespace {

namespace fs = std::filesystem;
using net::testing::End;
using net::testing::Host;
using net::testing::make_frame;
using net::testing::Rig;
using net::testing::Sides;
using testing::make_control;
using testing::make_ucx;

net::Address loopback() { return {"ucx", "127.0.0.1", 0, 0}; }

std::unique_ptr<Rig> rig_over(const char* fabrics, Sides sides = Sides::together) {
  return net::testing::make_loop_rig(
      sides, [fabrics](loop::Loop& loop) { return make_ucx(loop, fabrics); }, loopback);
}

// Hands everything on to another driver, and counts the bytes of what is sent.
class Counting final : public net::Driver {
 public:
  Counting(std::unique_ptr<net::Driver> driver, std::uint64_t& bytes)
      : driver_(std::move(driver)), bytes_(bytes) {}
  std::string_view scheme() const override { return driver_->scheme(); }
  Result<std::unique_ptr<net::Listener>> listen(const net::Address& address,
                                                Accept accept) override {
    return driver_->listen(address, [this, accept](std::unique_ptr<net::Connection> made) -> auto& {
      return accept(std::make_unique<Counted>(std::move(made), bytes_));
    });
  }
  Result<std::unique_ptr<net::Connection>> dial(const net::Address& address,
                                                net::Sink& sink) override {
    MUSTER_TRY(auto made, driver_->dial(address, sink));
    return std::unique_ptr<net::Connection>(std::make_unique<Counted>(std::move(made), bytes_));
  }

 private:
  class Counted final : public net::Connection {
   public:
    Counted(std::unique_ptr<net::Connection> connection, std::uint64_t& bytes)
        : connection_(std::move(connection)), bytes_(bytes) {}
    Status send(wire::Frame& frame) override {
      bytes_ += frame.head.size() + frame.body_size();
      return connection_->send(frame);
    }
    Result<WritableBuffer> allocate(std::size_t size) override {
      return connection_->allocate(size);
    }
    bool passes(const Buffer& part) const override { return connection_->passes(part); }
    std::size_t max_body() const override { return connection_->max_body(); }
    void close() override { connection_->close(); }
    net::Peer peer() const override { return connection_->peer(); }

   private:
    std::unique_ptr<net::Connection> connection_;
    std::uint64_t& bytes_;
  };

  std::unique_ptr<net::Driver> driver_;
  std::uint64_t& bytes_;
};

TEST(UcxDriver, NoByteOfAFrameTravelsOverTheDriverThatCarriesTheMeeting) {
  constexpr std::size_t kFrames = 200;
  constexpr std::size_t kBody = std::size_t{256} << 10;
  std::uint64_t control = 0;
  const auto rig = net::testing::make_loop_rig(
      Sides::together,
      [&](loop::Loop& loop) {
        return *make_ucx_driver(loop, std::make_unique<Counting>(make_control(loop), control),
                                {.fabrics = "posix,cma"});
      },
      loopback);
  Host host(*rig, rig->address(), net::testing::echo);
  End near(rig->near().loop);
  {
    const loop::Turn turn(rig->near().loop);
    near.connection = *rig->near().driver.dial(host.address(), near);
    near.take = [](wire::Frame&) {};
  }
  ASSERT_TRUE(near.send(make_frame({8, {8}}, 1)));
  ASSERT_TRUE(rig->run_until([&] { return near.frame_count() == 1; }));
  const std::uint64_t meeting = control;

  net::testing::Stream stream(
      near, kFrames, [](std::size_t index) { return make_frame({32, {100, kBody, 4000}}, index); });
  stream.start();

  ASSERT_TRUE(rig->run_until([&] { return near.frame_count() == kFrames + 1; }));
  EXPECT_EQ(control, meeting);
  EXPECT_GT(meeting, 0U);
  EXPECT_LT(meeting, std::uint64_t{64} << 10);
}

// The targets of this process's descriptors, by number.
std::map<int, std::string> descriptors() {
  std::map<int, std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/self/fd", error)) {
    const std::string target = fs::read_symlink(entry, error).string();
    if (!error) found[std::stoi(entry.path().filename().string())] = target;
  }
  return found;
}

bool is_closed_on_exec(int descriptor) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(descriptor));
  for (std::string name; info >> name;) {
    if (name != "flags:") continue;
    std::string flags;
    info >> flags;
    return (std::stoul(flags, nullptr, 8) & 02000000UL) != 0;
  }
  return true;  // It is gone.
}

TEST(UcxDriver, ItsDescriptorsAreNotForTheProgramsThatThisOneStarts) {
  const std::map<int, std::string> before = descriptors();
  const auto rig = rig_over("tcp");
  Host host(*rig, rig->address(), net::testing::echo);
  End near(rig->near().loop);
  {
    const loop::Turn turn(rig->near().loop);
    near.connection = *rig->near().driver.dial(host.address(), near);
  }
  for (std::size_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(near.send(make_frame({8, {100}}, i)));
    ASSERT_TRUE(rig->run_until([&] { return near.frame_count() == i + 1; }));
  }

  std::size_t sockets = 0;
  for (const auto& [descriptor, target] : descriptors()) {
    if (before.contains(descriptor) || !target.starts_with("socket:")) continue;
    ++sockets;
    EXPECT_TRUE(is_closed_on_exec(descriptor)) << target;
  }
  EXPECT_GT(sockets, 4U);
}

// What a program keeps open for those that it starts.
struct Inheritance {
  Inheritance() {
    int two[2];
    EXPECT_EQ(pipe(two), 0);
    descriptors.insert(descriptors.end(), two, two + 2);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, two), 0);
    descriptors.insert(descriptors.end(), two, two + 2);
    descriptors.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    EXPECT_EQ(listen(descriptors.back(), 1), 0);
    descriptors.push_back(eventfd(0, EFD_NONBLOCK));
  }
  ~Inheritance() {
    for (const int descriptor : descriptors) close(descriptor);
  }
  std::vector<int> descriptors;
};

TEST(UcxDriver, WhatTheProgramOpensBesideItStaysForThoseThatItStarts) {
  const auto rig = rig_over("tcp");
  Host host(*rig, rig->address(), net::testing::echo);
  End near(rig->near().loop);
  std::optional<Inheritance> early;
  {
    const loop::Turn turn(rig->near().loop);
    near.connection = *rig->near().driver.dial(host.address(), near);
    near.take = [&](wire::Frame&) {
      if (!early) early.emplace();
    };
  }
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(near.send(make_frame({8, {100}}, i)));
    ASSERT_TRUE(rig->run_until([&] { return near.frame_count() == i + 1; }));
  }

  for (const int descriptor : early->descriptors) {
    EXPECT_FALSE(is_closed_on_exec(descriptor)) << descriptors()[descriptor];
  }
}

// The local addresses, as the kernel writes them, at which this process listens.
std::vector<std::string> listening_addresses() {
  std::set<std::string> own;
  for (const auto& [descriptor, target] : descriptors()) {
    if (target.starts_with("socket:[")) own.insert(target.substr(8, target.size() - 9));
  }
  std::vector<std::string> found;
  for (const char* const table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream lines(table);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      std::istringstream fields(line);
      std::string number, local, remote, state, queues, timer, retries, user, timeout, inode;
      fields >> number >> local >> remote >> state >> queues >> timer >> retries >> user >>
          timeout >> inode;
      if (state == "0A" && own.contains(inode)) found.push_back(local.substr(0, local.find(':')));
    }
  }
  return found;
}

TEST(UcxDriver, UcxListensOnLoopbackUnlessAnotherDeviceIsNamed) {
  const auto rig = rig_over("tcp");
  const Host host(*rig, rig->address());
  End near(rig->near().loop);
  {
    const loop::Turn turn(rig->near().loop);
    near.connection = *rig->near().driver.dial(host.address(), near);
  }
  ASSERT_TRUE(rig->run_until([&] { return host.count() == 1; }));

  const std::vector<std::string> addresses = listening_addresses();

  EXPECT_GE(addresses.size(), 3U) << "the meeting place, and a worker at each end";
  for (const std::string& address : addresses) EXPECT_EQ(address, "0100007F");
}

TEST(UcxDriver, WhoDoesNotHaveTheTokenNeverGetsAsFarAsUcx) {
  const auto rig = rig_over("posix,cma");
  Host host(*rig, rig->address());
  auto loop = *loop::Loop::make();
  auto tokens =
      *net::make_fixed_tokens({{1, std::vector<std::byte>(net::kTokenSize, std::byte{0x66})}});
  End end(*loop);
  std::unique_ptr<net::Driver> stranger;
  {
    const loop::Turn turn(*loop);
    stranger = *make_ucx_driver(*loop, make_tcp_driver(*loop, {.tls = {.tokens = tokens}}),
                                {.fabrics = "posix,cma"});
    end.connection = *stranger->dial(host.address(), end);
  }

  ASSERT_TRUE(rig->run_until([&] { return end.is_closed(); }));

  EXPECT_NE(end.why->message().find("token"), std::string::npos) << end.why->describe();
  rig->settle();
  EXPECT_EQ(host.count(), 0U);
  const loop::Turn turn(*loop);
  end.connection.reset();
  stranger.reset();
}

TEST(UcxDriver, OneWhoHasTheTokenButDoesNotSpeakAsItShouldIsRefused) {
  const auto rig = rig_over("posix,cma");
  Host host(*rig, rig->address());
  auto loop = *loop::Loop::make();
  const auto tcp = make_control(*loop);
  net::Address address = host.address();
  address.scheme = "tcp";
  address.options = "tls=on";
  for (const net::testing::Shape& shape :
       {net::testing::Shape{40, {}}, {40, {100}}, {0, {}}, {128, {50'000}}}) {
    End end(*loop);
    {
      const loop::Turn turn(*loop);
      end.connection = *tcp->dial(address, end);
    }
    ASSERT_TRUE(end.send(make_frame(shape, 1)));
    EXPECT_TRUE(rig->run_until([&] { return end.is_closed(); }));
  }
  EXPECT_EQ(host.count(), 0U);
}

TEST(UcxDriver, AFabricThatIsNotThereIsRefusedWithWordsThatHelp) {
  auto loop = *loop::Loop::make();

  const auto made = make_ucx_driver(*loop, make_control(*loop), {.fabrics = "pigeon"});

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), Code::unsupported);
  EXPECT_NE(made.error().message().find("UCX_TLS"), std::string::npos) << made.error().message();
}

TEST(UcxDriver, TellsWhatTheMachineHas) {
  const Result<std::vector<std::string>> all = ucx_fabrics();
  ASSERT_TRUE(all) << all.error().describe();
  EXPECT_NE(std::ranges::find(*all, "posix"), all->end());
  EXPECT_NE(std::ranges::find(*all, "tcp on lo"), all->end());
  EXPECT_EQ(*ucx_fabrics({.fabrics = "sysv"}), std::vector<std::string>{"sysv"});
}

TEST(UcxDriver, AnAddressWithOptionsIsRefused) {
  auto loop = *loop::Loop::make();
  const loop::Turn turn(*loop);
  const auto driver = make_ucx(*loop, "posix,cma");
  End end(*loop);
  const auto dialed = driver->dial({"ucx", "127.0.0.1", 7, 7, "tls=off"}, end);
  ASSERT_FALSE(dialed);
  EXPECT_EQ(dialed.error().code(), Code::invalid);
}

}  // namespace
}  // namespace muster::drivers::ucx

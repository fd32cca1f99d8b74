// What the serving process does with those who do not keep to the protocol, and
// with being stopped or replaced.

#include "muster/registries/embedded/server.h"

#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "muster/msg/testing/registry_suite.h"
#include "muster/net/testing/leaks.h"
#include "muster/registries/embedded/embedded.h"
#include "muster/registries/embedded/testing/test_folder.h"

namespace muster::registries::embedded {
namespace {

using msg::testing::Component;
using msg::testing::request_for;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct EmbeddedServer : msg::testing::RegistryDesk {
  ~EmbeddedServer() override { components.clear(); }  // Before the folder goes.

  Component& join(const std::string& name, EmbeddedOptions options = {}) {
    const loop::Turn turn(*loop);
    options.folder = folder.path();
    return sit_down(make_embedded_registry(*loop, options), request_for("g", name));
  }
  Component& join_and_wait(const std::string& name, const EmbeddedOptions& options = {}) {
    Component& made = join(name, options);
    EXPECT_TRUE(is_admitted(made));
    return made;
  }
  Descriptor connect() { return *Folder::open(folder.path(), "g")->connect(); }
  static bool say(const Descriptor& socket, std::span<const std::byte> bytes) {
    return send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0;
  }
  // What comes next on it; the empty packet is the end.
  std::vector<std::byte> hear(const Descriptor& socket) {
    pollfd wanted{socket.get(), POLLIN, 0};
    EXPECT_EQ(poll(&wanted, 1, 30'000), 1) << "nothing came";
    std::vector<std::byte> bytes(kMaxMessage);
    const ssize_t size = recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return bytes;
  }

  TestFolder folder;
};

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

TEST_F(EmbeddedServer, DropsAStrangerThatSaysNothing) {
  Component& a = join_and_wait("a", {.stranger_patience = milliseconds(50)});
  const Descriptor socket = connect();
  const Result<Message> answer = decode(hear(socket));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Kind::refused);
  EXPECT_EQ(answer->code, Code::timeout);
  EXPECT_TRUE(hear(socket).empty());
  EXPECT_FALSE(a.is_ended());
}

TEST_F(EmbeddedServer, DropsWhoeverTalksNonsenseAndNobodyElse) {
  Component& a = join_and_wait("a");
  std::vector<std::byte> long_one(100'000, std::byte{'M'});
  Message another_group{.kind = Kind::announce};
  another_group.lease = seconds(1);
  another_group.member = request_for("h", "x").self;
  another_group.group = "h";
  for (const auto& bytes : {bytes_of("x"), bytes_of("GET / HTTP/1.1\r\n\r\n"),
                            std::vector<std::byte>(5000, std::byte{0}),
                            encode({.kind = Kind::beat}), encode({.kind = Kind::leave}),
                            encode({.kind = Kind::released}), encode(another_group), long_one}) {
    const Descriptor socket = connect();
    ASSERT_TRUE(say(socket, bytes));
    const Result<Message> answer = decode(hear(socket));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->kind, Kind::refused);
    EXPECT_TRUE(hear(socket).empty());
  }
  join_and_wait("b");
  EXPECT_TRUE(run_until([&] { return a.peers() == 1; }));
  EXPECT_EQ(a.record(), (std::vector<std::string>{"admitted a/1", "joined b/1"}));
}

TEST_F(EmbeddedServer, AMemberThatTurnsToNonsenseIsLost) {
  Component& a = join_and_wait("a");
  const Descriptor socket = connect();
  Message message{.kind = Kind::announce};
  message.lease = seconds(2);
  message.member = request_for("g", "rude").self;
  message.group = "g";
  ASSERT_TRUE(say(socket, encode(message)));
  ASSERT_TRUE(run_until([&] { return a.knows("rude") == 1; }));
  ASSERT_TRUE(say(socket, bytes_of("nonsense")));
  EXPECT_TRUE(run_until([&] { return a.has("lost rude/1"); }));
}

TEST_F(EmbeddedServer, ManyStrangersCostNobodyElseTheDoor) {
  join_and_wait("a");
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 400; ++i) {
    Result<Descriptor> socket = Folder::open(folder.path(), "g")->connect();
    if (socket) strangers.push_back(*std::move(socket));
  }
  EXPECT_EQ(join_and_wait("b").peers(), 1U);
}

TEST_F(EmbeddedServer, AMemberThatDoesNotReadIsDroppedAndNoMemoryGrows) {
  join_and_wait("a");
  const Descriptor socket = connect();
  Message message{.kind = Kind::announce};
  message.lease = std::chrono::minutes(10);
  message.member = request_for("g", "deaf").self;
  message.group = "g";
  ASSERT_TRUE(say(socket, encode(message)));
  // Each beat is answered, and nobody reads the answers.
  const std::vector<std::byte> beat = encode({.kind = Kind::beat});
  bool is_dropped = false;
  for (int i = 0; i < 100'000 && !is_dropped; ++i)
    is_dropped = !say(socket, beat) && errno == EPIPE;
  const auto is_over = [&] {
    pollfd state{socket.get(), POLLOUT, 0};
    return poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLERR)) != 0;
  };
  for (int i = 0; i < 1'000'000 && !is_over(); ++i) say(socket, beat);
  EXPECT_TRUE(run_until(is_over)) << "the queue has no bound";
}

TEST_F(EmbeddedServer, GoesOnFromABrokenFileWithWhatMembersCarry) {
  Component& a = join_and_wait("a");
  Component& b = join_and_wait("b");
  ASSERT_TRUE(run_until([&] { return b.peers() == 1; }));
  const Folder inside = *Folder::open(folder.path(), "g");
  ASSERT_TRUE(inside.save(bytes_of("broken")));

  a.leave();  // It served; with it goes what the file should have said.

  ASSERT_TRUE(run_until([&] { return a.is_ended(); }));
  EXPECT_EQ(join_and_wait("c").incarnation(), 1U);
  EXPECT_TRUE(run_until([&] { return b.knows("c") == 1; }));
  EXPECT_EQ(b.incarnation(), 1U);
  EXPECT_FALSE(b.has("lost"));
}

TEST_F(EmbeddedServer, GivesBackAllDescriptors) {
  const auto before = net::testing::look_at_holdings();
  for (int i = 0; i < 3; ++i) {
    join("a");
    join("b");
    Component& c = join_and_wait("c");
    ASSERT_TRUE(run_until([&] { return c.peers() == 2; }));
    components.clear();
  }
  EXPECT_EQ(net::testing::leaked(before, net::testing::look_at_holdings()), "");
}

}  // namespace
}  // namespace muster::registries::embedded

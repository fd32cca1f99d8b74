// What links say to each other does not change by accident: of each version that is spoken
// two conversations are kept in golden/, frame by frame. They are held between two real
// links, so that what is compared with the files has been written and read.

#include "muster/wire/testing/golden.h"

#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "muster/net/link.h"
#include "muster/net/testing/link_end.h"
#include "muster/net/testing/sim_rig.h"

namespace muster::net {
namespace {

using testing::LinkEnd;
using testing::message;
using testing::Party;
using testing::SimRig;
using wire::testing::golden;
using wire::testing::Sections;
using wire::testing::to_text;

const std::filesystem::path kGolden =
    std::filesystem::path(MUSTER_SOURCE_DIR) / "muster" / "net" / "golden";
const Address kThere = {.scheme = "sim", .host = "far/x", .port = 0, .last_port = 0};

// A connection that writes down what is sent.
class Tapped final : public Connection {
 public:
  Tapped(std::unique_ptr<Connection> real, std::string who, Sections& said)
      : real_(std::move(real)), who_(std::move(who)), said_(said) {}

  Status send(wire::Frame& frame) override {
    write_down(frame);
    return real_->send(frame);
  }
  Status lend(wire::Frame& frame) override {
    write_down(frame);
    return real_->lend(frame);
  }
  Result<WritableBuffer> allocate(std::size_t size) override { return real_->allocate(size); }
  bool passes(const Buffer& part) const override { return real_->passes(part); }
  bool lends() const override { return real_->lends(); }
  std::size_t max_body() const override { return real_->max_body(); }
  void close() override { real_->close(); }
  Peer peer() const override { return real_->peer(); }

 private:
  // But for the bytes of chunks, which are the user's, and many.
  void write_down(const wire::Frame& frame) {
    const std::span<const std::byte> head = frame.head.bytes();
    const auto kind = static_cast<Kind>(head[1]);
    said_.push_back({who_ + ": " + std::string(name(kind)), Buffer::copy_of(head)});
    if (kind == Kind::chunk) return;
    for (const Buffer& part : frame.parts) said_.push_back({"part", Buffer::copy_of(part.bytes())});
  }

  std::unique_ptr<Connection> real_;
  const std::string who_;
  Sections& said_;
};

class TappedDriver final : public Driver {
 public:
  TappedDriver(Driver& real, Sections& said) : real_(real), said_(said) {}

  std::string_view scheme() const override { return real_.scheme(); }
  Result<std::unique_ptr<Listener>> listen(const Address& address, Accept accept) override {
    return real_.listen(address, [this, accept](std::unique_ptr<Connection> made) -> Sink& {
      return accept(std::make_unique<Tapped>(std::move(made), "server", said_));
    });
  }
  Result<std::unique_ptr<Connection>> dial(const Address& address, Sink& sink) override {
    MUSTER_TRY(auto made, real_.dial(address, sink));
    return std::unique_ptr<Connection>(std::make_unique<Tapped>(std::move(made), "client", said_));
  }

 private:
  Driver& real_;
  Sections& said_;
};

// Two parties of which nothing is left to chance.
struct GoldenLink : ::testing::TestWithParam<int> {
  void start(std::string_view token_of_client) {
    far.emplace(tapped(rig.far(), far_driver), [&](EndpointOptions& options) {
      settle(options, 1);
      options.name = "learner";
    });
    near.emplace(tapped(rig.near(), near_driver), [&](EndpointOptions& options) {
      settle(options, 2);
      options.name = "actor";
      options.token = testing::token(token_of_client);
    });
    // Nobody is done with anything: when credit goes back is no matter of the wire.
    far->listen(kThere, [](LinkEnd& one) { one.is_holding = true; });
    end = &near->connect(kThere, {}, [](LinkEnd& one) { one.is_holding = true; });
  }
  bool run_until(const std::function<bool()>& done) { return rig.run_until(done); }

  void expect_as_kept(const std::string& name, const std::string& about) {
    const std::string text = to_text(about, said);
    const std::string folder = "v" + std::to_string(GetParam());
    EXPECT_EQ(text, golden(kGolden / folder / (name + ".hex"), text));
  }

  Sections said;
  SimRig rig{{.lends = true}};
  std::optional<TappedDriver> far_driver;
  std::optional<TappedDriver> near_driver;
  std::optional<Party> far;
  std::optional<Party> near;
  LinkEnd* end = nullptr;

 private:
  testing::Rig::Side tapped(testing::Rig::Side side, std::optional<TappedDriver>& driver) {
    return {side.loop, driver.emplace(side.driver, said)};
  }
  void settle(EndpointOptions& options, std::uint64_t number) const {
    options.id = {0x0102030405060708, number};
    options.versions = {2, static_cast<std::uint8_t>(GetParam())};
    options.random = [next = number << 32]() mutable { return ++next; };
    options.lent_from = kLargePart;
  }
};

TEST_P(GoldenLink, SaysAndUnderstandsWhatItEverDid) {
  start("a token that all tests share");
  ASSERT_TRUE(run_until([&] { return end->is_up() && far->count() == 1; }));
  LinkEnd& there = far->end();
  ASSERT_TRUE(end->send(message(1, {5}), {.channel = 7, .priority = 2}));
  ASSERT_TRUE(run_until([&] { return there.message_count() == 1; }));
  ASSERT_TRUE(end->send(message(2, {3, kLargePart + 4096}), {.channel = 7, .priority = 2}));
  ASSERT_TRUE(run_until([&] { return there.message_count() == 2; }));
  EXPECT_TRUE(testing::is_message(there.messages[1], 2, {3, kLargePart + 4096}));
  end->close();
  ASSERT_TRUE(run_until([&] { return end->is_closed(); }));

  expect_as_kept("link", "A handshake, a small message, a large one, a goodbye.");
}

TEST_P(GoldenLink, RefusesAsItEverDid) {
  start("not the token of the other");
  ASSERT_TRUE(run_until([&] { return end->is_closed(); }));

  expect_as_kept("refusal", "A handshake of two who know different tokens.");
}

INSTANTIATE_TEST_SUITE_P(Of, GoldenLink, ::testing::Values(2, 3),
                         [](const auto& one) { return "Version" + std::to_string(one.param); });

}  // namespace
}  // namespace muster::net

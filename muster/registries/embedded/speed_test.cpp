// How fast fifty processes find each other, and a death is known. Run alone.

#include <csignal>

#include "muster/msg/testing/registry_suite.h"
#include "muster/net/testing/driver_suite.h"
#include "muster/registries/embedded/embedded.h"
#include "muster/registries/embedded/testing/test_folder.h"

namespace muster::msg::testing {
namespace {

using net::testing::kIsFast;
using registries::embedded::TestFolder;
using std::chrono::milliseconds;

// Sanitizers cost an order of magnitude; the bars are those of a real build.
constexpr int kAllowance = kIsFast ? 1 : 10;
constexpr std::size_t kProcesses = 50;

using Children = std::vector<std::unique_ptr<ChildProcess>>;

struct EmbeddedSpeed : ::testing::Test {
  EmbeddedSpeed() : loop(*loop::Loop::make()) {}

  std::unique_ptr<ChildProcess> start(const std::string& name) {
    auto child = ChildProcess::start("registry_member", {"embedded", folder.path(), name, "2800"});
    EXPECT_TRUE(child);
    return *std::move(child);
  }
  Children start_many(std::size_t count) {
    Children children;
    for (std::size_t i = 0; i < count; ++i) children.push_back(start("p" + std::to_string(i)));
    return children;
  }
  // Until each has heard of all the others.
  static void await_all(Children& children) {
    for (auto& child : children)
      child->pipe().write_line("await " + std::to_string(children.size() - 1));
    for (auto& child : children) {
      EXPECT_TRUE(child->pipe().read_line()->starts_with("admitted"));
      EXPECT_TRUE(child->pipe().read_line()->starts_with("peers"));
    }
  }

  TestFolder folder;
  std::unique_ptr<loop::Loop> loop;
};

TEST_F(EmbeddedSpeed, FiftyProcessesJoinInTwoSeconds) {
  const TimePoint begun = loop->now();
  Children children = start_many(kProcesses);
  await_all(children);
  const auto took = std::chrono::duration_cast<milliseconds>(loop->now() - begun);
  RecordProperty("join_50_ms", static_cast<int>(took.count()));
  EXPECT_LT(took, kAllowance * milliseconds(2000));
}

// The best of a few: what the machine does besides is not the subject.
void expect_loss_is_known_soon(EmbeddedSpeed& test, bool is_serving) {
  auto best = milliseconds::max();
  for (int round = 0; round < 4; ++round) {
    Children children;
    children.push_back(test.start("serving"));
    EXPECT_TRUE(children[0]->pipe().read_line());
    children.push_back(test.start("other"));
    EXPECT_TRUE(children[1]->pipe().read_line());
    std::unique_ptr<Registry> registry;
    {
      const loop::Turn turn(*test.loop);
      registry = registries::make_embedded_registry(*test.loop, {.folder = test.folder.path()});
    }
    Component watcher(*test.loop, std::move(registry), request_for("suite", "watcher"));
    ASSERT_TRUE(test.loop->wait_until([&] { return watcher.peers() == 2; },
                                      test.loop->now() + std::chrono::seconds(30)));
    const TimePoint killed = test.loop->now();
    children[is_serving ? 0 : 1]->signal(SIGKILL);
    ASSERT_TRUE(test.loop->wait_until([&] { return watcher.has("lost"); },
                                      test.loop->now() + std::chrono::seconds(30)));
    best = std::min(best, std::chrono::ceil<milliseconds>(test.loop->now() - killed));
    // The next to serve is there at once, too: nobody noticed.
    EXPECT_FALSE(watcher.has("unreachable"));
    watcher.leave();
    EXPECT_TRUE(test.loop->wait_until([&] { return watcher.is_ended(); },
                                      test.loop->now() + std::chrono::seconds(30)));
  }
  ::testing::Test::RecordProperty("loss_known_ms", static_cast<int>(best.count()));
  EXPECT_LT(best, kAllowance * milliseconds(50));
}

TEST_F(EmbeddedSpeed, ADeathIsKnownInFiftyMilliseconds) { expect_loss_is_known_soon(*this, false); }

TEST_F(EmbeddedSpeed, TheDeathOfTheOneThatServedIsKnownInFiftyMilliseconds) {
  expect_loss_is_known_soon(*this, true);
}

}  // namespace
}  // namespace muster::msg::testing

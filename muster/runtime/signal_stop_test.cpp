#include "muster/runtime/signal_stop.h"

#include <atomic>
#include <filesystem>
#include <future>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "muster/msg/component.h"
#include "muster/net/token_file.h"
#include "muster/runtime/runtime.h"

namespace muster {
namespace {

using std::chrono::seconds;

std::atomic<int> chained{0};

class SignalStops : public ::testing::Test {
 protected:
  void SetUp() override {
    chained = 0;
    struct sigaction own = {};
    own.sa_handler = [](int) { ++chained; };
    sigaction(SIGTERM, &own, &before);
  }
  void TearDown() override { sigaction(SIGTERM, &before, nullptr); }

  struct sigaction before = {};
};

bool comes(const std::stop_token& token) {
  std::promise<void> asked;
  const std::stop_callback callback(token, [&] { asked.set_value(); });
  return asked.get_future().wait_for(seconds(20)) == std::future_status::ready;
}

TEST_F(SignalStops, AskToStopAndCallWhoeverHandledTheSignalBefore) {
  {
    const auto stop = *SignalStop::make();
    EXPECT_FALSE(stop->token().stop_requested());
    EXPECT_EQ(SignalStop::make().error().code(), Code::invalid) << "there is one";
    raise(SIGTERM);
    EXPECT_TRUE(comes(stop->token()));
    EXPECT_EQ(stop->signal(), SIGTERM);
    EXPECT_EQ(chained, 1);
  }
  raise(SIGTERM);
  EXPECT_EQ(chained, 2) << "as it was before";
  EXPECT_TRUE(SignalStop::make());
}

TEST_F(SignalStops, LetASecondSignalEndTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const auto stop = *SignalStop::make({SIGINT});
        raise(SIGINT);
        raise(SIGINT);
        _exit(0);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

TEST_F(SignalStops, LetAComponentLeaveItsGroup) {
  std::string folder = (std::filesystem::temp_directory_path() / "signal-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  RuntimeOptions options;
  options.token.file = folder + "/token";
  options.registry.folder = folder + "/groups";
  ASSERT_TRUE(net::rotate_token_file(options.token.file, seconds(0)));
  {
    const auto runtime = *Runtime::make(options);
    const auto master = *runtime->start({.group = "demo", .type = "master", .name = "master"});
    const auto stop = *SignalStop::make();
    std::jthread worker([&] {
      const auto proxy = *runtime->join(
          {.group = "demo", .type = "worker", .name = "worker_1", .expected = {{.name = "master"}}},
          seconds(60));
      msg::Component<int> component(*proxy);
      EXPECT_EQ(component.launch(msg::Wait(stop->token())).error().code(), Code::cancelled);
      EXPECT_TRUE(proxy->leave(seconds(60)));
      EXPECT_EQ(proxy->exit_code(), 0);
    });
    ASSERT_TRUE(master->wait_for_peers({{.name = "worker_1"}}, seconds(60)));
    while (master->next_event(seconds(0))) {
    }
    raise(SIGTERM);
    std::optional<msg::ProxyEvent> event;
    // On a slow machine it may hear of the registry as well.
    do {
      event = master->next_event(seconds(60));
    } while (event && event->peer != "worker_1");
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, msg::ProxyEvent::Kind::left) << "neither lost nor broken off";
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster

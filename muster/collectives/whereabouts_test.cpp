#include "muster/collectives/whereabouts.h"

#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "muster/collectives/testing/sleeper.h"

namespace muster::collectives {
namespace {

using testing::Sleeper;

TEST(HasEnded, TellsOfAProcessThatIsKilledAndNotBefore) {
  Sleeper sleeper;
  EXPECT_FALSE(has_ended(sleeper.process()));

  kill(sleeper.pid(), SIGKILL);
  siginfo_t news{};
  waitid(P_PID, static_cast<id_t>(sleeper.pid()), &news, WEXITED | WNOWAIT);
  EXPECT_TRUE(has_ended(sleeper.process())) << "nobody has asked how it ended";

  sleeper.end();
  EXPECT_TRUE(has_ended(sleeper.process()));
}

// Between opening what the kernel tells of it and reading that.
TEST(HasEnded, BearsThatTheProcessGoesWhileItIsLookedAt) {
  for (int round = 0; round < 200; ++round) {
    Sleeper sleeper;
    std::thread reaper([&] { sleeper.end(); });
    while (!has_ended(sleeper.process())) {
    }
    // It goes on until nothing is left.
    for (int look = 0; look < 100; ++look) EXPECT_TRUE(has_ended(sleeper.process()));
    reaper.join();
  }
}

TEST(HasEnded, IsNotSureWhenNothingCanBeOpened) {
  const Process self = this_process();
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none{0, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);

  const bool ended = has_ended(self);

  setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_FALSE(ended);
}

}  // namespace
}  // namespace muster::collectives

#include "muster/collectives/whereabouts.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "muster/base/descriptor.h"

namespace muster::collectives {
namespace {

// A process that does nothing until it is killed, and what it says of itself.
struct Sleeper {
  Sleeper() {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) std::abort();
    const Descriptor out(pipe[0]);
    Descriptor in(pipe[1]);
    pid = fork();
    if (pid == 0) {
      const Process self = this_process();
      [[maybe_unused]] const ssize_t written = write(in.get(), &self, sizeof self);
      for (;;) pause();
    }
    if (read(out.get(), &process, sizeof process) != sizeof process) std::abort();
  }

  pid_t pid = 0;
  Process process;
};

TEST(HasEnded, TellsOfAProcessThatIsKilledAndNotBefore) {
  const Sleeper sleeper;
  EXPECT_FALSE(has_ended(sleeper.process));

  kill(sleeper.pid, SIGKILL);
  siginfo_t news{};
  waitid(P_PID, static_cast<id_t>(sleeper.pid), &news, WEXITED | WNOWAIT);
  EXPECT_TRUE(has_ended(sleeper.process)) << "nobody has asked how it ended";

  waitpid(sleeper.pid, nullptr, 0);
  EXPECT_TRUE(has_ended(sleeper.process));
}

// Between opening what the kernel tells of it and reading that.
TEST(HasEnded, BearsThatTheProcessGoesWhileItIsLookedAt) {
  for (int round = 0; round < 200; ++round) {
    const Sleeper sleeper;
    std::thread reaper([&] {
      kill(sleeper.pid, SIGKILL);
      waitpid(sleeper.pid, nullptr, 0);
    });
    while (!has_ended(sleeper.process)) {
    }
    // It goes on until nothing is left.
    for (int look = 0; look < 100; ++look) EXPECT_TRUE(has_ended(sleeper.process));
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

#include "muster/collectives/testing/sleeper.h"

#include <array>
#include <csignal>
#include <cstring>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

#include "muster/base/check.h"
#include "muster/base/descriptor.h"

namespace muster::collectives::testing {

Sleeper::Sleeper() {
  std::array<int, 2> pipe{};
  MUSTER_CHECK(::pipe(pipe.data()) == 0, "a pipe can be made");
  const Descriptor out(pipe[0]);
  Descriptor in(pipe[1]);
  pid_ = fork();
  if (pid_ == 0) {
    const Process self = this_process();
    [[maybe_unused]] const ssize_t written = write(in.get(), &self, sizeof self);
    for (;;) pause();
  }
  std::array<std::byte, sizeof process_> told;
  const ssize_t got = read(out.get(), told.data(), told.size());
  MUSTER_CHECK(got == sizeof process_, "it tells who it is");
  std::memcpy(&process_, told.data(), told.size());
}

Sleeper::~Sleeper() { end(); }

void Sleeper::end() {
  const pid_t pid = std::exchange(pid_, 0);
  if (pid == 0) return;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

}  // namespace muster::collectives::testing

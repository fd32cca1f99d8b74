#include "benchmarks/common/process.h"

#include <cerrno>
#include <csignal>
#include <string_view>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "benchmarks/common/fail.h"

namespace muster::bench {
namespace {

bool failed(const siginfo_t& end) { return end.si_code != CLD_EXITED || end.si_status != 0; }

// A child that exits has said on stderr what was wrong; one that is killed has
// not. Only what a signal handler may call.
void end_with_failed_child(int /*signal*/, siginfo_t* end, void* /*context*/) {
  if (!failed(*end)) return;
  constexpr std::string_view killed = "bench: a process of the benchmark was killed\n";
  if (end->si_code != CLD_EXITED) {
    [[maybe_unused]] const auto said = write(STDERR_FILENO, killed.data(), killed.size());
  }
  _exit(1);
}

void watch_children() {
  struct sigaction action{};
  action.sa_sigaction = end_with_failed_child;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NOCLDSTOP;
  check_call(sigaction(SIGCHLD, &action, nullptr), "sigaction");
}

}  // namespace

Process::Process(const std::function<void()>& body) {
  watch_children();
  const pid_t parent = getpid();
  pid_ = check_call(fork(), "fork");
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before the line above
  body();
  _exit(0);
}

Process::~Process() { join(); }

void Process::join() {
  if (pid_ == 0) return;
  siginfo_t end{};
  while (waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED) < 0) {
    if (errno != EINTR) fail_errno("waitid");
  }
  pid_ = 0;
  if (failed(end)) fail("a process of the benchmark failed");
}

}  // namespace muster::bench

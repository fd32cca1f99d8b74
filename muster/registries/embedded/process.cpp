#include "muster/registries/embedded/process.h"

#include <cerrno>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace muster::registries::embedded {

Result<Descriptor> open_process(int pid) {
  Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process) {
    return system_error(errno == ESRCH ? Code::unavailable : Code::overloaded, "watch a process",
                        errno);
  }
  // One that nobody has reaped yet can still be opened.
  pollfd ended{process.get(), POLLIN, 0};
  if (poll(&ended, 1, 0) > 0) return Error(Code::unavailable, "the process has ended");
  return process;
}

bool has_ended(int pid) {
  const Result<Descriptor> process = open_process(pid);
  return !process && process.error().code() == Code::unavailable;
}

}  // namespace muster::registries::embedded

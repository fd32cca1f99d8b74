// Whether processes may copy each other's memory here, asked of the system itself.

#pragma once

#include <cstdint>

#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::drivers::shm::testing {

// True if a child may read and write its parent's memory: the harder way round, since
// some systems let only a parent reach its child.
inline bool processes_may_copy() {
  static std::uint64_t word = 0;
  word = 1;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    // Of the copy that the fork has made; the parent's stands at the same address.
    word = 3;
    std::uint64_t read = 0;
    iovec here{&read, sizeof read};
    iovec there{&word, sizeof word};
    const bool may_read = process_vm_readv(parent, &here, 1, &there, 1, 0) == sizeof read;
    here.iov_base = &word;
    const bool may_write = process_vm_writev(parent, &here, 1, &there, 1, 0) == sizeof word;
    _exit(may_read && read == 1 && may_write ? 0 : 1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0 && word == 3;
}

}  // namespace muster::drivers::shm::testing

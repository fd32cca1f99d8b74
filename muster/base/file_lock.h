// FileLock: a file that one holder at a time has, of all processes and in each.
//
// It ends with the process that took it, however that ends: a forked child has no
// part in it, as it would have in one by flock(). So only that process may open the
// file, and only here: the system drops the lock as soon as the process closes any
// descriptor of the file.

#pragma once

#include <string>

#include <sys/types.h>

#include "muster/base/descriptor.h"
#include "muster/base/result.h"

namespace muster {

class FileLock {
 public:
  FileLock() = default;
  // Makes the file, for the owner only, if it is not there. Any thread.
  // Code::unavailable if somebody has it, here or in another process, or the system
  // refuses.
  static Result<FileLock> take(const std::string& path);
  // In a forked child this gives up nothing, and keeps the descriptor open.
  ~FileLock();
  FileLock(FileLock&& other) noexcept = default;
  FileLock& operator=(FileLock&& other) noexcept;

 private:
  Descriptor file_;
  pid_t owner_ = 0;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace muster

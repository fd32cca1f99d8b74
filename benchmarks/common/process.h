// The other processes of a benchmark.
#pragma once

#include <functional>

#include <sys/types.h>

namespace muster::bench {

// A forked process that runs `body` and ends. It dies with its parent, and its
// parent ends with status 1 when it fails, so that neither is left waiting for
// the other. Fork before making threads or contexts of a library.
class Process {
 public:
  explicit Process(const std::function<void()>& body);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Waits for its end. Every process must be joined: the harness takes the
  // processor time of one that is not for a stranger's, and drops the sample.
  void join();
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

}  // namespace muster::bench

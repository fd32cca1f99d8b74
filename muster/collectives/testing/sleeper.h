// Sleeper: another process of this host, which does nothing until it is ended.

#pragma once

#include <sys/types.h>

#include "muster/collectives/whereabouts.h"

namespace muster::collectives::testing {

class Sleeper {
 public:
  Sleeper();
  // Ends it, if need be.
  ~Sleeper();
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  pid_t pid() const { return pid_; }
  // What it says of itself.
  const Process& process() const { return process_; }
  // Returns when it has ended, and nothing is left of it.
  void end();

 private:
  pid_t pid_ = 0;
  Process process_;
};

}  // namespace muster::collectives::testing

// How a command ends: 0 done, 1 failed, with a sentence on standard error.

#pragma once

#include <cstdio>

#include "muster/base/result.h"

namespace muster::app {

class Exit {
 public:
  void with(const Status& status) {
    if (status) return;
    status_ = 1;
    std::fprintf(stderr, "muster: %s\n", status.error().message().c_str());
  }
  int status() const { return status_; }

 private:
  int status_ = 0;
};

}  // namespace muster::app

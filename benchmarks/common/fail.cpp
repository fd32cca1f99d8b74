#include "benchmarks/common/fail.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace muster::bench {

void fail(const std::string& why) {
  std::fprintf(stderr, "bench: %s\n", why.c_str());
  std::fflush(stderr);
  // Not exit(): that would run what the parent registered in a forked child.
  _exit(1);
}

void fail_errno(const std::string& what) { fail(what + ": " + std::strerror(errno)); }

}  // namespace muster::bench

#include "muster/drivers/ucx/ucx.h"

#include "muster/net/testing/driver_suite.h"
#include "muster/net/testing/link_suite.h"
#include "tests/ucx/subject.h"

namespace muster::net::testing {
namespace {

using drivers::ucx::testing::make_ucx;

Address loopback() { return {"ucx", "127.0.0.1", 0, 0}; }

Subject over(std::string name, const char* fabrics, Sides sides = Sides::together) {
  return make_subject(
      std::move(name), [fabrics](loop::Loop& loop) { return make_ucx(loop, fabrics); }, loopback,
      sides);
}

// The fabrics of an emulated machine with RDMA are tested by tests/rdma.
MUSTER_DRIVER_SUITE(Ucx, over("posix", "posix,cma"), over("sysv", "sysv", Sides::apart),
                    over("tcp", "tcp", Sides::apart));
MUSTER_PROCESS_SUITE(Ucx, over("posix", "posix,cma"), over("tcp", "tcp"));
MUSTER_LINK_SUITE(Ucx, over("posix", "posix,cma"), over("tcp", "tcp", Sides::apart));

}  // namespace
}  // namespace muster::net::testing

#if defined(__SANITIZE_ADDRESS__)
// UCX 1.13 forgets some 100 bytes of its own when it is given up in the middle of
// meeting a peer that has died.
extern "C" const char* __lsan_default_suppressions() {  // NOLINT: the sanitizer's name.
  return "leak:libuct.so\n";
}
#endif

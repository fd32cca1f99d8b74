// The ucx driver over verbs. Runs where there is an RDMA device: the guest of
// tests/rdma/run_in_guest, or a machine that has one.

#include "muster/net/testing/driver_suite.h"
#include "muster/net/testing/link_suite.h"
#include "tests/ucx/subject.h"

namespace muster::net::testing {
namespace {

Address loopback() { return {"ucx", "127.0.0.1", 0, 0}; }

Subject over(std::string name, const char* fabrics, Sides sides = Sides::together) {
  return make_subject(
      std::move(name),
      [fabrics](loop::Loop& loop) {
        // The emulated machine takes seconds to make a queue pair.
        return drivers::ucx::testing::make_ucx(loop, fabrics,
                                               {.meeting_timeout = std::chrono::minutes(1)});
      },
      loopback, sides);
}

MUSTER_DRIVER_SUITE(Rdma, over("rc", "rc_verbs,ud_verbs", Sides::apart),
                    over("ud", "ud_verbs", Sides::apart));
MUSTER_PROCESS_SUITE(Rdma, over("rc", "rc_verbs,ud_verbs"), over("ud", "ud_verbs"));
MUSTER_LINK_SUITE(Rdma, over("rc", "rc_verbs,ud_verbs", Sides::apart));

}  // namespace
}  // namespace muster::net::testing

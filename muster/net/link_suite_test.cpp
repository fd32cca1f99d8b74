// The link suite over inproc; the other drivers run it in their own tests.

#include "muster/net/testing/link_suite.h"

#include "muster/drivers/inproc/inproc.h"

namespace muster::net::testing {
namespace {

Subject inproc(std::string name, Sides sides, drivers::InprocOptions options = {}) {
  const auto make_rig = [options](Sides wanted) {
    drivers::InprocOptions shared = options;
    shared.hub = drivers::make_inproc_hub();
    return make_loop_rig(
        wanted, [shared](loop::Loop& loop) { return drivers::make_inproc_driver(loop, shared); },
        [] { return fresh_address("inproc"); });
  };
  return {std::move(name), make_rig, sides};
}

MUSTER_LINK_SUITE(Inproc, inproc("one_loop", Sides::together), inproc("two_loops", Sides::apart),
                  inproc("short_queue", Sides::apart, {.max_frames = 2, .max_bytes = 4096}));

}  // namespace
}  // namespace muster::net::testing

// The link-level half of the conformance suite: what links do over any driver.
//
// A driver's test adds one line,
//
//   MUSTER_LINK_SUITE(Tcp, make_subject("tcp", tcp, loopback));

#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "muster/net/testing/driver_suite.h"
#include "muster/net/testing/link_end.h"
#include "muster/net/testing/rig.h"

namespace muster::net::testing {

class LinkSuite : public ::testing::TestWithParam<Subject> {
 protected:
  LinkSuite() : rig(GetParam().make_rig(GetParam().sides)) {}

  [[nodiscard]] bool run_until(const std::function<bool()>& done) { return rig->run_until(done); }

  std::unique_ptr<Rig> rig;
};

}  // namespace muster::net::testing

#define MUSTER_LINK_SUITE(prefix, ...)                                        \
  INSTANTIATE_TEST_SUITE_P(prefix, LinkSuite, ::testing::Values(__VA_ARGS__), \
                           ::testing::PrintToStringParamName())

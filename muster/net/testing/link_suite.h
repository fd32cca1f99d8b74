// The link-level half of the conformance suite: what links do over any driver.
//
// A driver's test adds one line,
//
//   MUSTER_LINK_SUITE(Tcp, make_subject("tcp", tcp, loopback));

#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "muster/net/testing/driver_suite.h"
#include "muster/net/testing/leaks.h"
#include "muster/net/testing/link_end.h"
#include "muster/net/testing/rig.h"

namespace muster::net::testing {

class LinkSuite : public ::testing::TestWithParam<Subject> {
 protected:
  LinkSuite() : before_(look_at_holdings()), rig(GetParam().make_rig(GetParam().sides)) {}
  // Looks whether all was given back.
  ~LinkSuite() override {
    rig.reset();
    EXPECT_EQ(leaked(before_, look_at_holdings()), "") << "is not given back";
  }

  [[nodiscard]] bool run_until(const std::function<bool()>& done) { return rig->run_until(done); }

  const Holdings before_;  // Taken before there is a rig.
  std::unique_ptr<Rig> rig;
};

}  // namespace muster::net::testing

#define MUSTER_LINK_SUITE(prefix, ...)                                        \
  INSTANTIATE_TEST_SUITE_P(prefix, LinkSuite, ::testing::Values(__VA_ARGS__), \
                           ::testing::PrintToStringParamName())

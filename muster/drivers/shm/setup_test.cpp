#include "muster/drivers/shm/setup.h"

#include <string>

#include <gtest/gtest.h>

#include "muster/drivers/shm/testing/process_vm.h"
#include "muster/net/testing/child_process.h"

namespace muster::drivers::shm {
namespace {

using net::testing::ChildProcess;

// GoogleTest has something else of this name.
using Hello = Setup;

constexpr std::uint64_t kSecret = 0x5EC12E7;

// Tells where its probe lies, and stays.
MUSTER_ROLE(probed) {
  static Probe probe;
  probe.secret = kSecret;
  parent.pipe.write_line(std::to_string(reinterpret_cast<std::uint64_t>(&probe)));
  static_cast<void>(parent.pipe.read_line());
  return probe.scratch == kSecret ? 0 : 1;
}

struct Abilities : ::testing::Test {
  std::unique_ptr<ChildProcess> child = *ChildProcess::start("probed", {});
  Hello theirs;

  void SetUp() override {
    theirs.probe = std::stoull(*child->pipe().read_line());
    theirs.secret = kSecret;
  }
};

TEST_F(Abilities, AreBothWhereTheSystemAllowsIt) {
  const std::uint32_t found = try_abilities(child->pid(), theirs);

  ASSERT_EQ(found, testing::processes_may_copy() ? kMayRead | kMayWrite : 0U);
  child->pipe().write_line("done");
  if (found != 0) {
    EXPECT_EQ(*child->wait(), 0) << "nothing was written there";
  }
}

TEST_F(Abilities, ToReadIsNotThereIfSomethingElseStandsThere) {
  theirs.secret = kSecret + 1;
  EXPECT_EQ(try_abilities(child->pid(), theirs) & kMayRead, 0U);
}

TEST_F(Abilities, AreNoneWithoutAProcessOrAProbe) {
  EXPECT_EQ(try_abilities(0, theirs), 0U);
  theirs.probe = 0;
  EXPECT_EQ(try_abilities(child->pid(), theirs), 0U);
}

}  // namespace
}  // namespace muster::drivers::shm

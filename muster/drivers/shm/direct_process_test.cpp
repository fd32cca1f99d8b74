// What the shm driver does better between two processes where the system lets it.

#include "muster/drivers/shm/shm.h"
#include "muster/drivers/shm/testing/process_vm.h"
#include "muster/net/testing/driver_suite.h"

namespace muster::net::testing {
namespace {

using drivers::shm::testing::processes_may_copy;

std::unique_ptr<Driver> shm(loop::Loop& loop) { return *drivers::make_shm_driver(loop); }
Address fresh() { return fresh_address("shm"); }

// More than goes through a ring at once: of ordinary memory it goes directly, or not at all.
constexpr std::size_t kDirect = std::size_t{4} << 20;

class ShmProcesses : public ProcessSuite {
 protected:
  void expect_direct(End& near, pid_t pid) {
    // What the peer may do is known when it has said something.
    ASSERT_TRUE(near.send(make_frame({8, {}}, 1)));
    ASSERT_TRUE(run_until([&] { return near.frame_count() == 1; }));
    {
      const loop::Turn turn(near.loop());
      EXPECT_EQ(near.connection->peer().pid, pid);
      ASSERT_EQ(near.connection->max_body() >= kDirect, processes_may_copy());
    }
    if (processes_may_copy()) expect_it_back(near);
  }

 private:
  // Which each of the two offers once.
  void expect_it_back(End& near) {
    const Shape shape{8, {kDirect}};
    near.take_frames().clear();
    ASSERT_TRUE(near.send(make_frame(shape, 2)));
    ASSERT_TRUE(run_until([&] { return near.frame_count() == 2 || near.is_closed(); }));
    ASSERT_FALSE(near.is_closed());
    EXPECT_EQ(near.place_count(), 1U);
    EXPECT_TRUE(is_frame(near.take_frames().at(0), shape, 2));
  }
};

TEST_P(ShmProcesses, ThatListenAreKnownAndCopyDirectlyWhereTheSystemAllowsIt) {
  const auto child = start_peer("echo");
  expect_direct(dial_peer(*child), child->pid());
}

TEST_P(ShmProcesses, ThatDialAreKnownAndCopyDirectlyWhereTheSystemAllowsIt) {
  Host& host = listen();
  const auto child = start_caller("echo", host);
  ASSERT_TRUE(run_until([&] { return host.count() == 1; }));
  expect_direct(host.end(), child->pid());
}

const Subject kSubject = make_subject("shm_that_copies", shm, fresh);
const bool kIsKnown = add_subjects({kSubject});
INSTANTIATE_TEST_SUITE_P(Shm, ShmProcesses, ::testing::Values(kSubject),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace muster::net::testing

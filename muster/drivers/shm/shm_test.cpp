#include "muster/drivers/shm/shm.h"

#include "muster/net/testing/driver_suite.h"
#include "muster/net/testing/link_suite.h"

namespace muster::net::testing {
namespace {

std::unique_ptr<Driver> shm(loop::Loop& loop) { return *drivers::make_shm_driver(loop); }
std::unique_ptr<Driver> without_process_vm(loop::Loop& loop) {
  return *drivers::make_shm_driver(loop, {.use_process_vm = false});
}
Address fresh() { return fresh_address("shm"); }

MUSTER_DRIVER_SUITE(Shm, make_subject("shm", shm, fresh),
                    make_subject("shm_apart", shm, fresh, Sides::apart),
                    make_subject("shm_no_process_vm", without_process_vm, fresh));
MUSTER_PROCESS_SUITE(Shm, make_subject("shm_process", shm, fresh),
                     make_subject("shm_process_no_process_vm", without_process_vm, fresh));
MUSTER_LINK_SUITE(Shm, make_subject("shm", shm, fresh),
                  make_subject("shm_apart", shm, fresh, Sides::apart),
                  make_subject("shm_no_process_vm", without_process_vm, fresh, Sides::apart));

TEST(ShmDriver, GivesMemoryOfTheArenaBeforeAnybodyIsThere) {
  const auto loop = *loop::Loop::make();
  const loop::Turn turn(*loop);
  const auto driver = shm(*loop);
  const Result<WritableBuffer> memory = driver->allocate(1 << 20);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->size(), 1U << 20);
  EXPECT_NE(memory->owner()->origin(), nullptr) << "peers can read it where it lies";
}

}  // namespace
}  // namespace muster::net::testing

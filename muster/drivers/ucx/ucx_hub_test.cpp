#include "muster/drivers/ucx/ucx_hub.h"

#include <memory>

#include <gtest/gtest.h>
#include <ucs/type/status.h>

#include "tests/ucx/subject.h"

namespace muster::drivers::ucx {
namespace {

// Waits for a pair of its own, and lets go of it when it is told, as a connection does.
class LetsGo final : public UcxPair::Waiter {
 public:
  explicit LetsGo(UcxHub& hub) : pair_(*hub.pair_with({Id::random()})) {
    hub.make_hot(*pair_);
    pair_->call_when_settled(*this);
  }
  ~LetsGo() {
    if (pair_ != nullptr) pair_->forget(*this);
  }
  LetsGo(const LetsGo&) = delete;
  LetsGo& operator=(const LetsGo&) = delete;

  void fail() { pair_->set_failed(UCS_ERR_CONNECTION_RESET); }
  bool was_told() const { return pair_ == nullptr; }

 private:
  void on_settled() override { pair_.reset(); }

  std::shared_ptr<UcxPair> pair_;
};

TEST(UcxHub, MayGoWithoutTheBatonWhileAPairIsBeingBuried) {
  auto loop = *loop::Loop::make({.keeper = false});
  auto hub = *UcxHub::make(*loop, testing::make_control(*loop), {.fabrics = "posix"});
  {
    const loop::Turn turn(*loop);
    const LetsGo gone(*hub);
  }

  hub.reset();

  EXPECT_EQ(loop->next_timer(), kForever);
}

TEST(UcxHub, OneWhoLetsGoOfItsPairWhenItIsToldKeepsNewsFromNobodyElse) {
  auto loop = *loop::Loop::make({.keeper = false});
  const auto hub = *UcxHub::make(*loop, testing::make_control(*loop), {.fabrics = "posix"});
  const loop::Turn outer(*loop);
  LetsGo first(*hub);
  LetsGo second(*hub);
  LetsGo third(*hub);

  for (LetsGo* each : {&first, &second, &third}) each->fail();
  loop->run_ready();

  EXPECT_TRUE(first.was_told());
  EXPECT_TRUE(second.was_told());
  EXPECT_TRUE(third.was_told());
}

}  // namespace
}  // namespace muster::drivers::ucx

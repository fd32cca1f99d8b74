// How the driver goes to sleep. Some calls of this program to UCX come here first,
// so that a test can stand between two of the driver's steps.

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "muster/net/testing/driver_suite.h"
#include "tests/ucx/subject.h"

namespace muster::drivers::ucx {
namespace {

using net::testing::End;
using net::testing::Host;
using net::testing::make_frame;
using net::testing::Rig;
using net::testing::Sides;

// Something that has happened, for another thread to wait for.
class Event {
 public:
  void happen() {
    has_happened_ = true;
    has_happened_.notify_all();
  }
  void wait() const { has_happened_.wait(false); }

 private:
  std::atomic<bool> has_happened_{false};
};

// One moment at which a loop arms a worker.
struct Moment {
  explicit Moment(loop::Loop& arming) : loop(arming) {}
  loop::Loop& loop;
  Event has_come;
  Event may_pass;
  ucs_status_t found = UCS_OK;
};

std::atomic<Moment*> awaited = nullptr;

// The function of that name that a call would have reached but for this program.
template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// A worker over shared memory that tells its news as one over verbs does: each once
// on the descriptor, until it is armed again, and none that came before it was armed.
class Channel {
 public:
  ~Channel() {
    for (const auto& [worker, descriptor] : descriptors_) close(descriptor);
  }

  int open(ucp_worker_h worker, int inner) {
    const std::lock_guard lock(mutex_);
    const int descriptor = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{EPOLLIN | EPOLLET, {}};
    EXPECT_EQ(epoll_ctl(descriptor, EPOLL_CTL_ADD, inner, &event), 0);
    return descriptors_[worker] = descriptor;
  }

  ucs_status_t arm(ucp_worker_h worker) {
    epoll_event event;
    if (epoll_wait(descriptor_of(worker), &event, 1, 0) > 0) return UCS_ERR_BUSY;
    Moment* const moment = awaited;
    const auto arm_inside = real<ucs_status_t(ucp_worker_h)>("ucp_worker_arm");
    if (moment == nullptr || !moment->loop.is_held()) return arm_inside(worker);
    awaited = nullptr;
    moment->has_come.happen();
    moment->may_pass.wait();
    moment->found = arm_inside(worker);
    return UCS_OK;
  }

 private:
  int descriptor_of(ucp_worker_h worker) {
    const std::lock_guard lock(mutex_);
    return descriptors_.at(worker);
  }

  std::mutex mutex_;
  std::map<ucp_worker_h, int> descriptors_;
};

std::atomic<Channel*> channel = nullptr;  // Null where UCX is left alone.

}  // namespace
}  // namespace muster::drivers::ucx

// NOLINTBEGIN(readability-identifier-naming): UCX's.
extern "C" ucs_status_t ucp_worker_get_efd(ucp_worker_h worker, int* descriptor) {
  using namespace muster::drivers::ucx;
  const auto got = real<ucs_status_t(ucp_worker_h, int*)>("ucp_worker_get_efd")(worker, descriptor);
  if (channel != nullptr && got == UCS_OK) *descriptor = channel.load()->open(worker, *descriptor);
  return got;
}

extern "C" ucs_status_t ucp_worker_arm(ucp_worker_h worker) {
  using namespace muster::drivers::ucx;
  if (channel != nullptr) return channel.load()->arm(worker);
  return real<ucs_status_t(ucp_worker_h)>("ucp_worker_arm")(worker);
}
// NOLINTEND(readability-identifier-naming)

namespace muster::drivers::ucx {
namespace {

// Both sides, each with a loop of its own; the far one sends the first two frames back.
class Stage {
 public:
  Stage() {
    const loop::Turn turn(near_loop());
    near.take = [](wire::Frame&) {};
    near.connection = *rig->near().driver.dial(host.address(), near);
  }
  ~Stage() {
    const loop::Turn turn(near_loop());
    near.connection.reset();
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  loop::Loop& near_loop() { return rig->near().loop; }
  loop::Loop& far_loop() { return rig->far().loop; }

  const std::unique_ptr<Rig> rig = net::testing::make_loop_rig(
      Sides::apart, [](loop::Loop& loop) { return testing::make_ucx(loop, "posix"); },
      [] { return net::Address{"ucx", "127.0.0.1", 0, 0}; });
  Host host{*rig, rig->address(), [](End& end) {
              end.take = [&end](wire::Frame& frame) {
                const bool is_early = end.frame_count() < 2;
                EXPECT_TRUE(!is_early || end.connection->send(frame));
              };
            }};
  End near{near_loop()};
};

class UcxArm : public ::testing::Test {
 protected:
  UcxArm() {
    channel = &channel_;
    stage.emplace();
    EXPECT_TRUE(stage->near.send(make_frame({8, {}}, 1)));
    EXPECT_TRUE(stage->rig->run_until([&] { return stage->near.frame_count() == 1; }));
  }
  ~UcxArm() override {
    awaited = nullptr;
    stage.reset();
    channel = nullptr;
  }

  std::optional<Stage> stage;

 private:
  Channel channel_;
};

TEST_F(UcxArm, WhatComesBetweenTheLastLookAndTheArmingIsNotSleptOver) {
  Moment arming(stage->far_loop());
  awaited = &arming;

  ASSERT_TRUE(stage->near.send(make_frame({8, {}}, 2)));
  arming.has_come.wait();
  ASSERT_TRUE(stage->near.send(make_frame({8, {}}, 3)));
  arming.may_pass.happen();

  End& far = stage->host.end();
  ASSERT_TRUE(stage->rig->run_until([&] { return far.frame_count() == 3; }));
  EXPECT_EQ(arming.found, UCS_ERR_BUSY);
}

// Shared memory does not tell its sender that there is room again.
TEST_F(UcxArm, WhatAVisitorLeavesIsSentThoughNobodyWaits) {
  constexpr std::size_t kFrames = 2000;
  Moment arming(stage->near_loop());
  awaited = &arming;
  arming.may_pass.happen();
  ASSERT_TRUE(stage->near.send(make_frame({8, {}}, 2)));
  arming.has_come.wait();
  while (stage->near.frame_count() < 2) std::this_thread::yield();
  stage->rig->set_far_reading(false);

  {
    const loop::Turn turn(stage->near_loop());
    for (std::size_t i = 0; i < kFrames; ++i) {
      ASSERT_TRUE(stage->near.send(make_frame({8, {}}, i)));
    }
  }
  stage->rig->set_far_reading(true);

  const End& far = stage->host.end();
  EXPECT_TRUE(stage->far_loop().wait_until([&] { return far.frame_count() == kFrames + 2; },
                                           stage->far_loop().now() + std::chrono::seconds(60)));
}

}  // namespace
}  // namespace muster::drivers::ucx

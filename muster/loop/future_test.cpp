#include "muster/loop/future.h"

#include <chrono>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

namespace muster::loop {
namespace {

TEST(Future, GivesWhatThePromiseSets) {
  auto loop = *Loop::make();
  Promise<int> promise(*loop);
  Future<int> future = promise.future();
  EXPECT_EQ(future.get(loop->now()).error().code(), Code::timeout);
  std::thread setter([&] { promise.set(7); });
  EXPECT_EQ(*future.get(), 7);
  setter.join();
  EXPECT_EQ(future.get().error().code(), Code::invalid);
}

TEST(Future, IsWaitedForUntilTheCallerIsToStop) {
  auto loop = *Loop::make();
  Promise<int> promise(*loop);
  Future<int> future = promise.future();
  std::stop_source stop;
  std::thread stopper([&] { stop.request_stop(); });
  const TimePoint late = loop->now() + std::chrono::seconds(20);
  EXPECT_EQ(future.get(late, stop.get_token()).error().code(), Code::cancelled);
  EXPECT_LT(loop->now(), late);
  stopper.join();
  EXPECT_EQ(future.get(loop->now(), stop.get_token()).error().code(), Code::cancelled);
  promise.set(7);
  EXPECT_EQ(*future.get(stop.get_token()), 7) << "what is there is given all the same";
}

TEST(Future, ThatHasNothingSaysSo) {
  auto loop = *Loop::make();
  Promise<int> promise(*loop);
  Future<int> taken = promise.future();
  promise.set(5);
  EXPECT_TRUE(taken.is_ready());
  EXPECT_EQ(*taken.get(), 5);
  Future<int> empty;
  for (Future<int>* future : {&taken, &empty}) {
    EXPECT_FALSE(future->is_ready());
    Code code = Code::timeout;
    future->then([&](const Result<int>& result) { code = result.error().code(); });
    EXPECT_EQ(code, Code::invalid);
  }
}

TEST(Future, ADroppedPromiseIsACancelledFuture) {
  auto loop = *Loop::make();
  Future<int> future = Promise<int>(*loop).future();
  EXPECT_EQ(future.get().error().code(), Code::cancelled);
}

TEST(Future, OfAPromiseThatIsAssignedOverIsCancelled) {
  auto loop = *Loop::make();
  Promise<int> promise(*loop);
  Future<int> before = promise.future();

  promise = Promise<int>(*loop);

  EXPECT_EQ(before.get(loop->now()).error().code(), Code::cancelled);
  Future<int> after = promise.future();
  promise.set(7);
  EXPECT_EQ(*after.get(), 7);
}

TEST(Future, CallsItsContinuationOnce) {
  auto loop = *Loop::make();
  Promise<int> promise(*loop);
  int seen = 0;
  promise.future().then([&](Result<int> result) { seen += *result; });
  promise.set(5);
  EXPECT_EQ(seen, 5);
}

TEST(Future, ThatHasFailedFromTheBeginningNeedsNoLoop) {
  auto future = Future<int>::failed(Error(Code::invalid, "not here"));
  EXPECT_TRUE(future);
  EXPECT_TRUE(future.is_ready());
  EXPECT_EQ(future.get().error().message(), "not here");
  EXPECT_FALSE(future) << "it was taken";
  std::optional<Code> told;
  Future<int>::failed(Error(Code::failed, "no")).then([&](const Result<int>& result) {
    told = result.error().code();
  });
  EXPECT_EQ(told, Code::failed);
}

}  // namespace
}  // namespace muster::loop

// What a connection keeps of frames that cannot be delivered yet. Records come as the
// hub would hand them on; there is no peer.

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "muster/drivers/ucx/ucx_connection.h"
#include "muster/net/testing/end.h"
#include "tests/ucx/subject.h"

namespace muster::drivers::ucx {
namespace {

using net::testing::End;
using net::testing::make_frame;

class UcxReceive : public ::testing::Test {
 protected:
  UcxReceive() {
    const loop::Turn turn(*loop);
    auto made = std::make_unique<UcxConnection>(*hub);
    connection = made.get();
    connection->set_sink(end);
    end.take = [](wire::Frame&) {};
    end.connection = std::move(made);
  }

  // The record of `frame` comes; its large parts do not.
  void receive(const wire::Frame& frame) {
    const loop::Turn turn(*loop);
    record_.resize(record_size(frame));
    write_record(frame, connection->key(), next_++, record_.data());
    connection->on_record(record_);
  }

  const std::unique_ptr<loop::Loop> loop = *loop::Loop::make({.keeper = false});
  const std::unique_ptr<UcxHub> hub =
      *UcxHub::make(*loop, testing::make_control(*loop), {.fabrics = "posix"});
  End end{*loop};
  UcxConnection* connection = nullptr;  // The end's.

 private:
  std::uint32_t next_ = 0;
  std::vector<std::byte> record_;
};

TEST_F(UcxReceive, FramesBehindAPartThatNeverComesAreKeptUpToALimit) {
  // Almost all of it is lacked by large parts, which take no memory until they come.
  const wire::Frame large = make_frame({8, {kMostBody}}, 1);
  for (int i = 0; i < 127; ++i) receive(large);
  const wire::Frame small = make_frame({8, {std::size_t{32} << 10}}, 2);
  for (int i = 0; i < 100; ++i) receive(small);
  ASSERT_FALSE(end.is_closed());

  for (int i = 0; i < 200 && !end.is_closed(); ++i) receive(small);

  EXPECT_EQ(end.closed_with(), Code::invalid);
  EXPECT_EQ(end.frame_count(), 0U);
}

TEST_F(UcxReceive, WhatWasDeliveredDoesNotCountAnyMore) {
  constexpr std::size_t kFrames = 1100;  // More than the limit, in MiB.
  const wire::Frame frame = make_frame({8, std::vector<std::size_t>(20, 60'000)}, 3);

  for (std::size_t i = 0; i < kFrames; ++i) receive(frame);

  EXPECT_FALSE(end.is_closed());
  EXPECT_EQ(end.frame_count(), kFrames);
}

}  // namespace
}  // namespace muster::drivers::ucx

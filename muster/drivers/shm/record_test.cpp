#include "muster/drivers/shm/record.h"

#include <array>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "muster/drivers/shm/small_record.h"

namespace muster::drivers::shm {
namespace {

wire::Frame two_parts() {
  wire::Frame frame;
  frame.head.assign(std::as_bytes(std::span("head", 4)));
  frame.parts.push_back(Buffer::copy_of("first part"));
  frame.parts.push_back(Buffer::copy_of("2"));
  return frame;
}

std::vector<PartPlan> inside(const wire::Frame& frame) {
  std::vector<PartPlan> plans;
  for (const Buffer& part : frame.parts) plans.push_back({How::inside, part.size(), 0, 0, 0});
  return plans;
}

std::vector<std::byte> write(const wire::Frame& frame, const std::vector<PartPlan>& plans) {
  std::vector<std::byte> body(frame_record_size(frame, plans));
  write_frame_record(frame, plans, body.data());
  return body;
}

TEST(FrameRecord, ReadsWhatWasWritten) {
  const wire::Frame frame = two_parts();
  std::vector<PartPlan> plans = inside(frame);
  plans[1] = {How::reference, 1, 4096, 77, 3};
  const std::vector<std::byte> body = write(frame, plans);
  wire::Head head;
  std::vector<PartPlan> read;
  const auto at = read_frame_record(body, head, read);
  ASSERT_TRUE(at);
  EXPECT_EQ(std::memcmp(head.bytes().data(), "head", 4), 0);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(std::memcmp(body.data() + *at, "first part", 10), 0);
  EXPECT_EQ(read[1].how, How::reference);
  EXPECT_EQ(read[1].place, 4096u);
  EXPECT_EQ(read[1].handle, 77u);
  EXPECT_EQ(read[1].slot, 3u);
}

TEST(FrameRecord, IsRefusedWhenCutAnywhere) {
  const wire::Frame frame = two_parts();
  const std::vector<std::byte> body = write(frame, inside(frame));
  wire::Head head;
  std::vector<PartPlan> read;
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(read_frame_record(std::span(body).first(size), head, read)) << size;
  }
}

TEST(FrameRecord, ABundleMustHoldItsParts) {
  const wire::Frame frame = two_parts();
  std::vector<PartPlan> plans = inside(frame);
  plans[0].how = plans[1].how = How::bundled;
  plans.push_back({How::direct, 24, 1000, 0, 1});
  wire::Head head;
  std::vector<PartPlan> read;
  EXPECT_TRUE(read_frame_record(write(frame, plans), head, read));
  EXPECT_EQ(read.size(), 3u);
  plans.back().size = 16;
  EXPECT_FALSE(read_frame_record(write(frame, plans), head, read));
}

TEST(FrameRecord, TheShortWayWritesAndReadsTheSameBytes) {
  wire::Frame frame = two_parts();
  frame.parts.push_back(Buffer());
  const std::vector<std::byte> expected = write(frame, inside(frame));
  std::vector<std::byte> body(small_record_size(frame));
  write_small_record(frame, body.data());
  // Padding is left as it was.
  EXPECT_EQ(body.size(), expected.size());
  wire::Head head;
  std::array<std::uint32_t, kSmallParts> sizes{};
  std::size_t count = 0;
  const std::size_t at = read_small_record(body, head, sizes, count);
  std::vector<PartPlan> plans;
  wire::Head same;
  EXPECT_EQ(at, *read_frame_record(body, same, plans));
  ASSERT_EQ(count, 3u);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(sizes[i], plans[i].size);
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_EQ(read_small_record(std::span(body).first(size), head, sizes, count), 0u);
  }
}

TEST(FrameRecord, RandomBytesNeverLeadOutside) {
  std::mt19937 random(3);
  wire::Head head;
  std::vector<PartPlan> read;
  const wire::Frame frame = two_parts();
  const std::vector<std::byte> good = write(frame, inside(frame));
  for (int round = 0; round < 100'000; ++round) {
    std::vector<std::byte> body = good;
    for (int flip = 0; flip < 3; ++flip) body[random() % body.size()] = std::byte(random());
    const auto at = read_frame_record(body, head, read);
    if (!at) continue;
    std::size_t end = *at;
    for (const PartPlan& plan : read) end += plan.how == How::inside ? plan.size : 0;
    ASSERT_LE(end, body.size());
  }
}

}  // namespace
}  // namespace muster::drivers::shm

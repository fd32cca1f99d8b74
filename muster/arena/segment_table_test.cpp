#include "muster/arena/segment_table.h"

#include <algorithm>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace muster::arena {
namespace {

std::shared_ptr<Segment> a_segment() { return *Segment::create(4096); }

std::shared_ptr<Segment> the_same(const Segment& segment) {
  return *Segment::open(fcntl(segment.descriptor(), F_DUPFD_CLOEXEC, 0), segment.size());
}

TEST(SentSegments, SendADescriptorOnce) {
  SentSegments sent;
  const auto one = a_segment();
  const auto two = a_segment();

  const auto first = *sent.slot_for(one);
  const auto other = *sent.slot_for(two);
  const auto again = *sent.slot_for(one);

  EXPECT_TRUE(first.is_new);
  EXPECT_TRUE(other.is_new);
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(first.number, again.number);
  EXPECT_NE(first.number, other.number);
}

TEST(SentSegments, KnowMemoryThatCameTwoWays) {
  SentSegments sent;
  const auto one = a_segment();
  const auto other_way = the_same(*one);
  const auto first = *sent.slot_for(one);

  const auto again = *sent.slot_for(other_way);

  EXPECT_EQ(again.number, first.number);
  EXPECT_FALSE(again.is_new);
}

TEST(SentSegments, SendTheDescriptorAgainOnceTheSegmentWasGone) {
  SentSegments sent;
  auto one = a_segment();
  const auto other_way = the_same(*one);
  ASSERT_TRUE(sent.slot_for(one));
  one.reset();

  EXPECT_TRUE(sent.slot_for(other_way)->is_new);
}

std::vector<std::uint32_t> told_gone(SentSegments& sent) {
  std::vector<std::uint32_t> gone;
  sent.tell_gone([&](std::uint32_t number) {
    gone.push_back(number);
    return true;
  });
  return gone;
}

TEST(SentSegments, KeepNothingAliveAndTellWhatIsGone) {
  SentSegments sent;
  auto one = a_segment();
  const auto two = a_segment();
  const std::uint32_t number = sent.slot_for(one)->number;
  ASSERT_TRUE(sent.slot_for(two));
  EXPECT_TRUE(told_gone(sent).empty());

  one.reset();

  EXPECT_EQ(told_gone(sent), std::vector{number});
  EXPECT_EQ(sent.count(), 1u);
  EXPECT_TRUE(told_gone(sent).empty());
}

TEST(SentSegments, TellAgainWhatCouldNotBeTold) {
  SentSegments sent;
  auto one = a_segment();
  const std::uint32_t number = sent.slot_for(one)->number;
  one.reset();

  sent.tell_gone([](std::uint32_t) { return false; });

  EXPECT_EQ(told_gone(sent), std::vector{number});
}

TEST(SentSegments, MemoryThatCameTwoWaysIsGoneWhenBothAre) {
  SentSegments sent;
  auto one = a_segment();
  auto other_way = the_same(*one);
  const std::uint32_t number = sent.slot_for(one)->number;
  ASSERT_EQ(sent.slot_for(other_way)->number, number);

  one.reset();
  EXPECT_TRUE(told_gone(sent).empty());
  EXPECT_FALSE(sent.slot_for(other_way)->is_new);
  other_way.reset();

  EXPECT_EQ(told_gone(sent), std::vector{number});
}

TEST(SentSegments, UseNoSlotTwice) {
  SentSegments sent;
  std::vector<std::uint32_t> numbers;

  for (int i = 0; i < 4; ++i) {
    const auto one = a_segment();
    numbers.push_back(sent.slot_for(one)->number);
  }
  told_gone(sent);
  numbers.push_back(sent.slot_for(a_segment())->number);

  std::ranges::sort(numbers);
  EXPECT_EQ(std::ranges::adjacent_find(numbers), numbers.end());
}

TEST(SentSegments, AreBoundedByThoseThatThePeerHas) {
  SentSegments sent(2);
  auto one = a_segment();
  const auto two = a_segment();
  const auto three = a_segment();
  ASSERT_TRUE(sent.slot_for(one));
  ASSERT_TRUE(sent.slot_for(two));
  EXPECT_EQ(sent.slot_for(three).error().code(), Code::overloaded);

  one.reset();
  EXPECT_EQ(sent.slot_for(three).error().code(), Code::overloaded);  // The peer maps it still.
  told_gone(sent);

  EXPECT_TRUE(sent.slot_for(three)->is_new);
}

TEST(SentSegments, ForgetWhatCouldNotBeSent) {
  SentSegments sent;
  const auto one = a_segment();
  sent.forget(sent.slot_for(one)->number);
  sent.forget(99);

  EXPECT_EQ(sent.count(), 0u);
  EXPECT_TRUE(sent.slot_for(one)->is_new);
}

TEST(ReceivedSegments, FindWhatWasPutAndNothingElse) {
  ReceivedSegments received;
  const auto one = a_segment();
  ASSERT_TRUE(received.put(3, one));

  EXPECT_EQ(received.find(3), one);
  EXPECT_EQ(received.find(2), nullptr);
  EXPECT_EQ(received.find(UINT32_MAX), nullptr);
  EXPECT_EQ(received.count(), 1u);
}

TEST(ReceivedSegments, AreBounded) {
  ReceivedSegments received(2);
  ASSERT_TRUE(received.put(7, a_segment()));
  ASSERT_TRUE(received.put(UINT32_MAX - 1, a_segment()));

  EXPECT_EQ(received.put(8, a_segment()).error().code(), Code::invalid);
  EXPECT_TRUE(received.put(7, a_segment()));
  received.drop(7);
  EXPECT_TRUE(received.put(8, a_segment()));
}

TEST(ReceivedSegments, ReplaceAndDropLetTheMappingGo) {
  ReceivedSegments received;
  auto one = a_segment();
  const std::weak_ptr<Segment> watch = one;
  ASSERT_TRUE(received.put(0, std::move(one)));

  ASSERT_TRUE(received.put(0, a_segment()));
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(received.count(), 1u);

  received.drop(0);
  received.drop(0);
  received.drop(77);
  EXPECT_EQ(received.count(), 0u);
  EXPECT_EQ(received.find(0), nullptr);
}

}  // namespace
}  // namespace muster::arena

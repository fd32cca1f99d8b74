#include "muster/arena/segment_table.h"

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

TEST(SentSegments, KeepNothingAliveAndTellWhatIsGone) {
  SentSegments sent;
  auto one = a_segment();
  const auto two = a_segment();
  const std::uint32_t number = sent.slot_for(one)->number;
  ASSERT_TRUE(sent.slot_for(two));
  std::vector<std::uint32_t> gone;
  sent.take_gone(gone);
  EXPECT_TRUE(gone.empty());

  one.reset();
  sent.take_gone(gone);

  EXPECT_EQ(gone, std::vector{number});
  EXPECT_EQ(sent.count(), 1u);
  gone.clear();
  sent.take_gone(gone);
  EXPECT_TRUE(gone.empty());
}

TEST(SentSegments, AreBoundedByThoseThatAreThere) {
  SentSegments sent(2);
  auto one = a_segment();
  const auto two = a_segment();
  const auto three = a_segment();
  const std::uint32_t number = sent.slot_for(one)->number;
  ASSERT_TRUE(sent.slot_for(two));
  EXPECT_EQ(sent.slot_for(three).error().code(), Code::overloaded);

  one.reset();
  const auto slot = sent.slot_for(three);

  ASSERT_TRUE(slot);
  EXPECT_EQ(slot->number, number);
  EXPECT_TRUE(slot->is_new);
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

TEST(ReceivedSegments, RefuseASlotOutOfRange) {
  ReceivedSegments received;
  EXPECT_EQ(received.put(kMaxSlots, a_segment()).error().code(), Code::invalid);
  EXPECT_EQ(received.put(UINT32_MAX, a_segment()).error().code(), Code::invalid);
  EXPECT_TRUE(received.put(kMaxSlots - 1, a_segment()));
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

#include "muster/net/link_head.h"

#include <array>

#include <gtest/gtest.h>

namespace muster::net {
namespace {

LinkHead chunk_head() {
  return {.version = 1,
          .kind = Kind::chunk,
          .priority = 3,
          .channel = 0x01020304,
          .credit = 0x11121314,
          .aux = 0x21222324,
          .id = 0x3132333435363738,
          .offset = 0x4142434445464748};
}

wire::Head written(const LinkHead& link, std::size_t user = 0) {
  wire::Head head;
  head.resize(kLinkHead + user);
  write_link_head(link, head);
  return head;
}

TEST(LinkHead, LiesOnTheWireAsTheTableSays) {
  const wire::Head head = written(chunk_head());

  constexpr std::array<unsigned char, kLinkHead> kGolden = {
      0x01, 0x0c, 0x00, 0x03, 0x04, 0x03, 0x02, 0x01, 0x14, 0x13, 0x12,
      0x11, 0x24, 0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33,
      0x32, 0x31, 0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41};
  ASSERT_EQ(head.size(), kLinkHead);
  EXPECT_EQ(std::memcmp(head.bytes().data(), kGolden.data(), kLinkHead), 0);
}

TEST(LinkHead, IsReadAsItWasWrittenAndLeavesTheUsersBytesAlone) {
  wire::Head head;
  head.resize(kLinkHead + 2)[kLinkHead + 1] = std::byte{9};
  write_link_head(chunk_head(), head);

  LinkHead link;
  ASSERT_TRUE(read_link_head(head, 1, link));
  EXPECT_EQ(std::memcmp(&link, head.bytes().data(), kLinkHead), 0);
  EXPECT_EQ(head.bytes()[kLinkHead + 1], std::byte{9});
}

TEST(LinkHead, RefusesAnotherVersionAndSaysWhich) {
  LinkHead link;
  const wire::Head head = written(chunk_head());

  EXPECT_FALSE(read_link_head(head, 2, link));
  EXPECT_EQ(why_not_a_head(head, 2).message(),
            "a frame of link version 1 came where 2 was agreed on");
}

TEST(LinkHead, RefusesWhatNoVersionHas) {
  LinkHead link;
  for (auto [kind, flags, priority] :
       {std::array{0, 0, 0}, std::array{14, 0, 0}, std::array{8, 1, 0}, std::array{8, 0, 4}}) {
    LinkHead bad = chunk_head();
    bad.kind = static_cast<Kind>(kind);
    bad.flags = static_cast<std::uint8_t>(flags);
    bad.priority = static_cast<std::uint8_t>(priority);
    EXPECT_FALSE(read_link_head(written(bad), 1, link)) << kind << flags << priority;
  }
}

TEST(LinkHead, RefusesAHeadThatIsTooShort) {
  LinkHead link;
  for (std::size_t size = 0; size < kLinkHead; ++size) {
    wire::Head head;
    head.resize(size);
    EXPECT_FALSE(read_link_head(head, 1, link));
    EXPECT_EQ(why_not_a_head(head, 1).code(), Code::invalid);
  }
}

TEST(LinkHead, EveryKindHasAName) {
  for (int kind = 1; kind <= 13; ++kind) EXPECT_NE(name(static_cast<Kind>(kind)), "unknown");
  EXPECT_EQ(name(static_cast<Kind>(14)), "unknown");
}

}  // namespace
}  // namespace muster::net

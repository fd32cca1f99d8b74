#include "muster/wire/brief_frame.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace muster::wire {
namespace {

constexpr std::uint64_t kLimit = 4096;

Frame frame_of(const std::vector<std::uint64_t>& words, const std::string& part) {
  Frame frame;
  frame.head.assign(std::as_bytes(std::span(words)));
  frame.parts.push_back(Buffer::copy_of(part));
  return frame;
}

Head head_of(const std::vector<std::uint64_t>& words) {
  return Head(std::as_bytes(std::span(words)));
}

bool is_same(const Head& one, const Head& other) {
  return std::ranges::equal(one.bytes(), other.bytes());
}

std::vector<std::byte> write(const Frame& frame, Head& before) {
  std::vector<std::byte> bytes(prefix_size(1) + frame.head.size() + frame.parts[0].size());
  bytes.resize(write_brief_frame(frame.head.bytes(), frame.parts[0].bytes(), before, bytes.data()));
  return bytes;
}

std::size_t read(std::span<const std::byte> bytes, Head& before, Frame& frame) {
  BufferPool pool;
  return read_brief_frame(bytes, kLimit, pool, before, frame);
}

RC_GTEST_PROP(BriefFrame, IsReadAsItWasWrittenAfterAnyOther, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, kMaxHead / kHeadWord + 1);
  const auto word = rc::gen::inRange<std::uint64_t>(0, 3);
  const auto words = rc::gen::container<std::vector<std::uint64_t>>(count, word);
  const std::vector<std::uint64_t> first = *words;
  Head written = head_of(first);
  Head known = head_of(first);
  for (int follower = 0; follower < 3; ++follower) {
    const Frame frame = frame_of(*words, *rc::gen::nonEmpty<std::string>());

    std::vector<std::byte> bytes = write(frame, written);
    const std::size_t whole = bytes.size();
    bytes.resize(whole + 40, std::byte{9});
    Frame again;
    RC_ASSERT(read(bytes, known, again) == whole);

    RC_ASSERT(is_same(again.head, frame.head));
    RC_ASSERT(again.parts[0].text() == frame.parts[0].text());
    RC_ASSERT(is_same(written, frame.head));
    RC_ASSERT(is_same(known, frame.head));
  }
}

RC_GTEST_PROP(BriefFrame, ThatIsCutAnywhereIsLeftAlone, ()) {
  Head before = head_of({1, 2, 3, 4});
  const Head known = before;
  std::vector<std::byte> bytes = write(frame_of({1, 7, 3, 8}, "what comes in pieces"), before);
  bytes.resize(*rc::gen::inRange<std::size_t>(kBriefFixed, bytes.size()));
  Frame frame;
  Head left = known;

  RC_ASSERT(read(bytes, left, frame) == 0U);

  RC_ASSERT(frame.parts.empty());
  RC_ASSERT(is_same(left, known));
}

TEST(BriefFrame, HasNothingOfAHeadThatIsTheSame) {
  Head before = head_of({1, 2, 3, 4});
  EXPECT_EQ(write(frame_of({1, 2, 3, 4}, "part"), before).size(), kBriefFixed + 4);
  EXPECT_EQ(write(frame_of({1, 2, 3, 5}, "part"), before).size(), kBriefFixed + kHeadWord + 4);
}

TEST(BriefFrame, NeedsAFrameBeforeWithAHeadOfTheSameSizeInWords) {
  Head nothing;
  Head shorter = head_of({1, 2});
  EXPECT_TRUE(write(frame_of({1}, "part"), nothing).empty());
  EXPECT_TRUE(write(frame_of({1}, "part"), shorter).empty());
  Head odd(std::as_bytes(std::span("three", 5)));
  Frame frame;
  frame.head.assign(odd.bytes());
  frame.parts.push_back(Buffer::copy_of("part"));
  EXPECT_TRUE(write(frame, odd).empty());
}

TEST(BriefFrame, FitsOnlyWhatIsThere) {
  const Head before = head_of({1, 2, 3, 4});
  EXPECT_TRUE((Brief{0b1111, 5}.fits(before, kLimit)));
  EXPECT_FALSE((Brief{0b10000, 5}.fits(before, kLimit))) << "a word that the head does not have";
  EXPECT_FALSE((Brief{0, 0}.fits(before, kLimit))) << "no part";
  EXPECT_FALSE((Brief{0, kLimit}.fits(before, kLimit))) << "too large a part";
  EXPECT_FALSE((Brief{0, 5}.fits(Head(), kLimit))) << "no frame before it";
}

}  // namespace
}  // namespace muster::wire

#include "muster/wire/small_frame.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace muster::wire {
namespace {

constexpr std::uint64_t kLimit = 4096;

std::vector<std::byte> bytes_of(const Frame& frame) {
  std::vector<std::byte> bytes(prefix_size(frame.parts.size()));
  write_prefix(frame, bytes);
  bytes.insert(bytes.end(), frame.head.bytes().begin(), frame.head.bytes().end());
  for (const Buffer& part : frame.parts) {
    bytes.insert(bytes.end(), part.bytes().begin(), part.bytes().end());
  }
  return bytes;
}

Frame frame_of(std::size_t head, const std::vector<std::string>& parts) {
  Frame frame;
  frame.head.assign(std::vector(head, std::byte{7}));
  for (const std::string& part : parts) frame.parts.push_back(Buffer::copy_of(part));
  return frame;
}

std::size_t read(std::span<const std::byte> bytes, Frame& frame) {
  BufferPool pool;
  return read_small_frame(bytes, kLimit, pool, frame);
}

RC_GTEST_PROP(SmallFrame, IsReadAsItWasWrittenWhateverFollows, ()) {
  const auto text = *rc::gen::nonEmpty<std::string>();
  const auto head = *rc::gen::inRange<std::size_t>(0, kMaxHead + 1);
  std::vector<std::byte> bytes = bytes_of(frame_of(head, {text}));
  const std::size_t whole = bytes.size();
  bytes.resize(whole + *rc::gen::inRange<std::size_t>(0, 200), std::byte{9});
  Frame frame;
  RC_ASSERT(read(bytes, frame) == whole);
  RC_ASSERT(frame.parts.size() == 1U);
  RC_ASSERT(std::string(frame.parts[0].text()) == text);
  RC_ASSERT(frame.head.size() == head);
}

RC_GTEST_PROP(SmallFrame, ThatIsCutAnywhereIsLeftAlone, ()) {
  std::vector<std::byte> bytes = bytes_of(frame_of(32, {"what comes in pieces"}));
  bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size()));
  Frame frame;
  RC_ASSERT(read(bytes, frame) == 0U);
  RC_ASSERT(frame.parts.empty());
}

RC_GTEST_PROP(SmallFrame, IsWrittenAsAnyFrameIs, ()) {
  const auto text = *rc::gen::nonEmpty<std::string>();
  const Frame frame = frame_of(*rc::gen::inRange<std::size_t>(0, kMaxHead + 1), {text});
  std::vector<std::byte> bytes(prefix_size(1) + frame.head.size() + text.size());
  write_small_frame(frame.head.bytes(), frame.parts[0].bytes(), bytes.data());
  RC_ASSERT(bytes == bytes_of(frame));
  RC_ASSERT(is_small_frame(frame, text.size() + 1));
  RC_ASSERT(!is_small_frame(frame, text.size()));
}

TEST(SmallFrame, WithAnotherBeginningOrTooLongAHeadIsLeftAlone) {
  for (const std::size_t at : {0UL, 1UL, 3UL, 5UL, 7UL}) {
    std::vector<std::byte> bytes = bytes_of(frame_of(32, {"x"}));
    bytes[at] ^= std::byte{0x80};
    bytes.resize(bytes.size() + (std::size_t{1} << 16), std::byte{9});
    Frame frame;
    EXPECT_EQ(read(bytes, frame), 0U) << at;
  }
}

TEST(SmallFrame, OfNoneOrSeveralPartsIsLeftAlone) {
  for (const auto& parts : {std::vector<std::string>{}, {"a", "b"}, {""}}) {
    EXPECT_FALSE(is_small_frame(frame_of(32, parts), kLimit));
    Frame frame;
    EXPECT_EQ(read(bytes_of(frame_of(32, parts)), frame), 0U);
    EXPECT_TRUE(frame.parts.empty());
  }
}

TEST(SmallFrame, IsBelowTheLimit) {
  Frame below;
  EXPECT_GT(read(bytes_of(frame_of(32, {std::string(kLimit - 1, 'x')})), below), kLimit);
  Frame at;
  EXPECT_EQ(read(bytes_of(frame_of(32, {std::string(kLimit, 'x')})), at), 0U);
}

TEST(SmallFrame, OfAnAbsurdSizeIsLeftAlone) {
  std::vector<std::byte> bytes = bytes_of(frame_of(32, {"x"}));
  store<std::uint64_t>(bytes.data() + kPrefixSize, UINT64_MAX);
  Frame frame;
  EXPECT_EQ(read(bytes, frame), 0U);
}

}  // namespace
}  // namespace muster::wire

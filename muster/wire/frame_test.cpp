#include "muster/wire/frame.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "muster/wire/bytes.h"

namespace muster::wire {
namespace {

Frame frame_of(std::size_t head, const std::vector<std::size_t>& sizes) {
  Frame frame;
  frame.head.assign(std::vector(head, std::byte{7}));
  for (const std::size_t size : sizes)
    frame.parts.push_back(Buffer::copy_of(std::string(size, 'x')));
  return frame;
}

std::vector<std::byte> prefix_of(const Frame& frame) {
  std::vector<std::byte> bytes(prefix_size(frame.parts.size()));
  write_prefix(frame, bytes);
  return bytes;
}

std::vector<std::string> texts_of(const Parts& parts) {
  std::vector<std::string> texts;
  for (const Buffer& part : parts) texts.emplace_back(part.text());
  return texts;
}

Parts parts_of(const std::vector<std::string>& texts) {
  Parts parts;
  for (const std::string& text : texts) parts.push_back(Buffer::copy_of(text));
  return parts;
}

TEST(Prefix, IsTheBytesOfTheTable) {
  const std::vector<std::byte> bytes = prefix_of(frame_of(3, {258, 0}));

  const std::string expected(
      "FM\3\0\2\0\0\0"
      "\2\1\0\0\0\0\0\0"
      "\0\0\0\0\0\0\0\0",
      24);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), expected);
}

RC_GTEST_PROP(Prefix, IsReadAsItWasWritten, ()) {
  const auto head = *rc::gen::inRange<std::size_t>(0, kMaxHead + 1);
  const auto sizes =
      *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 2000));
  const std::vector<std::byte> bytes = prefix_of(frame_of(head, sizes));

  const Result<Prefix> prefix = read_prefix(bytes);

  RC_ASSERT(prefix.has_value());
  RC_ASSERT(prefix->head_size == head);
  RC_ASSERT(prefix->part_count == sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    RC_ASSERT(*read_part_size(std::span(bytes).subspan(prefix_size(i))) == sizes[i]);
  }
}

RC_GTEST_PROP(Prefix, OfAnyBytesIsWithinTheLimitsOrRefused,
              (const std::vector<std::uint8_t>& any)) {
  std::vector<std::byte> bytes;
  for (const std::uint8_t byte : any) bytes.push_back(std::byte{byte});
  // Half of them have the first bytes right.
  if (*rc::gen::arbitrary<bool>() && bytes.size() >= 2) store<std::uint16_t>(bytes.data(), 0x4D46);

  const Result<Prefix> prefix = read_prefix(bytes);
  if (prefix) {
    RC_ASSERT(bytes.size() >= kPrefixSize);
    RC_ASSERT(prefix->head_size <= kMaxHead);
    RC_ASSERT(prefix->part_count <= kMaxParts);
  } else {
    RC_ASSERT(prefix.error().code() == Code::invalid);
  }
  const Result<std::uint64_t> size = read_part_size(bytes);
  if (size) RC_ASSERT(*size <= kMaxPart);
}

TEST(Prefix, EveryLimitIsTakenAndOneMoreIsRefused) {
  std::vector<std::byte> bytes(kPrefixSize);
  const auto read = [&](std::uint16_t head, std::uint32_t parts) {
    store<std::uint16_t>(bytes.data(), 0x4D46);
    store(bytes.data() + 2, head);
    store(bytes.data() + 4, parts);
    return read_prefix(bytes).has_value();
  };
  EXPECT_TRUE(read(kMaxHead, kMaxParts));
  EXPECT_FALSE(read(kMaxHead + 1, 0));
  EXPECT_FALSE(read(0, kMaxParts + 1));
  EXPECT_FALSE(read(0, UINT32_MAX));

  store<std::uint64_t>(bytes.data(), kMaxPart);
  EXPECT_EQ(*read_part_size(bytes), kMaxPart);
  store<std::uint64_t>(bytes.data(), kMaxPart + 1);
  EXPECT_EQ(read_part_size(bytes).error().code(), Code::invalid);
  store<std::uint64_t>(bytes.data(), UINT64_MAX);
  EXPECT_FALSE(read_part_size(bytes));
}

TEST(Prefix, CutShortAtAnyByteIsRefused) {
  const std::vector<std::byte> bytes = prefix_of(frame_of(5, {9}));
  for (std::size_t size = 0; size < kPrefixSize; ++size) {
    EXPECT_FALSE(read_prefix(std::span(bytes).first(size))) << size;
    EXPECT_FALSE(read_part_size(std::span(bytes).subspan(kPrefixSize, size))) << size;
  }
}

TEST(Head, TakesNoMoreThanItHasRoomFor) {
  const std::vector many(kMaxHead + 50, std::byte{3});
  EXPECT_EQ(Head(many).size(), kMaxHead);
  EXPECT_EQ(Head(many).bytes().back(), std::byte{3});

  Head head;
  EXPECT_EQ(head.resize(kMaxHead + 1).size(), kMaxHead);
  head.assign({});
  EXPECT_EQ(head.size(), 0U);
}

// Some fit inside and some do not; nobody can tell which.
RC_GTEST_PROP(Parts, AreAVectorHoweverMany, ()) {
  const auto texts = *rc::gen::resize(6, rc::gen::arbitrary<std::vector<std::string>>());
  const auto others = *rc::gen::resize(6, rc::gen::arbitrary<std::vector<std::string>>());
  Parts parts = parts_of(texts);
  RC_ASSERT(texts_of(parts) == texts);
  RC_ASSERT(parts.size() == texts.size());
  RC_ASSERT(parts.empty() == texts.empty());

  Parts copy = parts;
  RC_ASSERT(texts_of(copy) == texts);
  Parts assigned = parts_of(others);
  assigned = parts;
  RC_ASSERT(texts_of(assigned) == texts);

  Parts moved = parts_of(others);
  moved = std::move(copy);
  RC_ASSERT(texts_of(moved) == texts);
  // What was moved from, or cleared, starts afresh.
  moved.clear();
  RC_ASSERT(moved.empty());
  for (const std::string& text : others) moved.push_back(Buffer::copy_of(text));
  RC_ASSERT(texts_of(moved) == others);
  parts = *&parts;
  RC_ASSERT(texts_of(parts) == texts);
}

TEST(Parts, AreLetGoWhenTheyAreClearedOrReplaced) {
  for (std::size_t count = 1; count < 6; ++count) {
    std::vector<std::weak_ptr<int>> watches;
    const auto fill = [&](Parts& parts) {
      for (std::size_t i = 0; i < count; ++i) {
        auto keeper = std::make_shared<int>();
        watches.push_back(keeper);
        parts.push_back(Buffer::keep({}, std::move(keeper)));
      }
    };
    Parts cleared;
    fill(cleared);
    cleared.clear();
    Parts replaced;
    fill(replaced);
    replaced = Parts();
    for (const auto& watch : watches) EXPECT_TRUE(watch.expired()) << count << " parts";
  }
}

TEST(Frame, CountsTheBytesOfItsParts) {
  EXPECT_EQ(frame_of(9, {}).body_size(), 0U);
  EXPECT_EQ(frame_of(9, {1, 20, 300, 0}).body_size(), 321U);
}

}  // namespace
}  // namespace muster::wire

#include "muster/drivers/ucx/record.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "muster/net/testing/pattern.h"
#include "muster/wire/bytes.h"

namespace muster::drivers::ucx {
namespace {

using net::testing::make_frame;
using net::testing::Shape;

constexpr std::uint64_t kKey = 0x1234567890abcdef;
constexpr std::uint32_t kSequence = 77;

std::vector<std::byte> record_of(const wire::Frame& frame) {
  std::vector<std::byte> bytes(record_size(frame));
  write_record(frame, kKey, kSequence, bytes.data());
  return bytes;
}

RC_GTEST_PROP(UcxRecordProperty, GivesBackTheHeadTheSizesAndTheSmallParts, ()) {
  const auto head = *rc::gen::inRange<std::size_t>(0, wire::kMaxHead + 1);
  const auto sizes = *rc::gen::container<std::vector<std::size_t>>(
      rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 300),
                     rc::gen::inRange<std::size_t>(net::kLargePart - 2, net::kLargePart + 2)));
  const wire::Frame frame = make_frame(Shape{head, sizes}, 3);
  const std::vector<std::byte> bytes = record_of(frame);
  ReadRecord read;

  const Status done = read_record(bytes, read);

  RC_ASSERT(done.has_value());
  RC_ASSERT(record_key(bytes) == kKey);
  RC_ASSERT(read.sequence == kSequence);
  RC_ASSERT(std::ranges::equal(read.head, frame.head.bytes()));
  RC_ASSERT(read.sizes.size() == sizes.size());
  std::size_t at = 0;
  std::uint64_t large = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    RC_ASSERT(read.sizes[i] == sizes[i]);
    if (travels_alone(sizes[i])) {
      large += sizes[i];
      continue;
    }
    RC_ASSERT(std::ranges::equal(read.small.subspan(at, sizes[i]), frame.parts[i].bytes()));
    at += padded(sizes[i]);
  }
  RC_ASSERT(at == read.small.size());
  RC_ASSERT(large == read.large);
}

RC_GTEST_PROP(UcxRecordProperty, WritesAShortRecordAsAnyOther, ()) {
  const auto head = *rc::gen::inRange<std::size_t>(0, wire::kMaxHead + 1);
  const auto sizes = *rc::gen::container<std::vector<std::size_t>>(
      *rc::gen::inRange<std::size_t>(0, 4),
      rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 260), rc::gen::just(net::kLargePart)));
  const wire::Frame frame = make_frame(Shape{head, sizes}, 3);
  const std::vector<std::byte> bytes = record_of(frame);
  const bool is_short = bytes.size() <= kShortRecord && std::ranges::none_of(sizes, travels_alone);
  std::array<std::byte, kShortRecord> written;
  written.fill(std::byte{0xff});  // What was there before must not travel.

  const std::size_t size = write_short_record(frame, kKey, kSequence, written);

  RC_ASSERT(size == (is_short ? bytes.size() : 0));
  RC_ASSERT(std::ranges::equal(std::span(written).first(size), std::span(bytes).first(size)));
}

RC_GTEST_PROP(UcxRecordProperty, ReadsAShortRecordAsAnyOther, ()) {
  std::vector<std::byte> bytes =
      record_of(make_frame(Shape{*rc::gen::inRange<std::size_t>(0, wire::kMaxHead + 1),
                                 {*rc::gen::inRange<std::size_t>(0, 200)}},
                           3));
  const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  if (*rc::gen::arbitrary<bool>()) bytes[at] = std::byte{*rc::gen::arbitrary<std::uint8_t>()};
  ReadRecord read;
  ReadShortRecord brief;

  const bool is_record = read_record(bytes, read).has_value();
  const bool is_short = read_short_record(bytes, brief);

  RC_ASSERT(is_short == (is_record && read.sizes.size() == 1 && read.large == 0));
  if (!is_short) return;
  RC_ASSERT(brief.sequence == read.sequence);
  RC_ASSERT(std::ranges::equal(brief.head, read.head));
  RC_ASSERT(brief.part.size() == read.sizes[0]);
  RC_ASSERT(std::ranges::equal(brief.part, read.small.first(brief.part.size())));
}

RC_GTEST_PROP(UcxRecordProperty, RefusesARecordThatIsCutOrGrown, ()) {
  const wire::Frame frame = make_frame(Shape{20, {5, 100, 0}}, 1);
  std::vector<std::byte> bytes = record_of(frame);
  const auto size =
      *rc::gen::distinctFrom(rc::gen::inRange<std::size_t>(0, 2 * bytes.size()), bytes.size());
  bytes.resize(size);
  ReadRecord read;

  const Status done = read_record(bytes, read);

  RC_ASSERT(!done);
  RC_ASSERT(done.error().code() == Code::invalid);
}

RC_GTEST_PROP(UcxRecordProperty, NeverReadsBeyondRandomBytes,
              (const std::vector<std::uint8_t>& bytes)) {
  // Exactly as large as the bytes, so that the sanitizer sees a step too far.
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
  ReadRecord read;
  ReadShortRecord brief;
  (void)read_record(std::as_bytes(std::span(exact)), read);
  (void)read_short_record(std::as_bytes(std::span(exact)), brief);
}

TEST(UcxRecord, RefusesSizesThatAFrameCannotHave) {
  const auto with_size = [](std::uint64_t size) {
    std::vector<std::byte> bytes = record_of(make_frame(Shape{0, {1}}, 1));
    wire::store(bytes.data() + sizeof(RecordPrefix), size);
    return bytes;
  };
  for (const std::uint64_t size : {UINT64_MAX, UINT64_MAX - 7, std::uint64_t{kMostBody} + 1,
                                   std::uint64_t{100}, std::uint64_t{0}}) {
    ReadRecord read;
    EXPECT_FALSE(read_record(with_size(size), read)) << size;
  }
}

TEST(UcxRecord, RefusesTooManyParts) {
  std::vector<std::byte> bytes = record_of(make_frame(Shape{0, {1}}, 1));
  wire::store(bytes.data() + offsetof(RecordPrefix, parts), std::uint16_t{wire::kMaxParts + 1});
  ReadRecord read;
  EXPECT_FALSE(read_record(bytes, read));
}

}  // namespace
}  // namespace muster::drivers::ucx

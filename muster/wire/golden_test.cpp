// The wire format does not change by accident: what version 1 wrote is kept in
// golden/v1, and what version 2 has added in golden/v2; both are still written, and
// read, to the byte.

#include "muster/wire/testing/golden.h"

#include <filesystem>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "muster/wire/brief_frame.h"
#include "muster/wire/frame.h"
#include "muster/wire/value_codec.h"

namespace muster::wire {
namespace {

using testing::from_text;
using testing::golden;
using testing::Sections;
using testing::to_text;

const std::filesystem::path kGolden =
    std::filesystem::path(MUSTER_SOURCE_DIR) / "muster" / "wire" / "golden";

Buffer blob(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i);
  return Buffer::adopt(std::move(bytes));
}

struct GoldenValue {
  std::string name;
  std::string about;
  Value value;
};

std::ostream& operator<<(std::ostream& out, const GoldenValue& golden) {
  return out << golden.name;
}

std::vector<GoldenValue> golden_values() {
  Value::List tensors;
  for (int number = 1; number <= 15; ++number) {
    const auto dtype = static_cast<DType>(number);
    tensors.push_back(Tensor{dtype, {2}, blob(2 * size_of(dtype))});
  }
  return {
      {"naturals", "Natural numbers on both sides of every boundary.",
       Value::List{0, 1, 127, 128, 255, 256, 65535, 65536, UINT32_MAX,
                   std::uint64_t{UINT32_MAX} + 1, INT64_MAX, std::uint64_t{INT64_MAX} + 1,
                   UINT64_MAX}},
      {"negatives", "Negative numbers on both sides of every boundary.",
       Value::List{-1, -32, -33, -128, -129, -32768, -32769, INT32_MIN, std::int64_t{INT32_MIN} - 1,
                   INT64_MIN}},
      {"reals", "Reals: zeros, fractions, extremes, infinities, a NaN.",
       Value::List{
           0.0, -0.0, 2.5, 0.1, std::numeric_limits<double>::max(),
           std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::infinity(),
           -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}},
      {"constants", "Nil, false, true.", Value::List{nullptr, false, true}},
      {"strings", "Strings of 0, 1, 31, 32, 255 and 256 bytes, and some beyond ASCII.",
       Value::List{"", "a", std::string(31, 'b'), std::string(32, 'c'), std::string(255, 'd'),
                   std::string(256, 'e'), "na\xC3\xAFve \xE2\x82\xAC \xF0\x9F\x90\x8E"}},
      {"bytes", "Byte strings of 0, 1 and 63 bytes in the tree, of 64 and 256 beside it.",
       Value::List{Buffer(), blob(1), blob(63), blob(64), blob(256)}},
      {"lists", "Lists of 0, 15 and 16 values, nested.",
       Value::List{Value::List{}, Value::List(15, 7),
                   Value::List(16, Value::List{Value(Value::List{true})})}},
      {"maps", "Maps of 0 and 16 entries, with keys of several kinds and one that comes twice.",
       Value::Map{{"empty", Value::Map{}},
                  {"wide", Value::Map(16, {"again", 1})},
                  {1, "number"},
                  {nullptr, "nil"},
                  {Value::List{1, 2}, "list"},
                  {blob(3), Value::Map{{"nested", Value::Map{{"deeper", -1}}}}}}},
      {"tensors", "A tensor of every dtype, two elements each.", tensors},
      {"shapes", "Tensors of rank 0, 1, 2, 4 and 64, one of them empty, and a large byte string.",
       Value::Map{{"scalar", Tensor{DType::f64, {}, blob(8)}},
                  {"vector", Tensor{DType::i16, {5}, blob(10)}},
                  {"matrix", Tensor{DType::f32, {2, 3}, blob(24)}},
                  {"between", blob(64)},
                  {"empty", Tensor{DType::f32, {3, 0, 2, 1}, {}}},
                  {"deep", Tensor{DType::u8, std::vector<std::uint64_t>(64, 1), blob(1)}}}},
      {"step", "What a rollout step looks like.",
       Value::Map{{"tag", "rollout"},
                  {"step", 1234},
                  {"reward", -0.5},
                  {"done", false},
                  {"info", nullptr},
                  {"observation", Tensor{DType::f32, {4}, blob(16)}}}},
  };
}

class GoldenDocument : public ::testing::TestWithParam<GoldenValue> {};

TEST_P(GoldenDocument, IsWrittenAndReadAsEver) {
  const auto& [name, about, value] = GetParam();
  const Result<Document> document = encode(value, {.out_of_band_from = 64});
  ASSERT_TRUE(document) << document.error().message();
  Sections written{{"tree", document->tree}};
  for (const Buffer& part : document->parts) written.push_back({"part", part});

  const std::string kept =
      golden(kGolden / "v1" / ("document_" + name + ".hex"), to_text(about, written));

  EXPECT_EQ(to_text(about, written), kept);
  Parts parts;
  const Sections sections = from_text(kept);
  ASSERT_FALSE(sections.empty());
  for (std::size_t i = 1; i < sections.size(); ++i) parts.push_back(sections[i].bytes);
  const Result<Value> read = decode(sections[0].bytes, parts);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(*read == value);
}

INSTANTIATE_TEST_SUITE_P(V1, GoldenDocument, ::testing::ValuesIn(golden_values()),
                         [](const auto& test) { return test.param.name; });

struct GoldenFrame {
  std::string name;
  std::string about;
  std::size_t head_size;
  std::vector<std::size_t> part_sizes;
};

std::ostream& operator<<(std::ostream& out, const GoldenFrame& golden) {
  return out << golden.name;
}

std::vector<GoldenFrame> golden_frames() {
  return {
      {"empty", "A frame with nothing in it.", 0, {}},
      {"head", "A frame that is only a head, of the largest size.", kMaxHead, {}},
      {"parts", "A head of 24 bytes and parts of 5, 0 and 300 bytes.", 24, {5, 0, 300}},
  };
}

class GoldenFrames : public ::testing::TestWithParam<GoldenFrame> {};

TEST_P(GoldenFrames, AreWrittenAndReadAsEver) {
  const auto& [name, about, head_size, part_sizes] = GetParam();
  Frame frame;
  frame.head.assign(blob(head_size).bytes());
  for (const std::size_t size : part_sizes) frame.parts.push_back(blob(size));
  WritableBuffer prefix = WritableBuffer::on_heap(prefix_size(part_sizes.size()));
  write_prefix(frame, prefix.bytes());
  const std::string written = to_text(about, {{"prefix", std::move(prefix).freeze()}});

  const std::string kept = golden(kGolden / "v1" / ("frame_" + name + ".hex"), written);

  EXPECT_EQ(written, kept);
  const Sections sections = from_text(kept);
  ASSERT_EQ(sections.size(), 1U);
  const std::span<const std::byte> bytes = sections[0].bytes.bytes();
  const Result<Prefix> read = read_prefix(bytes);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->head_size, head_size);
  ASSERT_EQ(read->part_count, part_sizes.size());
  ASSERT_EQ(bytes.size(), prefix_size(part_sizes.size()));
  for (std::size_t i = 0; i < part_sizes.size(); ++i) {
    EXPECT_EQ(*read_part_size(bytes.subspan(kPrefixSize + i * kPartSizeSize)), part_sizes[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(V1, GoldenFrames, ::testing::ValuesIn(golden_frames()),
                         [](const auto& test) { return test.param.name; });

struct BriefFrame {
  const char* about;
  std::vector<std::size_t> changed;  // Bytes of the head.
  std::size_t part_size;
};

const std::vector<BriefFrame> kBriefFrames = {
    {"nothing changed", {}, 5},
    {"the second word changed", {8}, 1},
    {"the first and the last changed", {0, 31}, 16},
};

TEST(GoldenFrames, OfVersion2AreBriefAfterOneWithMuchTheSameHead) {
  Head head;
  head.assign(blob(32).bytes());
  Head before = head;
  Sections sections{{"head before", Buffer::copy_of(before.bytes())}};
  for (const auto& [about, changed, part_size] : kBriefFrames) {
    for (const std::size_t at : changed) head.resize(32)[at] = std::byte{0xFF};
    std::vector<std::byte> bytes(1024);  // For any that the compiler thinks of.
    bytes.resize(write_brief_frame(head.bytes(), blob(part_size).bytes(), before, bytes.data()));
    sections.push_back({about, Buffer::adopt(std::move(bytes))});
  }
  const std::string written = to_text("Brief frames, each after the one before it.", sections);

  EXPECT_EQ(written, golden(kGolden / "v2" / "frame_brief.hex", written));
}

TEST(GoldenFrames, OfVersion2AreReadAsEver) {
  const Sections sections = from_text(golden(kGolden / "v2" / "frame_brief.hex"));
  ASSERT_EQ(sections.size(), 1 + kBriefFrames.size());
  BufferPool pool;
  Head before;
  before.assign(sections[0].bytes.bytes());
  Head expected = before;
  for (std::size_t i = 0; i < kBriefFrames.size(); ++i) {
    const auto& [about, changed, part_size] = kBriefFrames[i];
    for (const std::size_t at : changed) expected.resize(32)[at] = std::byte{0xFF};
    const std::span<const std::byte> bytes = sections[i + 1].bytes.bytes();

    Frame frame;
    ASSERT_EQ(read_brief_frame(bytes, 1024, pool, before, frame), bytes.size()) << about;

    EXPECT_TRUE(std::ranges::equal(frame.head.bytes(), expected.bytes())) << about;
    ASSERT_EQ(frame.parts.size(), 1U);
    EXPECT_TRUE(std::ranges::equal(frame.parts[0].bytes(), blob(part_size).bytes())) << about;
  }
}

TEST(Golden, KeepsNoFileThatNothingReads) {
  std::set<std::string> known = {"v2/frame_brief.hex"};
  for (const GoldenValue& value : golden_values()) {
    known.insert("v1/document_" + value.name + ".hex");
  }
  for (const GoldenFrame& frame : golden_frames()) known.insert("v1/frame_" + frame.name + ".hex");

  for (const auto& file : std::filesystem::recursive_directory_iterator(kGolden)) {
    if (file.is_directory()) continue;
    EXPECT_TRUE(known.contains(file.path().lexically_relative(kGolden).string())) << file.path();
  }
}

}  // namespace
}  // namespace muster::wire

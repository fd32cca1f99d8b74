#include <bit>

#include <gtest/gtest.h>

#include "muster/wire/value_codec.h"

namespace muster::wire {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

// For a buffer that is never read, so that its bytes need not be there.
constexpr std::byte kByte{};

// The tree's first bytes in hexadecimal, at most eleven: marks, counts and small numbers.
std::string tree(const Value& value, const EncodeOptions& options = {}) {
  const Result<Document> document = encode(value, options);
  if (!document) return document.error().message();
  std::string hex;
  for (const std::byte byte : document->tree.slice(0, 11).bytes()) {
    hex += kDigits[std::to_integer<int>(byte >> 4)];
    hex += kDigits[std::to_integer<int>(byte & std::byte{15})];
  }
  return hex;
}

std::size_t tree_size(const Value& value) { return encode(value)->tree.size(); }

Value text(std::size_t size) { return std::string(size, 'x'); }
Value blob(std::size_t size) { return Buffer::copy_of(std::string(size, 'x')); }
Value nils(std::size_t count) { return Value::List(count); }
Value pairs(std::size_t count) { return Value::Map(count); }
Value nested(std::size_t depth) {
  Value value;
  for (std::size_t i = 0; i < depth; ++i) {
    Value::List around;
    around.push_back(std::move(value));
    value = std::move(around);
  }
  return value;
}
Value tensor(std::vector<std::uint64_t> shape, std::size_t size) {
  return Tensor{DType::u8, std::move(shape), Buffer::copy_of(std::string(size, 'x'))};
}

TEST(Encode, WritesNilBooleansAndReals) {
  EXPECT_EQ(tree(nullptr), "c0");
  EXPECT_EQ(tree(false), "c2");
  EXPECT_EQ(tree(true), "c3");
  EXPECT_EQ(tree(2.5), "cb4004000000000000");
  EXPECT_EQ(tree(2.5F), "cb4004000000000000");
}

TEST(Encode, WritesNaturalNumbersInTheFewestBytes) {
  EXPECT_EQ(tree(0), "00");
  EXPECT_EQ(tree(127), "7f");
  EXPECT_EQ(tree(128), "cc80");
  EXPECT_EQ(tree(255), "ccff");
  EXPECT_EQ(tree(256), "cd0100");
  EXPECT_EQ(tree(65535), "cdffff");
  EXPECT_EQ(tree(65536), "ce00010000");
  EXPECT_EQ(tree(UINT32_MAX), "ceffffffff");
  EXPECT_EQ(tree(std::uint64_t{UINT32_MAX} + 1), "cf0000000100000000");
  EXPECT_EQ(tree(INT64_MAX), "cf7fffffffffffffff");
  EXPECT_EQ(tree(UINT64_MAX), "cfffffffffffffffff");
}

TEST(Encode, WritesNegativeNumbersInTheFewestBytes) {
  EXPECT_EQ(tree(-1), "ff");
  EXPECT_EQ(tree(-32), "e0");
  EXPECT_EQ(tree(-33), "d0df");
  EXPECT_EQ(tree(-128), "d080");
  EXPECT_EQ(tree(-129), "d1ff7f");
  EXPECT_EQ(tree(-32768), "d18000");
  EXPECT_EQ(tree(-32769), "d2ffff7fff");
  EXPECT_EQ(tree(INT32_MIN), "d280000000");
  EXPECT_EQ(tree(std::int64_t{INT32_MIN} - 1), "d3ffffffff7fffffff");
  EXPECT_EQ(tree(INT64_MIN), "d38000000000000000");
}

TEST(Encode, WritesStringsWithTheSmallestCount) {
  EXPECT_EQ(tree(""), "a0");
  EXPECT_EQ(tree("abc"), "a3616263");
  EXPECT_EQ(tree(text(31)).substr(0, 4), "bf78");
  EXPECT_EQ(tree(text(32)).substr(0, 6), "d92078");
  EXPECT_EQ(tree(text(255)).substr(0, 6), "d9ff78");
  EXPECT_EQ(tree(text(256)).substr(0, 8), "da010078");
  EXPECT_EQ(tree(text(65535)).substr(0, 8), "daffff78");
  EXPECT_EQ(tree(text(65536)).substr(0, 12), "db0001000078");
}

TEST(Encode, WritesSmallByteStringsWithTheSmallestCount) {
  const EncodeOptions all_inline{.out_of_band_from = SIZE_MAX};

  EXPECT_EQ(tree(blob(0)), "c400");
  EXPECT_EQ(tree(blob(255)).substr(0, 6), "c4ff78");
  EXPECT_EQ(tree(blob(256)).substr(0, 8), "c5010078");
  EXPECT_EQ(tree(blob(65535), all_inline).substr(0, 8), "c5ffff78");
  EXPECT_EQ(tree(blob(65536), all_inline).substr(0, 12), "c60001000078");
}

TEST(Encode, WritesListsAndMapsWithTheSmallestCount) {
  EXPECT_EQ(tree(nils(0)), "90");
  EXPECT_EQ(tree(nils(15)).substr(0, 4), "9fc0");
  EXPECT_EQ(tree(nils(16)).substr(0, 8), "dc0010c0");
  EXPECT_EQ(tree(nils(65535)).substr(0, 8), "dcffffc0");
  EXPECT_EQ(tree(nils(65536)).substr(0, 12), "dd00010000c0");
  EXPECT_EQ(tree(pairs(0)), "80");
  EXPECT_EQ(tree(pairs(15)).substr(0, 4), "8fc0");
  EXPECT_EQ(tree(pairs(16)).substr(0, 8), "de0010c0");
  EXPECT_EQ(tree(pairs(65536)).substr(0, 12), "df00010000c0");
}

TEST(Encode, WritesEntriesInTheirOrder) {
  EXPECT_EQ(tree(Value::Map{{"b", 1}, {2, "a"}}), "82a1620102a161");
}

TEST(Encode, PutsLargeByteStringsBesideTheTree) {
  const Value::List list{blob(4095), blob(4096), blob(5000)};

  const Result<Document> document = encode(list);

  ASSERT_TRUE(document);
  ASSERT_EQ(document->parts.size(), 2U);
  EXPECT_EQ(document->tree.size(), 1U + 3 + 4095 + 6 + 6);
  EXPECT_EQ(document->parts[0].data(), list[1].as_bytes()->data());
  EXPECT_EQ(document->parts[1].data(), list[2].as_bytes()->data());
  EXPECT_EQ(tree(Value::List{blob(4096), blob(5000)}), "92d60100000000d6010100");
}

TEST(Encode, PutsEveryTensorBesideTheTree) {
  EXPECT_EQ(tree(tensor({}, 1)), "d7020000000003000000");
  EXPECT_EQ(tree(tensor({0}, 0)).substr(0, 20), "d8020000000003000000");
  EXPECT_EQ(tree(tensor({1, 2}, 2)).substr(0, 22), "c718020000000003000000");
  EXPECT_EQ(tree_size(tensor({1, 2}, 2)), 3U + 8 + 2 * 8);
  EXPECT_EQ(tree_size(tensor(std::vector<std::uint64_t>(kMaxRank, 1), 1)), 4U + 8 + kMaxRank * 8);
}

TEST(Encode, KeepsByteStringsInTheTreeWhereThereWouldBeTooManyParts) {
  const Value::List list{blob(10), tensor({3}, 3), blob(10)};
  EncodeOptions options{.out_of_band_from = 10, .limits = {.max_parts = 3}};
  EXPECT_EQ(encode(list, options)->parts.size(), 3U);

  options.limits.max_parts = 2;
  const Result<Document> document = encode(list, options);

  ASSERT_EQ(document->parts.size(), 1U);
  EXPECT_EQ(*decode(document->tree, document->parts), Value(list));
}

TEST(Encode, RefusesMoreTensorsThanPartsMayBe) {
  const EncodeOptions options{.limits = {.max_parts = 1}};
  EXPECT_EQ(encode(Value::List{tensor({1}, 1), tensor({1}, 1)}, options).error(),
            Error(Code::invalid, "more than 1 tensors; join some of them"));
}

TEST(Encode, RefusesATensorThatDoesNotFillItsShape) {
  const std::string why = "a tensor whose shape and dtype do not make its 3 bytes";

  EXPECT_EQ(tree(tensor({2}, 3)), why);
  EXPECT_EQ(tree(tensor({UINT64_MAX, 2}, 3)), why);
  EXPECT_EQ(tree(Tensor{std::bit_cast<DType>(std::uint8_t{99}), {3}, Buffer::copy_of("abc")}), why);
}

TEST(Encode, RefusesAStringThatIsNotUtf8) {
  EXPECT_EQ(tree("\xFF"), "a string that is not UTF-8; what is not text goes as bytes");
  EXPECT_FALSE(encode(Value::Map{{"\xFF", 1}}));
}

TEST(Encode, RefusesWhatIsNestedTooDeep) {
  EXPECT_TRUE(encode(nested(64)));
  EXPECT_EQ(encode(nested(65)).error(),
            Error(Code::invalid, "lists and maps are nested deeper than 64"));
  EXPECT_FALSE(encode(nested(5000)));
  EXPECT_FALSE(encode(Value::Map{{1, nested(64)}}));
  EXPECT_FALSE(encode(Value::Map{{nested(64), 1}}));
}

TEST(Encode, CountsTheDepthOfOneBranchOnly) {
  EXPECT_TRUE(encode(Value::List{nested(63), nested(63), Value::Map{{1, nested(62)}}, nested(63)}));
}

TEST(Encode, RefusesMoreValuesThanMayBe) {
  const EncodeOptions options{.limits = {.max_values = 4}};

  EXPECT_TRUE(encode(Value::List{1, Value::List{2, 3}}, options));
  EXPECT_TRUE(encode(pairs(2), options));
  EXPECT_EQ(encode(pairs(3), options).error(), Error(Code::invalid, "more than 4 values"));
  EXPECT_FALSE(encode(Value::List{1, Value::List{2, 3, 4}}, options));
}

TEST(Encode, RefusesATreeLargerThanMayBe) {
  const EncodeOptions options{.limits = {.max_bytes = 4}};

  EXPECT_TRUE(encode("abc", options));
  EXPECT_EQ(encode("abcd", options).error(),
            Error(Code::invalid, "a document of 5 bytes, at most 4 may be sent"));
}

TEST(Encode, RefusesAByteStringThatMessagePackCannotCount) {
  const Buffer huge(std::span(&kByte, std::size_t{UINT32_MAX} + 1), nullptr);
  const EncodeOptions options{.out_of_band_from = SIZE_MAX, .limits = {.max_bytes = SIZE_MAX}};

  EXPECT_EQ(encode(huge, options).error(),
            Error(Code::invalid, "a document of 4294967301 bytes, at most 4294967295 may be sent"));
  EXPECT_EQ(encode(huge)->tree.size(), 6U);
}

}  // namespace
}  // namespace muster::wire

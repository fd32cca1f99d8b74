#include "muster/wire/value.h"

#include <bit>
#include <cmath>

#include <gtest/gtest.h>

namespace muster::wire {
namespace {

using Kind = Value::Kind;

Tensor floats(std::vector<std::uint64_t> shape, std::string_view bytes) {
  return {DType::f32, std::move(shape), Buffer::copy_of(bytes)};
}

TEST(Value, IsOfTheKindOfWhatItIsMadeOf) {
  EXPECT_EQ(Value().kind(), Kind::nil);
  EXPECT_EQ(Value(nullptr).kind(), Kind::nil);
  EXPECT_EQ(Value(true).kind(), Kind::boolean);
  EXPECT_EQ(Value(-1).kind(), Kind::integer);
  EXPECT_EQ(Value(1.0F).kind(), Kind::real);
  EXPECT_EQ(Value("text").kind(), Kind::string);
  EXPECT_EQ(Value(std::string_view("text")).kind(), Kind::string);
  EXPECT_EQ(Value(Buffer::copy_of("bytes")).kind(), Kind::bytes);
  EXPECT_EQ(Value(Value::List{1, "two"}).kind(), Kind::list);
  EXPECT_EQ(Value(Value::Map{{"one", 1}}).kind(), Kind::map);
  EXPECT_EQ(Value(floats({1}, "1234")).kind(), Kind::tensor);
}

TEST(Value, KeepsANumberInOneKindWhateverItWasMadeOf) {
  constexpr std::int64_t largest = INT64_MAX;

  EXPECT_EQ(Value(7U), Value(7));
  EXPECT_EQ(Value(std::uint64_t{largest}), Value(largest));
  EXPECT_EQ(Value(std::uint64_t{largest} + 1).kind(), Kind::unsigned_integer);
}

TEST(Value, GivesAnIntegerInEveryTypeThatHoldsIt) {
  EXPECT_EQ(Value(5).as_integer(), 5);
  EXPECT_EQ(Value(5).as_unsigned(), 5U);
  EXPECT_EQ(Value(5).as_real(), 5.0);
  EXPECT_EQ(Value(-5).as_unsigned(), std::nullopt);
  EXPECT_EQ(Value(UINT64_MAX).as_integer(), std::nullopt);
  EXPECT_EQ(Value(UINT64_MAX).as_unsigned(), UINT64_MAX);
  EXPECT_EQ(Value(UINT64_MAX).as_real(), 0x1p64);
  EXPECT_EQ(Value(5.0).as_integer(), std::nullopt);
}

TEST(Value, GivesNothingOfAnotherKind) {
  const Value nil;

  EXPECT_EQ(nil.as_bool(), std::nullopt);
  EXPECT_EQ(nil.as_real(), std::nullopt);
  EXPECT_EQ(nil.as_string(), nullptr);
  EXPECT_EQ(nil.as_bytes(), nullptr);
  EXPECT_EQ(nil.as_list(), nullptr);
  EXPECT_EQ(nil.as_map(), nullptr);
  EXPECT_EQ(nil.as_tensor(), nullptr);
  EXPECT_EQ(Value(1).as_bool(), std::nullopt);
}

TEST(Value, FindsTheFirstEntryWithAKey) {
  const Value map = Value::Map{{1, "by number"}, {"1", "first"}, {"1", "second"}};

  ASSERT_NE(map.find("1"), nullptr);
  EXPECT_EQ(*map.find("1"), Value("first"));
  EXPECT_EQ(map.find("2"), nullptr);
  EXPECT_EQ(Value("no map").find("1"), nullptr);
}

TEST(Value, IsChangedInPlaceThroughFind) {
  Value map = Value::Map{{"count", 1}};
  *map.find("count") = 2;
  EXPECT_EQ(map, Value(Value::Map{{"count", 2}}));
}

TEST(Value, ChangesNoCopyOfItself) {
  Value original = Value::List{Value(Value::List{1})};
  const Value copy = original;

  original.as_list()->front().as_list()->push_back(2);

  EXPECT_EQ(copy, Value(Value::List{Value(Value::List{1})}));
  EXPECT_NE(copy, original);
}

TEST(Value, ComparesRealsByTheirBits) {
  EXPECT_EQ(Value(std::nan("")), Value(std::nan("")));
  EXPECT_NE(Value(0.0), Value(-0.0));
  EXPECT_NE(Value(1.0), Value(1));
}

TEST(Value, ComparesBytesAndTensorsByContent) {
  EXPECT_EQ(Value(Buffer::copy_of("same")), Value(Buffer::copy_of("same")));
  EXPECT_NE(Value(Buffer::copy_of("same")), Value(Buffer::copy_of("sane")));
  EXPECT_EQ(Value(Buffer()), Value(Buffer::copy_of("same").slice(4)));
  EXPECT_EQ(Value(floats({1}, "1234")), Value(floats({1}, "1234")));
  EXPECT_NE(Value(floats({1}, "1234")), Value(floats({}, "1234")));
  EXPECT_NE(Value(floats({1}, "1234")), Value(floats({1}, "1235")));
}

TEST(Value, ComparesMapsInTheirOrder) {
  const Value map = Value::Map{{"a", 1}, {"b", 2}};
  EXPECT_EQ(map, Value(Value::Map{{"a", 1}, {"b", 2}}));
  EXPECT_NE(map, Value(Value::Map{{"b", 2}, {"a", 1}}));
}

TEST(Value, CopiesATensorWithoutItsBytes) {
  const Value::List twice(2, floats({1}, "1234"));
  EXPECT_EQ(twice[0].as_tensor()->bytes.data(), twice[1].as_tensor()->bytes.data());
}

TEST(DType, HasAKnownSizeForEachNumber) {
  std::size_t sum = 0;
  for (int number = 0; number <= UINT8_MAX; ++number) {
    sum += size_of(std::bit_cast<DType>(static_cast<std::uint8_t>(number)));
  }

  EXPECT_EQ(sum, 3U * 1 + 4 * 2 + 3 * 4 + 4 * 8 + 16);
  EXPECT_EQ(size_of(DType::boolean), 1U);
  EXPECT_EQ(size_of(DType::bf16), 2U);
  EXPECT_EQ(size_of(DType::complex128), 16U);
}

TEST(TensorSize, IsTheProductOfShapeAndElement) {
  EXPECT_EQ(tensor_size(DType::f64, {}), 8U);
  EXPECT_EQ(tensor_size(DType::f32, std::vector<std::uint64_t>{2, 3}), 24U);
  EXPECT_EQ(tensor_size(DType::f32, std::vector<std::uint64_t>{2, 0, 3}), 0U);
}

TEST(TensorSize, IsNoneWhereItDoesNotFit63Bits) {
  using Shape = std::vector<std::uint64_t>;
  const std::uint64_t large = std::uint64_t{1} << 62;

  EXPECT_EQ(tensor_size(DType::u8, Shape{large}), large);
  EXPECT_EQ(tensor_size(DType::u16, Shape{large}), std::nullopt);
  EXPECT_EQ(tensor_size(DType::u8, Shape{UINT64_MAX}), std::nullopt);
  EXPECT_EQ(tensor_size(DType::u8, Shape{large, 4}), std::nullopt);
  EXPECT_EQ(tensor_size(DType::u8, Shape{large, 4, 0}), std::nullopt);
  EXPECT_EQ(tensor_size(DType::u8, Shape{0, large, 4}), std::nullopt);
}

TEST(TensorSize, IsNoneForWhatIsNoTensor) {
  EXPECT_EQ(tensor_size(std::bit_cast<DType>(std::uint8_t{0}), {}), std::nullopt);
  EXPECT_EQ(tensor_size(DType::u8, std::vector<std::uint64_t>(kMaxRank, 1)), 1U);
  EXPECT_EQ(tensor_size(DType::u8, std::vector<std::uint64_t>(kMaxRank + 1, 1)), std::nullopt);
}

TEST(Utf8, IsWhatUnicodeSaysItIs) {
  for (const char* text :
       {"", "plain", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF",
        "eight and more, then \xE2\x82\xAC, then eight and more"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  EXPECT_TRUE(is_utf8(std::string_view("\0", 1)));
}

TEST(Utf8, IsNotWhatIsOverlongASurrogateTooLargeOrCutShort) {
  for (const char* text :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC2", "\xC2\x41",
        "\xE2\x82", "\xE2\x82\x41", "\xF0\x90\x80", "\xF0\x90\x80\x41",
        "eight and more \xE2\x82"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

}  // namespace
}  // namespace muster::wire

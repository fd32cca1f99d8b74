#include <array>
#include <cmath>
#include <initializer_list>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "muster/wire/value_codec.h"

namespace muster::wire {
namespace {

Buffer tree(std::initializer_list<int> bytes) {
  std::vector<std::byte> copy;
  for (const int byte : bytes) copy.push_back(static_cast<std::byte>(byte));
  return Buffer::adopt(std::move(copy));
}

Result<Value> read(std::initializer_list<int> bytes, const Limits& limits = {}) {
  return decode(tree(bytes), {}, limits);
}

Result<Value> read(std::initializer_list<int> bytes, std::initializer_list<Buffer> parts) {
  return decode(tree(bytes), parts);
}

Error invalid(std::string why) { return {Code::invalid, std::move(why)}; }

const Limits kUnlimited{SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};

TEST(Decode, ReadsEveryNumberInEveryWidth) {
  EXPECT_EQ(*read({0x05}), Value(5));
  EXPECT_EQ(*read({0xFB}), Value(-5));
  EXPECT_EQ(*read({0xCC, 5}), Value(5));
  EXPECT_EQ(*read({0xCD, 0, 5}), Value(5));
  EXPECT_EQ(*read({0xCE, 0, 0, 0, 5}), Value(5));
  EXPECT_EQ(*read({0xCF, 0, 0, 0, 0, 0, 0, 0, 5}), Value(5));
  EXPECT_EQ(*read({0xCF, 0x80, 0, 0, 0, 0, 0, 0, 0}), Value(std::uint64_t{1} << 63));
  EXPECT_EQ(*read({0xD0, 0xFB}), Value(-5));
  EXPECT_EQ(*read({0xD0, 5}), Value(5));
  EXPECT_EQ(*read({0xD1, 0xFF, 0xFB}), Value(-5));
  EXPECT_EQ(*read({0xD2, 0xFF, 0xFF, 0xFF, 0xFB}), Value(-5));
  EXPECT_EQ(*read({0xD3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFB}), Value(-5));
}

TEST(Decode, ReadsRealsOfBothSizes) {
  EXPECT_EQ(*read({0xCA, 0x40, 0x20, 0, 0}), Value(2.5));
  EXPECT_EQ(*read({0xCB, 0x40, 0x04, 0, 0, 0, 0, 0, 0}), Value(2.5));
  EXPECT_TRUE(std::isnan(*read({0xCA, 0x7F, 0xC0, 0, 0})->as_real()));
}

TEST(Decode, ReadsNilAndBooleans) {
  EXPECT_EQ(*read({0xC0}), Value());
  EXPECT_EQ(*read({0xC2}), Value(false));
  EXPECT_EQ(*read({0xC3}), Value(true));
}

TEST(Decode, ReadsStringsBehindEveryWidthOfCount) {
  EXPECT_EQ(*read({0xA1, 'x'}), Value("x"));
  EXPECT_EQ(*read({0xD9, 1, 'x'}), Value("x"));
  EXPECT_EQ(*read({0xDA, 0, 1, 'x'}), Value("x"));
  EXPECT_EQ(*read({0xDB, 0, 0, 0, 1, 'x'}), Value("x"));
}

TEST(Decode, ReadsBytesBehindEveryWidthOfCount) {
  const Value expected = Buffer::copy_of("x");
  EXPECT_EQ(*read({0xC4, 1, 'x'}), expected);
  EXPECT_EQ(*read({0xC5, 0, 1, 'x'}), expected);
  EXPECT_EQ(*read({0xC6, 0, 0, 0, 1, 'x'}), expected);
}

TEST(Decode, ReadsListsAndMapsBehindEveryWidthOfCount) {
  const Value list = Value::List{7};
  EXPECT_EQ(*read({0x91, 7}), list);
  EXPECT_EQ(*read({0xDC, 0, 1, 7}), list);
  EXPECT_EQ(*read({0xDD, 0, 0, 0, 1, 7}), list);
  const Value map = Value::Map{{7, 8}};
  EXPECT_EQ(*read({0x81, 7, 8}), map);
  EXPECT_EQ(*read({0xDE, 0, 1, 7, 8}), map);
  EXPECT_EQ(*read({0xDF, 0, 0, 0, 1, 7, 8}), map);
}

TEST(Decode, KeepsKeysOfAnyKindAndThoseThatComeTwice) {
  EXPECT_EQ(*read({0x83, 0x90, 1, 0xA1, 'k', 2, 0xA1, 'k', 3}),
            Value(Value::Map{{Value::List{}, 1}, {"k", 2}, {"k", 3}}));
}

TEST(Decode, GivesBytesThatShareTheTreesMemory) {
  const Buffer document = tree({0x91, 0xC4, 2, 'h', 'i'});

  const Result<Value> value = decode(document, {});

  EXPECT_EQ(value->as_list()->front().as_bytes()->data(), document.data() + 3);
  EXPECT_EQ(value->as_list()->front().as_bytes()->owner(), document.owner());
}

TEST(Decode, KeepsNoTreeAliveForEmptyBytes) {
  EXPECT_EQ(read({0xC4, 0})->as_bytes()->owner(), nullptr);
}

TEST(Decode, ReadsPartsBehindEveryWidthOfExtension) {
  const Buffer part = Buffer::copy_of("part");
  for (const Result<Value>& value :
       {read({0xD6, 1, 0, 0, 0, 0}, {part}), read({0xC7, 4, 1, 0, 0, 0, 0}, {part}),
        read({0xC8, 0, 4, 1, 0, 0, 0, 0}, {part}),
        read({0xC9, 0, 0, 0, 4, 1, 0, 0, 0, 0}, {part})}) {
    ASSERT_TRUE(value) << value.error().message();
    EXPECT_EQ(value->as_bytes()->data(), part.data());
  }
}

TEST(Decode, ReadsTensorsWithoutCopyingThem) {
  const Buffer part = Buffer::copy_of("12345678");

  const Result<Value> value =
      read({0xC7, 24, 2, 0, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0},
           {part});

  ASSERT_TRUE(value) << value.error().message();
  EXPECT_EQ(*value, Value(Tensor{DType::u16, {2, 2}, part}));
  EXPECT_EQ(value->as_tensor()->bytes.data(), part.data());
}

TEST(Decode, NeverLooksIntoAPart) {
  const std::size_t size = 1 << 16;
  void* const memory = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const Buffer secret(std::span(static_cast<const std::byte*>(memory), size), nullptr);
  const Value value = Value::List{secret, Tensor{DType::boolean, {size}, secret}};

  const Result<Document> document = encode(value);
  const Result<Value> back = decode(document->tree, document->parts);

  ASSERT_TRUE(back);
  EXPECT_EQ(back->as_list()->at(0).as_bytes()->data(), memory);
  EXPECT_EQ(back->as_list()->at(1).as_tensor()->bytes.data(), memory);
  munmap(memory, size);
}

TEST(Decode, RefusesADocumentThatIsCutShort) {
  EXPECT_EQ(read({}).error(), invalid("byte 0: the document is cut short"));
  EXPECT_EQ(read({0x92, 1, 0xCD, 0}).error(), invalid("byte 2: the document is cut short"));
  EXPECT_EQ(read({0xD9}).error(), invalid("byte 0: the document is cut short"));
  EXPECT_EQ(read({0xD6}).error(), invalid("byte 0: the document is cut short"));
  EXPECT_EQ(read({0x91, 0xA3, 'a', 'b'}).error(),
            invalid("byte 1: a string of 3 bytes is cut short, 2 are left"));
  EXPECT_EQ(read({0xC4, 3, 'a', 'b'}).error(),
            invalid("byte 0: a byte string of 3 bytes is cut short, 2 are left"));
  EXPECT_EQ(read({0xD6, 1, 0, 0, 0}).error(),
            invalid("byte 0: an extension of 4 bytes is cut short, 3 are left"));
}

TEST(Decode, RefusesEveryTrueBeginningOfADocument) {
  const Value value =
      Value::Map{{"list", Value::List{1, -1000, 2.5, nullptr, Buffer::copy_of("b")}},
                 {"text", std::string(40, 'x')}};
  const Buffer document = encode(value)->tree;

  for (std::size_t size = 0; size < document.size(); ++size) {
    EXPECT_FALSE(decode(document.slice(0, size), {})) << size;
  }
}

TEST(Decode, RefusesWhatFollowsTheDocument) {
  EXPECT_EQ(read({0x91, 1, 2, 3}).error(), invalid("byte 2: 2 bytes follow the document"));
}

TEST(Decode, RefusesTheByteThatMessagePackNeverUses) {
  EXPECT_EQ(read({0x91, 0xC1}).error(), invalid("byte 1: no MessagePack value begins with 0xc1"));
}

TEST(Decode, RefusesStringsThatAreNotUtf8) {
  EXPECT_EQ(read({0x91, 0xA1, 0xFF}).error(), invalid("byte 1: a string that is not UTF-8"));
}

TEST(Decode, TakesNoMemoryForValuesThatCannotBeThere) {
  EXPECT_EQ(read({0xDD, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4, 5}, kUnlimited).error(),
            invalid("byte 0: a list of 4294967295 values, the document has room for 5"));
  EXPECT_EQ(read({0xDF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4, 5}, kUnlimited).error(),
            invalid("byte 0: a map of 8589934590 values, the document has room for 5"));
  EXPECT_EQ(read({0xDB, 0xFF, 0xFF, 0xFF, 0xFF}, kUnlimited).error(),
            invalid("byte 0: a string of 4294967295 bytes is cut short, 0 are left"));
  EXPECT_EQ(read({0xC6, 0xFF, 0xFF, 0xFF, 0xFF}, kUnlimited).error(),
            invalid("byte 0: a byte string of 4294967295 bytes is cut short, 0 are left"));
  EXPECT_EQ(read({0xC9, 0xFF, 0xFF, 0xFF, 0xFF, 2}, kUnlimited).error(),
            invalid("byte 0: an extension of 4294967295 bytes is cut short, 0 are left"));
}

TEST(Decode, LetsNestedListsNotClaimTheSameBytesTwice) {
  // Four bytes are left for the inner list, of which the outer one waits for two.
  EXPECT_TRUE(read({0x93, 0x92, 1, 2, 3, 4}));
  EXPECT_EQ(read({0x93, 0x93, 1, 2, 3, 4}).error(),
            invalid("byte 1: a list of 3 values, the document has room for 2"));
  // A string has already eaten what the outer list waits for.
  EXPECT_EQ(read({0x94, 0xA2, 'a', 'b', 0x91, 1}).error(),
            invalid("byte 4: a list of 1 values, the document has room for 0"));
}

TEST(Decode, RefusesMoreValuesThanMayCome) {
  const Limits limits{.max_values = 4};

  EXPECT_TRUE(read({0x92, 1, 0x92, 2, 3}, limits));
  EXPECT_TRUE(read({0x82, 1, 2, 3, 4}, limits));
  EXPECT_EQ(read({0x92, 1, 0x93, 2, 3, 4}, limits).error(),
            invalid("byte 2: a list of 3 values after 2, at most 4 may come"));
  EXPECT_EQ(read({0x83, 1, 2, 3, 4, 5, 6}, limits).error(),
            invalid("byte 0: a map of 6 values after 0, at most 4 may come"));
}

TEST(Decode, RefusesWhatIsNestedTooDeep) {
  const Limits limits{.max_depth = 2};

  EXPECT_TRUE(read({0x92, 0x91, 1, 0x81, 2, 3}, limits));
  EXPECT_EQ(read({0x91, 0x91, 0x90}, limits).error(),
            invalid("byte 2: a list nested deeper than 2"));
  EXPECT_EQ(read({0x91, 0x91, 0x80}, limits).error(),
            invalid("byte 2: a map nested deeper than 2"));
  EXPECT_TRUE(read({1}, {.max_depth = 0}));
  EXPECT_FALSE(read({0x90}, {.max_depth = 0}));
}

TEST(Decode, SurvivesAMillionNestedLists) {
  const Buffer document = Buffer::adopt(std::vector<std::byte>(1'000'000, std::byte{0x91}));
  EXPECT_EQ(decode(document, {}).error(), invalid("byte 64: a list nested deeper than 64"));
}

TEST(Decode, RefusesATreeLargerThanMayCome) {
  EXPECT_TRUE(read({0xA1, 'x'}, {.max_bytes = 2}));
  EXPECT_EQ(read({0xA2, 'x', 'y'}, {.max_bytes = 2}).error(),
            invalid("byte 0: a document of 3 bytes, at most 2 may come"));
}

TEST(Decode, RefusesMorePartsThanMayCome) {
  const std::array<Buffer, 2> parts;
  EXPECT_EQ(decode(tree({0xC0}), parts, {.max_parts = 1}).error(),
            invalid("byte 0: a document of 2 parts, at most 1 may come"));
}

TEST(Decode, RefusesPartsThatAreNotThere) {
  const Buffer part = Buffer::copy_of("part");
  EXPECT_EQ(read({0x91, 0xD6, 1, 0, 0, 0, 0}).error(),
            invalid("byte 1: refers to part 0 where there are 0"));
  EXPECT_EQ(read({0x91, 0xD6, 1, 0xFF, 0xFF, 0xFF, 0xFF}, {part}).error(),
            invalid("byte 1: refers to part 4294967295 where there are 1"));
  EXPECT_EQ(read({0xD7, 2, 1, 0, 0, 0, 3, 0, 0, 0}, {part}).error(),
            invalid("byte 0: refers to part 1 where there are 1"));
}

TEST(Decode, RefusesPartsOutOfOrderOrTwice) {
  const Buffer part = Buffer::copy_of("part");
  EXPECT_EQ(read({0x92, 0xD6, 1, 1, 0, 0, 0, 0xD6, 1, 0, 0, 0, 0}, {part, part}).error(),
            invalid("byte 1: refers to part 1 where part 0 is next"));
  EXPECT_EQ(read({0x92, 0xD6, 1, 0, 0, 0, 0, 0xD6, 1, 0, 0, 0, 0}, {part, part}).error(),
            invalid("byte 7: refers to part 0 where part 1 is next"));
}

TEST(Decode, RefusesPartsThatNobodyRefersTo) {
  const Buffer part = Buffer::copy_of("part");
  EXPECT_EQ(read({0x91, 0xD6, 1, 0, 0, 0, 0}, {part, part}).error(),
            invalid("byte 7: the document ends without a word of part 1, it has 2"));
}

TEST(Decode, RefusesATensorThatDoesNotFillItsPart) {
  const Buffer part = Buffer::copy_of("1234567");
  EXPECT_EQ(read({0xD7, 2, 0, 0, 0, 0, 13, 0, 0, 0}, {part}).error(),
            invalid("byte 0: a tensor of 8 bytes in a part of 7"));
  EXPECT_EQ(read({0xD8, 2, 0, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0}, {part}).error(),
            invalid("byte 0: a tensor of 6 bytes in a part of 7"));
  EXPECT_TRUE(read({0xD8, 2, 0, 0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}, {part}));
}

TEST(Decode, RefusesATensorWhoseSizeOverflows) {
  // 2^61 elements of 8 bytes are 2^64 bytes, which is 0 in 64 bits.
  EXPECT_EQ(read({0xD8, 2, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x20}, {Buffer()}).error(),
            invalid("byte 0: a tensor of too many bytes in a part of 0"));
}

TEST(Decode, RefusesTensorsOfUnknownDtype) {
  const Buffer part = Buffer::copy_of("x");
  EXPECT_EQ(read({0xD7, 2, 0, 0, 0, 0, 16, 0, 0, 0}, {part}).error(),
            invalid("byte 0: a tensor of the unknown dtype 16"));
  // 259 is 3, u8, in the lowest byte only.
  EXPECT_EQ(read({0xD7, 2, 0, 0, 0, 0, 3, 1, 0, 0}, {part}).error(),
            invalid("byte 0: a tensor of the unknown dtype 259"));
}

TEST(Decode, RefusesTensorsOfTooManyDimensions) {
  const std::size_t payload = 8 + 8 * (kMaxRank + 1);
  std::vector<std::byte> bytes(4 + payload);
  bytes[0] = std::byte{0xC8};
  bytes[1] = static_cast<std::byte>(payload >> 8);
  bytes[2] = static_cast<std::byte>(payload & 0xFF);
  bytes[3] = std::byte{2};
  bytes[8] = std::byte{3};

  EXPECT_EQ(decode(Buffer::adopt(std::move(bytes)), std::array<Buffer, 1>()).error(),
            invalid("byte 0: a tensor of 65 dimensions, at most 64 may come"));
}

TEST(Decode, RefusesExtensionsOfTheWrongSize) {
  const Buffer part = Buffer::copy_of("x");
  EXPECT_EQ(read({0xD5, 1, 0, 0}, {part}).error(),
            invalid("byte 0: a byte string's extension of 2 bytes"));
  EXPECT_EQ(read({0xD7, 1, 0, 0, 0, 0, 0, 0, 0, 0}, {part}).error(),
            invalid("byte 0: a byte string's extension of 8 bytes"));
  EXPECT_EQ(read({0xC7, 0, 2}, {part}).error(), invalid("byte 0: a tensor's extension of 0 bytes"));
  EXPECT_EQ(read({0xC7, 9, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0}, {part}).error(),
            invalid("byte 0: a tensor's extension of 9 bytes"));
}

TEST(Decode, SaysThatItDoesNotKnowOtherExtensions) {
  EXPECT_EQ(read({0x91, 0xD4, 3, 0}).error(),
            Error(Code::unsupported, "byte 1: extension type 3 means nothing here"));
  EXPECT_EQ(read({0xD6, 0xFF, 0, 0, 0, 0}).error(),
            Error(Code::unsupported, "byte 0: extension type -1 means nothing here"));
}

}  // namespace
}  // namespace muster::wire

#include "muster/msg/message_codec.h"

#include <vector>

#include <gtest/gtest.h>

#include "muster/msg/incoming.h"
#include "muster/msg/message.h"
#include "muster/wire/bytes.h"

namespace muster::msg {
namespace {

using wire::Value;

Buffer blob(std::size_t size, int step) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(step == 0 ? 7 : i * i * 31 + i / 7 * step);
  }
  return Buffer::adopt(std::move(bytes));
}

Value some_body() {
  return Value::Map{{"step", 7},
                    {"text", std::string(3000, 'a')},
                    {"grads", wire::Tensor{wire::DType::u8, {100, 100}, blob(10000, 0)}}};
}

const Compression kAll[] = {Compression::none, Compression::zstd, Compression::lz4};

TEST(MessageBody, IsReadAsItWasWrittenHoweverCompressed) {
  for (const Compression how : kAll) {
    for (const Value& body : {Value(), Value(blob(64, 1)), Value(blob(5000, 0)), some_body()}) {
      const auto encoded = encode_body(body, how);
      ASSERT_TRUE(encoded) << encoded.error().message();
      const auto read = decode_body(encoded->form, encoded->compression, encoded->parts);
      ASSERT_TRUE(read) << read.error().message();
      EXPECT_EQ(*read, body);
    }
  }
}

TEST(MessageBody, OfBytesAndTensorsIsNeverCopied) {
  const Buffer bytes = blob(64, 1);
  const auto raw = encode_body(bytes);
  ASSERT_EQ(raw->parts.size(), 1U);
  EXPECT_EQ(raw->parts[0].data(), bytes.data());
  const Value body = some_body();
  const auto document = encode_body(body);
  EXPECT_EQ(document->parts[1].data(), body.find("grads")->as_tensor()->bytes.data());
}

TEST(MessageBody, OfNothingHasNoParts) {
  const auto encoded = encode_body(Value());
  EXPECT_TRUE(encoded->parts.empty());
  EXPECT_EQ(encoded->form, BodyForm::none);
}

TEST(MessageBody, GrowsSmallerByCompression) {
  const auto plain = encode_body(some_body());
  const auto size_of = [](const EncodedBody& body) {
    std::size_t sum = 0;
    for (const Buffer& part : body.parts) sum += part.size();
    return sum;
  };
  for (const Compression how : {Compression::zstd, Compression::lz4}) {
    const auto small = encode_body(some_body(), how);
    EXPECT_EQ(small->compression, how);
    EXPECT_LT(size_of(*small), size_of(*plain) / 10);
  }
}

TEST(MessageBody, ThatDoesNotGrowSmallerTravelsAsItIs) {
  std::vector<std::byte> noise(4000);
  std::uint64_t state = 1;
  for (std::byte& byte : noise) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(state >> 56);
  }
  const auto encoded = encode_body(Buffer::adopt(std::move(noise)), Compression::zstd);
  EXPECT_EQ(encoded->compression, Compression::none);
  EXPECT_EQ(encoded->parts.size(), 1U);
}

// What a stranger could send instead of the list of sizes.
Result<Value> with_size(Compression how, std::uint64_t claim, const BodyLimits& limits = {}) {
  const auto encoded = encode_body(blob(5000, 0), how);
  std::vector<Buffer> parts(encoded->parts.begin(), encoded->parts.end());
  std::vector<std::byte> list(8);
  wire::store(list.data(), claim);
  parts[0] = Buffer::adopt(std::move(list));
  return decode_body(encoded->form, how, parts, limits);
}

TEST(MessageBody, IsRefusedWhereItsSizesLie) {
  for (const Compression how : {Compression::zstd, Compression::lz4}) {
    EXPECT_TRUE(with_size(how, 5000));
    for (const std::uint64_t claim :
         {std::uint64_t{0}, std::uint64_t{4999}, std::uint64_t{5001}, std::uint64_t{1} << 29,
          std::uint64_t{1} << 40, std::uint64_t{1} << 63, UINT64_MAX}) {
      const Result<Value> read = with_size(how, claim);
      ASSERT_FALSE(read) << claim;
      EXPECT_EQ(read.error().code(), Code::invalid);
    }
  }
}

TEST(MessageBody, IsRefusedAboveTheLimitBeforeAnythingIsAllocated) {
  const Result<Value> read = with_size(Compression::zstd, 5000, {.max_decompressed = 4999});
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("above the limit"), std::string::npos);
}

TEST(MessageBody, IsRefusedWhereItsPartsDoNotFitItsForm) {
  const std::vector<Buffer> one{blob(3, 1)};
  const std::vector<Buffer> two{blob(3, 1), blob(3, 1)};
  EXPECT_FALSE(decode_body(BodyForm::none, Compression::none, one));
  EXPECT_FALSE(decode_body(BodyForm::bytes, Compression::none, {}));
  EXPECT_FALSE(decode_body(BodyForm::bytes, Compression::none, two));
  EXPECT_FALSE(decode_body(BodyForm::document, Compression::none, {}));
  EXPECT_FALSE(decode_body(BodyForm::bytes, Compression::zstd, one));
  EXPECT_FALSE(decode_body(BodyForm::bytes, Compression::lz4, two));
}

TEST(MessageBody, OfAnErrorKeepsCodeAndText) {
  const Error error(Code::unavailable, "gone");
  EXPECT_EQ(value_to_error(error_to_value(error)), error);
  EXPECT_EQ(value_to_error(Value(3)).code(), Code::internal);
  EXPECT_EQ(value_to_error(Value::List{99, "new"}), Error(Code::internal, "new"));
}

TEST(Message, SaysWhatItWasMadeOf) {
  const Message message({.tag = "sum", .source = "master", .destination = "worker_1", .body = 3});
  EXPECT_EQ(message.tag(), "sum");
  EXPECT_TRUE(message.is("sum"));
  EXPECT_EQ(message.source(), "master");
  EXPECT_EQ(message.destination(), "worker_1");
  EXPECT_EQ(message.body(), Value(3));
  EXPECT_TRUE(message.session_id());
  EXPECT_NE(message.session_id(), message.message_id());
}

TEST(Message, IsAnsweredOnceAndAcknowledgedOnceBefore) {
  const Message message({.tag = "sum"});
  EXPECT_TRUE(MessageMaker::claim(message, Stage::receive));
  EXPECT_FALSE(MessageMaker::claim(message, Stage::receive));
  EXPECT_TRUE(MessageMaker::claim(message, Stage::complete));
  EXPECT_FALSE(MessageMaker::claim(message, Stage::complete));
  const Message other({.tag = "sum"});
  const Message& same = other;
  EXPECT_TRUE(MessageMaker::claim(other, Stage::complete));
  EXPECT_FALSE(MessageMaker::claim(same, Stage::receive)) << "too late";
  MessageMaker::disclaim(other, Stage::complete);
  EXPECT_TRUE(MessageMaker::claim(same, Stage::complete));
}

TEST(Message, MadeOfWhatCameKnowsWhoSaidIt) {
  IncomingPtr incoming = IncomingPtr::make();
  incoming->head.kind = MessageKind::task_complete;
  incoming->head.tag = "sum";
  incoming->head.session = {1, 2};
  incoming->head.message = {3, 4};
  incoming->names = Names("worker_1", "me");
  incoming->peer = {4, 1};
  const auto message = MessageMaker::make(incoming, {});
  ASSERT_TRUE(message);
  EXPECT_EQ(message->stage(), Stage::complete);
  EXPECT_EQ(message->source(), "worker_1");
  EXPECT_EQ(message->destination(), "me");
  EXPECT_EQ(message->peer(), (PeerId{4, 1}));
  EXPECT_TRUE(message->body().is_nil());
}

// Memory that other processes might write to.
class SharedOwner final : public BufferOwner {
 public:
  explicit SharedOwner(const Buffer& content)
      : bytes(content.bytes().begin(), content.bytes().end()) {}
  const void* origin() const override { return this; }
  std::vector<std::byte> bytes;

 private:
  void dispose() noexcept override { delete this; }
};

TEST(MessageBody, ThatOthersCouldStillChangeIsCopiedFirst) {
  const EncodedBody body = *encode_body(Value::List{Buffer::copy_of("inside the tree")});
  auto* owner = new SharedOwner(body.parts[0]);
  const Buffer tree(owner->bytes, owner);
  const Value decoded = *decode_body(body.form, body.compression, std::vector{tree});
  owner->bytes.assign(owner->bytes.size(), std::byte{0});
  EXPECT_EQ(decoded, Value(Value::List{Buffer::copy_of("inside the tree")}));
}

}  // namespace
}  // namespace muster::msg

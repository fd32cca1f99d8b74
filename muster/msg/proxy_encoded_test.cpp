// Bodies that stay encoded, for who reads them into values of another language;
// and being told of messages instead of waiting for them.

#include <gtest/gtest.h>

#include "muster/msg/proxy.h"
#include "muster/msg/testing/three.h"

namespace muster::msg {
namespace {

using testing::events;
using testing::has;
using testing::Kind;
using testing::kNow;
using testing::outcome;
using testing::take;
using wire::Value;

const Value kBody = Value::List{1, "two", Value::Map{{"three", 3.0}}};

// All of them keep what comes as it came.
struct Encoded : ::testing::Test {
  Encoded() {
    for (const char* name : {"master", "worker_1", "worker_2"}) {
      group.add(name, [](ProxyOptions& options) { options.keeps_encoded = true; });
    }
    EXPECT_TRUE(group.settle());
  }
  static Value body_of(const Message& message) {
    const EncodedBody* encoded = message.encoded();
    if (encoded == nullptr) return "not encoded";
    EXPECT_TRUE(message.body().is_nil());
    const std::span<const Buffer> parts(encoded->parts.begin(), encoded->parts.end());
    return *decode_body(encoded->form, encoded->compression, parts);
  }
  Draft draft(const std::string& whom) {
    return {.tag = "sum", .destination = whom, .encoded = *encode_body(kBody)};
  }
  Proxy& master() { return group["master"]; }

  testing::SimGroup group;
};

TEST_F(Encoded, BodiesGoAndComeAsTheyAre) {
  const SessionId id = *master().isend(draft("worker_1"));
  const Message request = take(group, "worker_1");
  EXPECT_EQ(body_of(request), kBody);
  ReplyOptions options;
  options.encoded = *encode_body(kBody, Compression::zstd);
  ASSERT_TRUE(group["worker_1"].reply(request, {}, options));
  EXPECT_EQ(body_of(outcome(group, master(), id).messages.at(0)), kBody);
}

TEST_F(Encoded, EachOfAScatterHasItsOwn) {
  const auto ids = *master().iscatter_encoded(
      {.tag = "sum"},
      {{"worker_1", *encode_body(1)}, {"worker_2", *encode_body("two")}, {"nobody", {}}});
  EXPECT_EQ(body_of(take(group, "worker_1")), Value(1));
  EXPECT_EQ(body_of(take(group, "worker_2")), Value("two"));
  EXPECT_EQ(outcome(group, master(), ids.at(2)).failures.at(0).error.code(), Code::not_found);
}

TEST_F(Encoded, ATaskIsPassedOnAsItCame) {
  ASSERT_TRUE(master().isend(draft("worker_1")));
  ASSERT_TRUE(group["worker_1"].forward(take(group, "worker_1"), "worker_2"));
  EXPECT_EQ(body_of(take(group, "worker_2")), kBody);
}

TEST_F(Encoded, ANotificationIsNotAnsweredWithABody) {
  Draft note = draft("worker_1");
  note.session_type = SessionType::notification;
  ASSERT_TRUE(master().isend(note));
  ReplyOptions options;
  options.encoded = *encode_body(1);
  const Message message = take(group, "worker_1");
  EXPECT_EQ(group["worker_1"].reply(message, {}, options).error().code(), Code::invalid);
}

TEST_F(Encoded, AFailureIsStillAnError) {
  const SessionId id = *master().isend(draft("worker_1"));
  ASSERT_TRUE(group["worker_1"].fail(take(group, "worker_1"), Error(Code::failed, "no")));
  EXPECT_EQ(outcome(group, master(), id).failures.at(0).error.code(), Code::failed);
}

TEST_F(Encoded, WhatIsNoBodyIsRefusedByWhoReadsIt) {
  const SessionId id = *master().isend(draft("worker_1"));
  const Message request = take(group, "worker_1");
  Proxy& worker = group["worker_1"];
  events(worker);
  ASSERT_TRUE(worker.unreadable(request, Error(Code::unsupported, "not that")));
  EXPECT_TRUE(has(events(worker), Kind::refused));
  const Replies replies = outcome(group, master(), id);
  EXPECT_EQ(replies.failures.at(0).error, Error(Code::unsupported, "worker_1: not that"));
  EXPECT_EQ(worker.reply(request).error().code(), Code::invalid) << "it has been answered";
  EXPECT_EQ(worker.unreadable(request, Error(Code::invalid, "again")).error().code(),
            Code::invalid);
  EXPECT_EQ(worker.unreadable(Message(), Error(Code::invalid, "none")).error().code(),
            Code::invalid);
}

TEST_F(Encoded, WhoAskedIsToldOnceThatSomethingCame) {
  int told = 0;
  Proxy& worker = group["worker_1"];
  worker.when_receivable([&] { ++told; });
  EXPECT_EQ(told, 0);
  ASSERT_TRUE(master().isend(draft("worker_1")));
  ASSERT_TRUE(master().isend(draft("worker_1")));
  ASSERT_TRUE(group.run_until([&] { return worker.counters().waiting == 2; }));
  EXPECT_EQ(told, 1);
  worker.when_receivable([&] { ++told; });
  EXPECT_EQ(told, 2) << "at once, since something is there";
}

TEST_F(Encoded, WhoAskedIsToldOfTheEnd) {
  int told = 0;
  Proxy& worker = group["worker_1"];
  worker.when_receivable([&] { ++told; });
  static_cast<void>(worker.leave(kNow));
  ASSERT_TRUE(group.run_until([&] { return worker.ended().has_value(); }));
  EXPECT_EQ(told, 1);
  worker.when_receivable([&] { ++told; });
  EXPECT_EQ(told, 2);
}

TEST_F(Encoded, CompressedBodiesGrowAgainWithinLimits) {
  EncodedBody body = *encode_body(Value(std::string(100'000, 'x')));
  compress_body(body, Compression::zstd);
  EXPECT_EQ(body.compression, Compression::zstd);
  const EncodedBody grown = *expand_body(body);
  EXPECT_EQ(grown.compression, Compression::none);
  EXPECT_EQ(grown.form, BodyForm::document);
  EXPECT_GT(grown.parts[0].size(), 100'000U);
  EXPECT_EQ(expand_body(body, {.max_decompressed = 1000}).error().code(), Code::invalid);
  EXPECT_EQ(expand_body(grown)->parts[0].size(), grown.parts[0].size());
}

}  // namespace
}  // namespace muster::msg

#include "muster/drivers/ucx/greeting.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::drivers::ucx {
namespace {

using Kind = Greeting::Kind;

Greeting full(Kind kind) {
  return {kind, {0x1122334455667788, 0x99aabbccddeeff00}, 42, 7, Buffer::copy_of("somewhere")};
}

TEST(UcxGreeting, ReadsWhatItHasWritten) {
  for (const Kind kind : {Kind::hello, Kind::pair, Kind::ready, Kind::go}) {
    const Greeting said = full(kind);

    const Result<Greeting> heard = decode_greeting(encode(said));

    ASSERT_TRUE(heard) << heard.error().describe();
    EXPECT_EQ(heard->kind, kind);
    EXPECT_EQ(heard->hub, said.hub);
    EXPECT_EQ(heard->key, said.key);
    EXPECT_EQ(heard->pair, said.pair);
    const bool has_worker = kind == Kind::pair || kind == Kind::ready;
    EXPECT_EQ(heard->worker.text(), has_worker ? "somewhere" : "");
  }
}

TEST(UcxGreeting, RefusesAnotherVersionBySayingSo) {
  wire::Frame frame = encode(full(Kind::hello));
  frame.head.resize(frame.head.size())[4] = std::byte{9};

  const Result<Greeting> heard = decode_greeting(frame);

  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code(), Code::unsupported);
  EXPECT_NE(heard.error().message().find("version 9"), std::string::npos);
}

TEST(UcxGreeting, RefusesAWorkerThatIsMissingOrTooManyOrTooLong) {
  wire::Frame none = encode(full(Kind::pair));
  none.parts.clear();
  wire::Frame two = encode(full(Kind::ready));
  two.parts.push_back(Buffer::copy_of("another"));
  wire::Frame uncalled = encode(full(Kind::go));
  uncalled.parts.push_back(Buffer::copy_of("why"));
  Greeting empty = full(Kind::pair);
  empty.worker = Buffer();
  Greeting vast = full(Kind::pair);
  vast.worker = Buffer::adopt(std::vector<std::byte>(kMostAddress + 1));

  for (const wire::Frame& frame : {none, two, uncalled, encode(empty), encode(vast)}) {
    const Result<Greeting> heard = decode_greeting(frame);
    ASSERT_FALSE(heard);
    EXPECT_EQ(heard.error().code(), Code::invalid);
  }
}

RC_GTEST_PROP(UcxGreetingProperty, RefusesOrReadsAnyHead,
              (const std::vector<std::uint8_t>& bytes)) {
  wire::Frame frame;
  frame.head.assign(std::as_bytes(std::span(bytes)));
  const Result<Greeting> heard = decode_greeting(frame);
  if (heard) RC_ASSERT(heard->kind == Kind::hello || heard->kind == Kind::go);
}

}  // namespace
}  // namespace muster::drivers::ucx

#include "muster/registries/redis/resp.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace muster::registries::redis {
namespace {

using Kind = Reply::Kind;

Reply text(std::string words) { return {.kind = Kind::text, .text = std::move(words)}; }
Reply integer(std::int64_t value) { return {.kind = Kind::integer, .integer = value}; }
Reply list(std::vector<Reply> items) { return {.kind = Kind::list, .items = std::move(items)}; }

// All of it at once, and byte by byte: the same.
std::vector<Reply> read(std::string_view bytes) {
  std::vector<Reply> at_once;
  EXPECT_TRUE(RespReader().feed(bytes, at_once)) << bytes;
  std::vector<Reply> piecewise;
  RespReader reader;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    EXPECT_TRUE(reader.feed(bytes.substr(i, 1), piecewise));
  EXPECT_EQ(at_once, piecewise);
  return at_once;
}

bool refuses(std::string_view bytes, const RespLimits& limits = {}) {
  std::vector<Reply> replies;
  RespReader reader(limits);
  const Status status = reader.feed(bytes, replies);
  return !status && replies.empty() && !reader.feed("+OK\r\n", replies);
}

TEST(Resp, ReadsWhatRedisTwoSays) {
  EXPECT_EQ(read("+OK\r\n"), (std::vector{text("OK")}));
  EXPECT_EQ(read("-ERR no\r\n:-42\r\n"),
            (std::vector{Reply{.kind = Kind::error, .text = "ERR no"}, integer(-42)}));
  EXPECT_EQ(read("$5\r\nhe\r\nl\r\n$0\r\n\r\n$-1\r\n"),
            (std::vector{text("he\r\nl"), text(""), Reply{}}));
  EXPECT_EQ(read("*2\r\n$1\r\na\r\n*2\r\n:1\r\n*0\r\n*-1\r\n"),
            (std::vector{list({text("a"), list({integer(1), list({})})}), Reply{}}));
}

TEST(Resp, ReadsWhatRedisThreeAdds) {
  EXPECT_EQ(read("_\r\n#t\r\n#f\r\n,1.5\r\n(123\r\n=7\r\ntxt:abc\r\n!5\r\nERR x\r\n"),
            (std::vector{Reply{}, integer(1), integer(0), text("1.5"), text("123"), text("abc"),
                         Reply{.kind = Kind::error, .text = "ERR x"}}));
  EXPECT_EQ(read("%1\r\n+a\r\n:1\r\n~1\r\n+b\r\n"),
            (std::vector{list({text("a"), integer(1)}), list({text("b")})}));
  EXPECT_EQ(read(">2\r\n+message\r\n+x\r\n"),
            (std::vector{Reply{.kind = Kind::push, .items = {text("message"), text("x")}}}));
  EXPECT_EQ(read("|1\r\n+ttl\r\n:3\r\n*2\r\n|0\r\n:7\r\n|1\r\n+a\r\n+b\r\n:8\r\n"),
            (std::vector{list({integer(7), integer(8)})}));
}

TEST(Resp, RefusesWhatIsNoReply) {
  for (const char* const bytes :
       {"hello\r\n", "\r\n", "+OK\n", ":x\r\n", ":\r\n", ":1 \r\n", "$-2\r\n", "$x\r\n", "$?\r\n",
        "*?\r\n", "*-2\r\n", "$1\r\nabc", "#x\r\n", "=3\r\ntxt\r\n", "*1\r\n>1\r\n+a\r\n",
        "$99999999999999999999\r\n"}) {
    EXPECT_TRUE(refuses(bytes)) << bytes;
  }
}

TEST(Resp, RefusesWhatIsBeyondALimitBeforeItComes) {
  EXPECT_TRUE(refuses("$11\r\n", {.text = 10}));
  EXPECT_TRUE(refuses("*11\r\n", {.values = 10}));
  EXPECT_TRUE(refuses("*3\r\n*3\r\n:1\r\n:1\r\n:1\r\n:1\r\n", {.values = 4}));
  EXPECT_TRUE(refuses("*1\r\n*1\r\n*1\r\n", {.depth = 2}));
  EXPECT_TRUE(refuses("+" + std::string(5000, 'x')));
  EXPECT_TRUE(refuses("*2\r\n$6\r\nabcdef\r\n$6\r\n", {.bytes = 10}));
}

TEST(Resp, LimitsAreForEachReplyAlone) {
  std::vector<Reply> replies;
  RespReader reader({.values = 2, .bytes = 4});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(reader.feed("*1\r\n$3\r\nabc\r\n", replies));
  EXPECT_EQ(replies.size(), 10U);
}

TEST(Resp, WritesCommandsAsBulkStrings) {
  const std::vector<std::string> words = {"SET", "a\r\n", ""};
  EXPECT_EQ(encode_command(words), "*3\r\n$3\r\nSET\r\n$3\r\na\r\n\r\n$0\r\n\r\n");
}

// What is written as a command is read back, in whatever pieces it comes.
RC_GTEST_PROP(RespProperty, PiecesDoNotMatter, (const std::vector<std::string>& words)) {
  const std::string bytes = encode_command(words);
  RespReader reader;
  std::vector<Reply> replies;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const std::size_t size = *rc::gen::inRange<std::size_t>(1, rest.size() + 1);
    RC_ASSERT(reader.feed(rest.substr(0, size), replies).has_value());
    rest.remove_prefix(size);
  }
  RC_ASSERT(replies.size() == 1U);
  RC_ASSERT(replies[0].items.size() == words.size());
  for (std::size_t i = 0; i < words.size(); ++i) RC_ASSERT(replies[0].items[i].text == words[i]);
}

}  // namespace
}  // namespace muster::registries::redis

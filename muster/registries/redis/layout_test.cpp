#include "muster/registries/redis/layout.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace muster::registries::redis {
namespace {

using Kind = Reply::Kind;

Reply text(std::string words) { return {.kind = Kind::text, .text = std::move(words)}; }
Reply list(std::vector<Reply> items) { return {.kind = Kind::list, .items = std::move(items)}; }

msg::Member learner() {
  return {.name = "learner",
          .type = "trainer",
          .id = {0x0102030405060708, 0x1112131415161718},
          .incarnation = 3,
          .addresses = {"shm://x", "tcp://h:1"}};
}

Reply row(const std::string& name, const std::string& known, const std::string& record,
          bool is_leased) {
  return list({text(name), text("trainer"), text(known), text(record),
               Reply{.kind = Kind::integer, .integer = is_leased}});
}

TEST(RedisLayout, AMembersKeysAreMarosAndItsGroupsOwn) {
  const Command command =
      announce_command({.group = "g", .self = learner(), .lease = std::chrono::seconds(2)});
  EXPECT_EQ(command[0], "EVAL");
  EXPECT_EQ(std::vector(command.begin() + 2, command.begin() + 12),
            (std::vector<std::string>{"5", "g::incarnations", "g:trainer", "g::lease:learner",
                                      "g::types", "g::gone", "learner", "trainer",
                                      "01020304050607081112131415161718", "3"}));
  EXPECT_EQ(command[12], "2000");
}

TEST(RedisLayout, ARollTellsWhoIsThereAndHowOthersWent) {
  const std::string record = encode_record(learner());
  const Reply reply = list({list({row("learner", "3 abc trainer", record, true),
                                  row("other", "1 def trainer", record, false)}),
                            list({text("gone"), text("left 4"), text("dead"), text("lost 2"),
                                  text("odd"), text("eaten 2")})});
  const Result<Roll> roll = read_roll(reply);
  ASSERT_TRUE(roll);
  msg::Member other = learner();
  other.name = "other";
  other.incarnation = 1;
  EXPECT_EQ(roll->listed, (std::vector<Listed>{{learner(), true}, {other, false}}));
  EXPECT_EQ(roll->gone, (std::map<std::string, Gone>{{"gone", {true, 4}}, {"dead", {false, 2}}}));
}

TEST(RedisLayout, WhatOthersHaveWrittenThereIsLeftOut) {
  const std::string record = encode_record(learner());
  const Reply reply = list(
      {list({row("maro", "1 abc trainer", R"({"7": "tcp://h:1"})", true),
             row("bad name", "1 abc trainer", record, true), row("a", "x", record, true),
             row("b", "0 abc t", record, true),
             row("c", "99999999999999999999 abc t", record, true), list({}), text("a"), Reply{}}),
       list({text("half")})});
  const Result<Roll> roll = read_roll(reply);
  ASSERT_TRUE(roll);
  EXPECT_TRUE(roll->listed.empty());
  EXPECT_FALSE(read_roll(text("OK")));
  EXPECT_FALSE(read_roll(list({})));
  EXPECT_FALSE(read_announced(text("OK")));
  EXPECT_EQ(*read_announced({.kind = Kind::integer, .integer = 0}), std::nullopt);
}

RC_GTEST_PROP(RedisLayoutProperty, ASpoiltRecordIsRefusedOrRead, ()) {
  std::string bytes = encode_record(learner());
  RC_ASSERT(decode_record(bytes)->addresses == learner().addresses);
  const auto changes = *rc::gen::container<std::vector<std::pair<std::uint16_t, char>>>(
      rc::gen::arbitrary<std::pair<std::uint16_t, char>>());
  for (const auto& [at, value] : changes) bytes[at % bytes.size()] = value;
  bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
  const Result<msg::Member> member = decode_record(bytes);
  if (member) RC_ASSERT(member->addresses.size() <= 64U);
}

}  // namespace
}  // namespace muster::registries::redis

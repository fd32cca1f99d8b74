#include "muster/msg/event_condition.h"

#include <gtest/gtest.h>

#include "muster/msg/event_parser.h"
#include "muster/msg/tag.h"
#include "muster/net/handshake.h"

namespace muster::msg {
namespace {

using namespace std::chrono_literals;

EventUnit unit(std::string source, std::string tag, EventAmount amount) {
  return {std::move(source), std::move(tag), amount, false};
}

// What is wrong with `condition`; "" if nothing is.
std::string fault(const EventCondition& condition) {
  return condition.error() == nullptr ? "" : condition.error()->message();
}

TEST(EventCondition, OfABareTagIsOneMessageFromAnybody) {
  EXPECT_EQ(event("update").unit(), unit("*", "update", {1, false}));
}

TEST(EventCondition, KeepsSourceTagAndAmount) {
  EXPECT_EQ(event("worker:update:10").unit(), unit("worker", "update", {10, false}));
  EXPECT_EQ(event("worker_*:update:60%").unit(), unit("worker_*", "update", {60, true}));
  EXPECT_EQ(event("*:*:3").unit(), unit("*", "*", {3, false}));
}

TEST(EventCondition, BuildsWhatOneTextSays) {
  const EventCondition built =
      any_of(all_of("worker_01:update:2", "worker_02:update:3"), "worker_03:update:1");

  EXPECT_EQ(built, event("(worker_01:update:2 && worker_02:update:3) || worker_03:update:1"));
}

TEST(EventCondition, IsBuiltFromUnitsAndVectorsToo) {
  EXPECT_EQ(all_of(unit("a", "x", {2, false}), "b:y:1"), event("a:x:2 && b:y:1"));
  EXPECT_EQ(any_of(std::vector<EventCondition>{"x", "y"}), event("x || y"));
  EXPECT_EQ(all_of(std::string("x"), std::string_view("y")), event("x && y"));
}

TEST(EventCondition, OfOnePartIsThatPart) {
  EXPECT_EQ(all_of("x"), event("x"));
  EXPECT_EQ(any_of(all_of("x", "y")), event("x && y"));
}

TEST(EventCondition, TakesItsOptionsFromTheBuilderOrTheText) {
  EXPECT_EQ(event("worker:x:3").distinct(), event("worker:x:3 distinct"));
  EXPECT_EQ(event("worker:x:3").within(30s), event("worker:x:3 within 30s"));
  EXPECT_EQ(all_of(event("w:x:3").distinct(), "y").within(1500ms),
            event("w:x:3 distinct && y within 1500ms"));
}

TEST(EventCondition, WritesATextThatReadsTheSame) {
  for (const char* text :
       {"*:update:1", "worker:update:60%", "a:x:2 && b:y:3", "(a:x:2 && b:y:3) || c:z:1",
        "((a:x:1 || b:x:1) && c:x:1) || d:x:1", "'my-tag':'and':1", "a:x:2 distinct within 90s",
        "a:x:2 || b:x:1 within 2min", "a:x:1 within 1h", "a:x:1 within 1500ms"}) {
    const EventCondition read = event(text);
    ASSERT_EQ(fault(read), "");
    EXPECT_EQ(event(read.to_string()), read) << read.to_string();
  }
  EXPECT_EQ(event("or:x:1").to_string(), "'or':x:1");
  EXPECT_EQ(event("a:x:1 within 120s").to_string(), "a:x:1 within 2min");
}

TEST(EventCondition, RefusesAUnitThatCannotBe) {
  EXPECT_NE(fault(unit("", "x", {})), "");
  EXPECT_NE(fault(unit("*", "", {})), "");
  EXPECT_NE(fault(unit("*", "it's", {})), "");
  EXPECT_NE(fault(unit("w*r", "x", {})), "");
  EXPECT_NE(fault(unit("*", "x*", {})), "");
  EXPECT_NE(fault(unit("*", "x\n", {})), "");
  EXPECT_NE(fault(unit("*", "x", {0, false})), "");
  EXPECT_NE(fault(unit("*", "x", {101, true})), "");
  EXPECT_NE(fault(unit("*", "x", {kMaxEventAmount + 1, false})), "");
  EXPECT_EQ(fault(unit("a.b-c_9", "c:d (&|)", {})), "");
}

TEST(EventCondition, RefusesWhatNoMessageCouldEverHave) {
  EXPECT_EQ(fault(unit("*", std::string(kMaxTag, 'x'), {})), "");
  EXPECT_NE(fault(unit("*", std::string(kMaxTag + 1, 'x'), {})).find("48 bytes"),
            std::string::npos);
  const std::string longest(net::kMaxName, 'x');
  EXPECT_EQ(fault(unit(longest, "x", {})), "");
  EXPECT_EQ(fault(unit(longest + "*", "x", {})), "");
  EXPECT_NE(fault(unit(longest + "x", "x", {})).find("64 bytes"), std::string::npos);
  EXPECT_NE(fault(unit(longest + "x*", "x", {})).find("64 bytes"), std::string::npos);
  EXPECT_NE(fault(unit("a b", "x", {})).find("character 3"), std::string::npos)
      << fault(unit("a b", "x", {}));
  EXPECT_NE(fault(unit("wor/ker_*", "x", {})).find("character 4"), std::string::npos);
}

TEST(EventCondition, CarriesTheFirstErrorOfItsParts) {
  const std::string wrong = fault(event("a:b:x"));

  EXPECT_NE(wrong, "");
  EXPECT_EQ(fault(all_of("x", "a:b:x", "c:d:y")), wrong);
  EXPECT_EQ(fault(any_of(all_of("x", "a:b:x"), "y")), wrong);
  EXPECT_EQ(fault(event("a:b:x").distinct()), wrong);
  EXPECT_EQ(fault(event("a:b:x").within(1s)), wrong);
}

TEST(EventCondition, RefusesAGroupOfNothing) {
  EXPECT_NE(fault(all_of()), "");
  EXPECT_NE(fault(any_of(std::vector<EventCondition>{})), "");
}

TEST(EventCondition, RefusesOptionsWhereTheyMeanNothing) {
  EXPECT_NE(fault(all_of("x", "y").distinct()), "");
  EXPECT_NE(fault(all_of("x within 1s", "y")), "");
  EXPECT_NE(fault(event("x").within(0s)), "");
  EXPECT_NE(fault(event("x").within(-1s)), "");
  EXPECT_NE(fault(event("x").within(1us)), "");
  EXPECT_NE(fault(event("x").within(kMaxEventBound + 1s)), "");
}

TEST(EventCondition, NestsAsDeepAsItSaysAndNoDeeper) {
  EventCondition deep = "x";
  for (std::size_t i = 0; i < kMaxEventDepth; ++i) {
    deep = i % 2 == 0 ? all_of(deep, "y") : any_of("y", deep);
  }

  EXPECT_EQ(deep.depth(), kMaxEventDepth);
  EXPECT_EQ(event(deep.to_string()), deep);
  EXPECT_NE(fault(all_of(deep, "y")).find("64 deep"), std::string::npos);
}

TEST(EventCondition, HasAsManyUnitsAsItSaysAndNoMore) {
  std::vector<EventCondition> units(kMaxEventUnits, "x");
  EXPECT_EQ(fault(all_of(units)), "");

  units.emplace_back("x");
  EXPECT_NE(fault(all_of(units)).find("at most 256 units"), std::string::npos);
}

}  // namespace
}  // namespace muster::msg

#include "muster/msg/event_parser.h"

#include <gtest/gtest.h>

namespace muster::msg {
namespace {

// The error that reading `text` ends with.
std::string fault(std::string_view text) {
  const Result<EventCondition> condition = parse_event(text);
  if (condition) return "read";
  EXPECT_EQ(condition.error().code(), Code::invalid);
  return condition.error().message();
}

// Which character it points at; 0 if at none.
std::size_t fault_at(std::string_view text) {
  const std::string message = fault(text);
  const std::size_t at = message.find("character ");
  return at == std::string::npos ? 0 : std::stoul(message.substr(at + 10));
}

TEST(EventParser, TakesEveryOperatorInEveryForm) {
  const EventCondition all = all_of("a", "b");
  const EventCondition any = any_of("a", "b");

  for (const char* text : {"a && b", "a and b", "a AND b", "a&&b", " (a)\n&&\t(b) "}) {
    EXPECT_EQ(*parse_event(text), all) << text;
  }
  for (const char* text : {"a || b", "a or b", "a OR b", "a||b", "((a || b))"}) {
    EXPECT_EQ(*parse_event(text), any) << text;
  }
}

TEST(EventParser, LetsAndBindTighterThanOr) {
  EXPECT_EQ(*parse_event("a || b && c"), any_of("a", all_of("b", "c")));
  EXPECT_EQ(*parse_event("(a || b) && c"), all_of(any_of("a", "b"), "c"));
  EXPECT_EQ(*parse_event("a && b && c"), all_of("a", "b", "c"));
}

TEST(EventParser, TakesNamesInQuotesAsTheyAre) {
  const EventUnit unit = parse_event("'worker_1':'a:b (c)':2")->unit();

  EXPECT_EQ(unit.source, "worker_1");
  EXPECT_EQ(unit.tag, "a:b (c)");
  EXPECT_EQ(parse_event("'and'")->unit().tag, "and");
  EXPECT_EQ(parse_event("worker:or:1")->unit().tag, "or");
  EXPECT_EQ(parse_event("android")->unit().tag, "android");
}

TEST(EventParser, PointsAtTheCharacterThatIsWrong) {
  const struct {
    std::string_view text;
    std::size_t at;
  } cases[] = {
      {"", 1},
      {"   ", 4},
      {"a:b", 4},
      {"a:b:", 5},
      {"a:b:c:1", 5},
      {"a:b:1:2", 6},
      {"a::1", 3},
      {":b:1", 1},
      {"a:b:x", 5},
      {"a:b:%", 5},
      {"a:b:1.5%", 6},
      {"a:b:1%%", 7},
      {"a:b:-1", 5},
      {"a:b:+1", 5},
      {"a:b:0", 5},
      {"a:b:00%", 5},
      {"a:b:101%", 5},
      {"a:b:1000000001", 5},
      {"a:b:99999999999999999999999", 5},
      {"a: b:1", 3},
      {"a :b:1", 3},
      {"w*r:b:1", 2},
      {"**:b:1", 1},
      {"*_1:b:1", 1},
      {"'w*r':b:1", 3},
      {"a:b*:1", 4},
      {"x*", 2},
      {"a && ", 6},
      {"&& a", 1},
      {"a & b", 3},
      {"a XOR b", 3},
      {"a b", 3},
      {"a && and", 6},
      {"(a", 1},
      {"a && (b || (c)", 6},
      {"a)", 2},
      {"()", 2},
      {"(a, b, AND)", 3},
      {"'a", 1},
      {"''", 1},
      {"'a\nb'", 3},
      {"a:b:1'c'", 6},
      {"a distinct distinct", 12},
      {"(a && b) distinct", 10},
      {"distinct", 1},
      {"a within", 9},
      {"a within 5", 11},
      {"a within 5 s", 11},
      {"a within 5days", 11},
      {"a within 0s", 10},
      {"a within -5s", 10},
      {"a within 8761h", 10},
      {"a within 5s && b", 13},
      {"(a within 5s) && b", 4},
      {"a within 5s within 6s", 13},
      {std::string_view("a\0b", 3), 2},
      {"\x1b[31m", 1},
      {"\xC3\xA4:b:x", 5},  // Characters count, not bytes.
  };
  for (const auto& [text, at] : cases) {
    EXPECT_EQ(fault_at(text), at) << text << "\n" << fault(text);
  }
}

TEST(EventParser, ShowsTheCharacterWithACaretBeneath) {
  EXPECT_EQ(fault("worker:update:6x"),
            "read the event: character 16: an amount is a whole number such as 3, or a percentage "
            "such as 60%\n"
            "  worker:update:6x\n"
            "                 ^");
}

TEST(EventParser, ShowsOnlyTheNeighbourhoodOfALongText) {
  const std::string name(100, 'n');

  EXPECT_TRUE(fault(name + ":b:x || " + name)
                  .ends_with("\n  ..." + std::string(37, 'n') + ":b:x || " + std::string(35, 'n') +
                             "...\n  " + std::string(43, ' ') + "^"))
      << fault(name + ":b:x || " + name);
}

TEST(EventParser, ShowsNothingThatATerminalWouldObey) {
  const std::string message = fault("a:\x1b[31m:1");

  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_NE(message.find("a:?[31m:1"), std::string::npos);
}

TEST(EventParser, StopsAtTheDepthItSays) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "a" + std::string(depth, ')');
  };

  EXPECT_EQ(fault(nested(kMaxEventDepth)), "read");
  EXPECT_EQ(fault_at(nested(kMaxEventDepth + 1)), kMaxEventDepth + 1);
  EXPECT_EQ(fault_at(std::string(kMaxEventText, '(')), kMaxEventDepth + 1);
}

TEST(EventParser, CountsDepthWithoutBracketsToo) {
  std::string text = "a";
  for (std::size_t i = 0; i < kMaxEventDepth / 2; ++i) text = "b || c && (" + text + ")";

  EXPECT_EQ(fault(text), "read");
  EXPECT_EQ(fault_at("b || " + text), 0U);
  EXPECT_EQ(fault_at("b && (" + text + ")"), 1U);
}

TEST(EventParser, StopsAtTheLengthItSays) {
  std::string text = "a" + std::string(kMaxEventText - 1, ' ');
  EXPECT_EQ(fault(text), "read");

  text += ' ';
  EXPECT_EQ(fault_at(text), kMaxEventText + 1);
}

}  // namespace
}  // namespace muster::msg

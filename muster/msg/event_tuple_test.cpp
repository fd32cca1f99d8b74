#include "muster/msg/event_tuple.h"

#include <gtest/gtest.h>

namespace muster::msg {
namespace {

using std::tuple;

TEST(EventTuple, IsJoinedByItsLastItem) {
  EXPECT_EQ(event(tuple("a:x:2", "b:y:3", "AND")), event("a:x:2 && b:y:3"));
  EXPECT_EQ(event(tuple("a:x:2", "b:y:3", "||")), event("a:x:2 || b:y:3"));
  EXPECT_EQ(event(tuple("x", "y", "z", "and")), event("x && y && z"));
}

TEST(EventTuple, HoldsTuplesAndConditions) {
  EXPECT_EQ(event(tuple(tuple("worker_01:update:2", "worker_02:update:3", "AND"),
                        "worker_03:update:1", "OR")),
            event("(worker_01:update:2 && worker_02:update:3) || worker_03:update:1"));
  EXPECT_EQ(event(tuple(event("w:x:3").distinct(), tuple(tuple("y", "z", "&&"), "u", "||"), "&&")),
            event("w:x:3 distinct && ((y && z) || u)"));
}

TEST(EventTuple, IsRefusedWithoutPartsOrOperator) {
  EXPECT_NE(event(tuple("AND")).error(), nullptr);
  EXPECT_NE(event(tuple("x", "y", "XOR")).error(), nullptr);
  EXPECT_NE(event(tuple("x", "y:z:0", "AND")).error(), nullptr);
  EXPECT_NE(event(tuple("x", tuple("y", "z"), "AND")).error(), nullptr);
}

}  // namespace
}  // namespace muster::msg

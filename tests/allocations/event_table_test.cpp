// Once warm, an event table takes no memory for messages that nobody waits for,
// nor for those that only wait.

#include "muster/msg/event_table.h"

#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

namespace {

std::size_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace muster::msg {
namespace {

// 1,000 events of every kind of source, and 100 peers.
struct Crowd {
  EventTable table;
  std::vector<std::string> names;

  Crowd() {
    for (int i = 0; i < 100; ++i) {
      names.push_back("worker_with_a_long_name_" + std::to_string(i));
      table.joined(names.back(), "worker", TimePoint());
    }
    for (int i = 0; i < 250; ++i) {
      const std::string number = std::to_string(i);
      EXPECT_TRUE(table.add("worker:a_tag_that_has_number_" + number + ":60% within 1s"));
      EXPECT_TRUE(table.add("stranger_" + number + ":update:2"));
      EXPECT_TRUE(table.add("stranger_" + number + "_*:update:2 distinct"));
      EXPECT_TRUE(table.add("learner:*:2 && stranger_" + number + ":x:1"));
    }
  }

  // How often memory was taken while every peer sent `tag` once.
  std::size_t allocations_of(std::string_view tag) {
    const std::size_t before = allocations;
    for (const std::string& name : names) {
      table.push({name, "worker", tag, 1}, TimePoint());
    }
    return allocations - before;
  }
};

TEST(EventTableAllocations, AreNoneForAMessageThatNobodyWaitsFor) {
  Crowd crowd;
  crowd.allocations_of("update");

  EXPECT_EQ(crowd.allocations_of("update"), 0U);
  EXPECT_EQ(crowd.allocations_of("a tag that no event has"), 0U);
}

TEST(EventTableAllocations, AreNoneForAMessageThatWaitsWhereOthersDid) {
  Crowd crowd;
  const EventId event = *crowd.table.add("worker:progress:100 && go");
  crowd.allocations_of("progress");
  crowd.table.push({"learner_1", "any", "go", 1}, TimePoint());
  ASSERT_EQ(crowd.table.waiting(event), 0U);

  EXPECT_EQ(crowd.allocations_of("progress"), 0U);
  EXPECT_EQ(crowd.table.waiting(event), 100U);
}

}  // namespace
}  // namespace muster::msg

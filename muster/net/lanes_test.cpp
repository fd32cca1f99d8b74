#include "muster/net/lanes.h"

#include <deque>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace muster::net {
namespace {

wire::Frame frame(const std::string& text, std::size_t size = 0) {
  wire::Frame made;
  made.head.assign(std::as_bytes(std::span(text)));
  if (size > 0) made.parts.push_back(Buffer::adopt(std::vector<std::byte>(size)));
  return made;
}

std::string text_of(const Queued* queued) {
  if (queued == nullptr) return "none";
  const auto bytes = queued->frame.head.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Line {
  QueuedPool pool;
  Lanes lanes{pool};

  void push(const std::string& text, std::uint32_t channel, std::uint8_t priority = 1) {
    wire::Frame made = frame(text);
    lanes.push(made, {channel, priority});
  }
  // Pops until nothing is left.
  std::string drain() {
    std::string all;
    while (Queued* queued = lanes.next(true, true)) {
      all += text_of(queued) + " ";
      lanes.pop(queued);
    }
    return all;
  }
  // Makes the next a transfer that was offered.
  Queued* offer(std::uint64_t id) {
    Queued* queued = lanes.next(true, true);
    queued->transfer = std::make_unique<OutgoingTransfer>(id, queued->frame.parts, 1024,
                                                          [](std::size_t) { return false; });
    lanes.wait(queued);
    return queued;
  }
};

TEST(Lanes, ALaneKeepsItsOrder) {
  Line line;
  for (const char* text : {"a", "b", "c"}) line.push(text, 7);
  EXPECT_EQ(line.drain(), "a b c ");
  EXPECT_TRUE(line.lanes.empty());
  EXPECT_EQ(line.lanes.bytes(), 0u);
}

TEST(Lanes, TheMoreUrgentGoesFirst) {
  Line line;
  line.push("late", 1, 3);
  line.push("soon", 1, 1);
  line.push("now", 9, 0);
  EXPECT_EQ(line.drain(), "now soon late ");
}

TEST(Lanes, ChannelsOfEqualPriorityTakeTurns) {
  Line line;
  for (const char* text : {"a1", "a2", "a3"}) line.push(text, 1);
  for (const char* text : {"b1", "b2"}) line.push(text, 2);
  EXPECT_EQ(line.drain(), "a1 b1 a2 b2 a3 ");
}

TEST(Lanes, WhatWasOfferedHoldsUpItsLaneAlone) {
  Line line;
  line.push("large", 1);
  line.push("behind", 1);
  line.push("beside", 2);
  Queued* large = line.offer(5);

  EXPECT_EQ(line.drain(), "beside ");
  EXPECT_EQ(line.lanes.find_waiting(6), nullptr);
  ASSERT_EQ(line.lanes.find_waiting(5), large);
  line.lanes.resume(large);
  EXPECT_EQ(line.drain(), "large behind ");
}

TEST(Lanes, AGrantedOneGivesWayAfterEachChunk) {
  Line line;
  line.push("large", 1);
  line.lanes.resume(line.offer(1));
  line.push("a", 2);
  line.push("b", 3);

  std::string order;
  for (int i = 0; i < 4; ++i) {
    Queued* queued = line.lanes.next(true, true);
    order += text_of(queued) + " ";
    queued->transfer ? line.lanes.yield(queued) : line.lanes.pop(queued);
  }

  EXPECT_EQ(order, "a large b large ");
}

TEST(Lanes, ManySmallOnesDoNotStarveALargeOneOfEqualPriority) {
  Line line;
  line.push("large", 1);
  line.lanes.resume(line.offer(1));
  int chunks = 0;
  for (int i = 0; i < 100; ++i) {
    line.push("small", 2);
    Queued* queued = line.lanes.next(true, true);
    chunks += queued->transfer ? 1 : 0;
    queued->transfer ? line.lanes.yield(queued) : line.lanes.pop(queued);
  }
  EXPECT_GE(chunks, 49);
}

TEST(Lanes, ChunksAndMessagesCanBeLeftOut) {
  Line line;
  line.push("large", 1, 0);
  line.lanes.resume(line.offer(1));
  line.push("small", 2, 3);

  EXPECT_EQ(text_of(line.lanes.next(true, false)), "small");
  EXPECT_EQ(text_of(line.lanes.next(false, true)), "large");
  EXPECT_EQ(line.lanes.next(false, false), nullptr);
}

TEST(Lanes, WhatIsDroppedComesBackWholeAndItsLaneGoesOn) {
  Line line;
  line.push("large", 1);
  line.push("behind", 1);
  Queued* large = line.offer(1);

  wire::Frame back;
  line.lanes.drop(large, back);

  EXPECT_EQ(back.head.size(), 5u);
  EXPECT_EQ(line.drain(), "behind ");
}

TEST(Lanes, AfterARestartEverythingBeginsAnewInOrder) {
  Line line;
  line.push("granted", 1);
  line.push("behind", 1);
  line.lanes.resume(line.offer(1));
  line.push("offered", 2, 0);
  line.offer(2);

  line.lanes.restart();

  EXPECT_EQ(line.drain(), "offered granted behind ");
}

// Against a naive model: a queue per lane, and for each priority a line of
// channels.
TEST(Lanes, AgreeWithAModelOnRandomTraffic) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    Line line;
    std::map<std::pair<int, std::uint32_t>, std::deque<std::string>> queues;
    std::map<int, std::deque<std::uint32_t>> turns;
    int next = 0;
    for (int step = 0; step < 500; ++step) {
      if (random() % 2 == 0) {
        const auto channel = static_cast<std::uint32_t>(random() % 40);
        const int priority = static_cast<int>(random() % 4);
        const std::string text = std::to_string(next++);
        line.push(text, channel, static_cast<std::uint8_t>(priority));
        auto& queue = queues[{priority, channel}];
        if (queue.empty()) turns[priority].push_back(channel);
        queue.push_back(text);
        continue;
      }
      Queued* queued = line.lanes.next(true, true);
      std::string expected = "none";
      for (int priority = 0; priority < 4 && expected == "none"; ++priority) {
        auto& turn = turns[priority];
        if (turn.empty()) continue;
        const std::uint32_t channel = turn.front();
        turn.pop_front();
        auto& queue = queues[{priority, channel}];
        expected = queue.front();
        queue.pop_front();
        if (!queue.empty()) turn.push_back(channel);
      }
      ASSERT_EQ(text_of(queued), expected) << "seed " << seed << " step " << step;
      if (queued != nullptr) line.lanes.pop(queued);
    }
  }
}

TEST(QueuedPool, HandsOutAgainWhatWasGivenBackWithoutItsBody) {
  QueuedPool pool;
  Queued* first = pool.take();
  first->frame = frame("x", 100);
  pool.give_back(first);

  Queued* second = pool.take();

  EXPECT_EQ(first, second);
  EXPECT_TRUE(second->frame.parts.empty());
  pool.give_back(second);
}

}  // namespace
}  // namespace muster::net

#include "muster/drivers/shm/ring.h"

#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace muster::drivers::shm {
namespace {

struct RingFixture : testing::Test {
  std::unique_ptr<RingHeader> header = std::make_unique<RingHeader>();
  std::unique_ptr<std::byte[]> data = std::make_unique<std::byte[]>(kRingCapacity);
  RingWriter writer{*header, data.get()};
  RingReader reader{*header, data.get()};

  // The next record's body, or nothing.
  std::optional<RingReader::Record> next() {
    RingReader::Record record;
    const RingReader::Found found = reader.next(record);
    EXPECT_NE(found, RingReader::Found::nonsense);
    return found == RingReader::Found::record ? std::optional(record) : std::nullopt;
  }

  bool put(std::uint16_t kind, std::size_t size, unsigned char fill) {
    std::byte* body = writer.begin(kind, 0, size);
    if (body == nullptr) return false;
    std::memset(body, fill, size);
    writer.commit();
    return true;
  }
};

using Ring = RingFixture;

TEST_F(Ring, NothingIsSeenBeforeItIsPublished) {
  ASSERT_TRUE(put(1, 8, 'a'));
  EXPECT_FALSE(next());
  writer.publish();
  const auto record = next();
  ASSERT_TRUE(record);
  EXPECT_EQ(record->kind, 1);
  EXPECT_EQ(record->body[0], std::byte{'a'});
}

TEST_F(Ring, OfABurstOnlyTheLastIsHeldBack) {
  ASSERT_TRUE(put(1, 8, 'a'));
  ASSERT_TRUE(put(2, 200, 'b'));
  const auto first = next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->kind, 1);
  reader.pop();
  EXPECT_FALSE(next());
  writer.publish();
  EXPECT_EQ(next().value().kind, 2);
}

TEST_F(Ring, PublishTellsWhetherTheReaderWantsToBeRung) {
  put(1, 8, 'a');
  EXPECT_FALSE(writer.publish());
  reader.arm();
  put(1, 8, 'b');
  EXPECT_TRUE(writer.publish());
}

TEST_F(Ring, CarriesRandomRecordsInOrderThroughManyLaps) {
  std::mt19937 random(11);
  std::deque<std::pair<std::size_t, unsigned char>> expected;
  std::size_t carried = 0;
  while (carried < 40 * kRingCapacity) {
    const std::size_t size =
        random() % 10 == 0 ? random() % RingWriter::kLargestBody : random() % 300;
    const auto fill = static_cast<unsigned char>(random());
    if (put(1, size, fill)) {
      expected.emplace_back(size, fill);
      carried += size;
    }
    writer.publish();
    const std::size_t takes = random() % 3;
    for (std::size_t i = 0; i < takes && !expected.empty(); ++i) {
      const auto record = next();
      ASSERT_TRUE(record);
      const auto [length, value] = expected.front();
      expected.pop_front();
      ASSERT_EQ(record->body.size(), aligned(length));
      if (length > 0) {
        ASSERT_EQ(record->body[0], std::byte{value});
        ASSERT_EQ(record->body[length - 1], std::byte{value});
      }
      reader.pop();
      if (random() % 2 == 0) reader.publish();
    }
  }
}

TEST_F(Ring, UsesLittleMemoryUntilItIsFull) {
  const std::byte untouched{0};
  for (int round = 0; round < 10'000; ++round) {
    ASSERT_TRUE(put(1, 100, 'x'));
    writer.publish();
    ASSERT_TRUE(next());
    reader.pop();
    reader.publish();
  }
  EXPECT_EQ(data[kRingFirstLimit + 4096], untouched);
  for (int lap = 0; lap < 20; ++lap) {
    while (put(1, 1000, 'y')) {
    }
    writer.publish();
    while (next()) reader.pop();
    reader.publish();
  }
  EXPECT_NE(data[kRingCapacity - 64 * 1024], untouched);
}

TEST_F(Ring, AWriterThatAskedForRoomIsToldOnceThereIs) {
  while (put(1, 1000, 'x')) {
  }
  writer.publish();
  EXPECT_FALSE(writer.ask_for_room(1000));
  std::size_t rung = 0;
  for (;;) {
    const auto record = next();
    if (!record) break;
    reader.pop();
    if (reader.is_behind_when_dry() && reader.publish()) ++rung;
  }
  EXPECT_EQ(rung, 1u);
  reader.publish();
  EXPECT_TRUE(put(1, 1000, 'x'));
}

// Whatever a hostile peer leaves in the shared memory, at any moment, the
// reader ends with an error or with bytes inside the ring.
TEST_F(Ring, HostileContentsNeverLeadOutside) {
  std::mt19937 random(5);
  for (int round = 0; round < 20'000; ++round) {
    RingReader fresh(*header, data.get());
    for (int step = 0; step < 8; ++step) {
      for (int i = 0; i < 24; ++i) {
        const RecordHeader word{
            static_cast<std::uint32_t>(random() % 2 == 0 ? random() % 128 * 8 : random()),
            static_cast<std::uint16_t>(random() % 3), 0};
        std::memcpy(data.get() + random() % 64 * kRecordStep, &word, sizeof word);
      }
      if (random() % 8 == 0) {
        const RecordHeader far{static_cast<std::uint32_t>(kRingCapacity - random() % 40 * 8), 1, 0};
        std::memcpy(data.get(), &far, sizeof far);
      }
      RingReader::Record record;
      const RingReader::Found found = fresh.next(record);
      if (found == RingReader::Found::nonsense) break;
      if (found == RingReader::Found::nothing) continue;
      const std::byte* begin = record.body.data();
      ASSERT_GE(begin, data.get());
      ASSERT_LE(begin + record.body.size(), data.get() + kRingCapacity);
      fresh.pop();
    }
  }
}

TEST_F(Ring, AHostileTailNeverLeadsTheWriterOutside) {
  std::mt19937 random(6);
  for (int round = 0; round < 50'000; ++round) {
    header->tail = random() % 3 == 0 ? random() : random() % kRingCapacity & ~7u;
    const std::size_t size = random() % 5000;
    std::byte* body = writer.begin(1, 0, size);
    if (body == nullptr) continue;
    ASSERT_GE(body, data.get());
    ASSERT_LE(body + size, data.get() + kRingCapacity);
    writer.commit();
  }
}

// Real threads, so that publishing before the data is there would show.
TEST_F(Ring, AReaderOnAnotherProcessorSeesWholeRecords) {
  constexpr std::uint64_t kCount = 300'000;
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < kCount;) {
      std::byte* body = writer.begin(1, 0, 64);
      if (body == nullptr) continue;
      for (int word = 0; word < 8; ++word) std::memcpy(body + 8 * word, &i, sizeof i);
      writer.commit();
      writer.publish();
      ++i;
    }
  });
  bool whole = true;
  for (std::uint64_t i = 0; i < kCount && whole;) {
    const auto record = next();
    if (!record) continue;
    for (int word = 0; word < 8; ++word) {
      whole = whole && std::memcmp(record->body.data() + 8 * word, &i, sizeof i) == 0;
    }
    reader.pop();
    reader.publish();
    ++i;
  }
  EXPECT_TRUE(whole);
  producer.join();
}

}  // namespace
}  // namespace muster::drivers::shm

#include "muster/arena/arena.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "muster/arena/shared_block.h"
#include "muster/arena/testing/traces.h"

namespace muster::arena {
namespace {

using testing::Traces;

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::unique_ptr<Arena> an_arena(ArenaOptions options = {.segment_size = kMiB}) {
  return *Arena::make(options);
}

// Where it lies, to be compared.
const std::byte* place_of(Arena& arena, std::size_t size) { return arena.allocate(size)->data(); }

TEST(Arena, MakesNoSegmentBeforeItIsAsked) {
  const Traces before = Traces::count();
  const auto arena = an_arena();
  EXPECT_EQ(Traces::count(), before);
  EXPECT_EQ(arena->counters().segments, 0u);
}

TEST(Arena, RefusesOptionsThatMakeNoSense) {
  EXPECT_EQ(Arena::make({.segment_size = 5 * kMiB}).error().code(), Code::invalid);
  EXPECT_EQ(Arena::make({.segment_size = 2048}).error().code(), Code::invalid);
  EXPECT_EQ(Arena::make({.segment_size = 0}).error().code(), Code::invalid);
}

TEST(Arena, GivesExactlyTheSizeAskedForAtEveryBoundary) {
  const auto arena = an_arena();
  for (std::size_t power = 0; power <= 23; ++power) {
    for (const std::size_t size :
         {(std::size_t{1} << power) - 1, std::size_t{1} << power, (std::size_t{1} << power) + 1}) {
      const WritableBuffer body = *arena->allocate(size);
      ASSERT_EQ(body.size(), size);
      if (size != 0) body.bytes().front() = body.bytes().back() = std::byte{1};
    }
  }
  EXPECT_EQ(arena->counters().bytes_in_use, 0u);
}

TEST(Arena, GivesMemoryThatPeersCanBeShown) {
  const auto arena = an_arena();
  WritableBuffer body = *arena->allocate(5);
  std::memcpy(body.data(), "hello", 5);
  const Buffer frozen = std::move(body).freeze();

  const SharedBlock* block = SharedBlock::of(frozen);

  ASSERT_NE(block, nullptr);
  EXPECT_GE(block->segment()->descriptor(), 0);
  EXPECT_GE(frozen.data(), block->segment()->base());
  EXPECT_LE(frozen.data() + 5, block->segment()->base() + block->segment()->size());
}

TEST(Arena, GivesTheSameMemoryAgain) {
  const auto arena = an_arena();
  const std::byte* first = place_of(*arena, 100'000);
  EXPECT_EQ(place_of(*arena, 70'000), first);
  // Another size class, but the same memory, warm.
  EXPECT_EQ(place_of(*arena, 5000), first);
  EXPECT_EQ(arena->counters().segments, 1u);
}

TEST(Arena, HandsOutFirstWhatWasLetGoLast) {
  const auto arena = an_arena();
  auto one = *arena->allocate(4096);
  auto two = *arena->allocate(4096);
  const std::byte* last = one.data();
  {
    const WritableBuffer gone = std::move(two);
  }
  {
    const WritableBuffer gone = std::move(one);
  }
  EXPECT_EQ(place_of(*arena, 4096), last);
}

TEST(Arena, TouchesOnlyWhatIsAskedFor) {
  const auto arena = an_arena({.segment_size = 64 * kMiB});
  const WritableBuffer body = *arena->allocate(33 * kMiB);
  EXPECT_EQ(arena->counters().bytes_touched, 33 * kMiB);
  EXPECT_EQ(arena->counters().bytes_in_use, 64 * kMiB);
}

TEST(Arena, CountsTouchedMemoryOnce) {
  const auto arena = an_arena();
  for (const std::size_t size : {10'000, 100'000, 5000, 200'000, 100'000}) {
    ASSERT_TRUE(arena->allocate(size));
  }
  EXPECT_EQ(arena->counters().bytes_touched, 49u * 4096);
}

TEST(Arena, JoinsFreedBlocksIntoALargeOne) {
  const auto arena = an_arena({.segment_size = kMiB, .limit = kMiB});
  std::vector<WritableBuffer> bodies;
  for (int i = 0; i < 256; ++i) bodies.push_back(*arena->allocate(4096));
  EXPECT_EQ(arena->allocate(1).error().code(), Code::overloaded);

  bodies.clear();

  EXPECT_TRUE(arena->allocate(kMiB));
  EXPECT_EQ(arena->counters().segments, 1u);
}

TEST(Arena, SaysOverloadedAtItsLimitAndRecovers) {
  const auto arena = an_arena({.segment_size = kMiB, .limit = 2 * kMiB});
  auto one = *arena->allocate(kMiB);
  auto two = *arena->allocate(kMiB);

  EXPECT_EQ(arena->allocate(1).error().code(), Code::overloaded);
  EXPECT_EQ(arena->allocate(16 * kMiB).error().code(), Code::overloaded);
  EXPECT_EQ(arena->allocate(SIZE_MAX).error().code(), Code::overloaded);
  EXPECT_EQ(arena->allocate(SIZE_MAX / 2).error().code(), Code::overloaded);
  {
    const WritableBuffer gone = std::move(one);
  }

  EXPECT_TRUE(arena->allocate(1));
}

TEST(Arena, GivesIdleSegmentsUpBeforeItSaysOverloaded) {
  const auto arena = an_arena({.segment_size = kMiB, .limit = 4 * kMiB});
  {
    const WritableBuffer small = *arena->allocate(1);
  }

  EXPECT_TRUE(arena->allocate(4 * kMiB));
}

TEST(Arena, KeepsALargeSegmentForTheNextLargeBody) {
  const auto arena = an_arena();
  const std::byte* first = place_of(*arena, 5 * kMiB);

  const WritableBuffer small = *arena->allocate(1000);
  EXPECT_EQ(place_of(*arena, 6 * kMiB), first);

  EXPECT_EQ(arena->counters().segments, 2u);
  EXPECT_EQ(arena->counters().bytes_mapped, 9 * kMiB);
}

TEST(Arena, KeepsNoMoreIdleThanItsLimit) {
  const Traces before = Traces::count();
  const auto arena = an_arena({.segment_size = kMiB, .idle_limit = 3 * kMiB});
  std::vector<WritableBuffer> bodies;
  for (int i = 0; i < 8; ++i) bodies.push_back(*arena->allocate(kMiB));
  bodies.push_back(*arena->allocate(8 * kMiB));

  bodies.clear();

  EXPECT_LE(arena->counters().bytes_touched, 3 * kMiB);
  EXPECT_LE(arena->counters().segments, 3u);
  EXPECT_EQ(Traces::count().mappings, before.mappings + arena->counters().segments);
}

TEST(Arena, MayGoBeforeItsBuffers) {
  const Traces before = Traces::count();
  auto arena = an_arena();
  auto body = *arena->allocate(1000);
  auto other = *arena->allocate(3 * kMiB);
  ASSERT_TRUE(arena->allocate(5 * kMiB));

  arena.reset();
  std::memset(body.data(), 1, body.size());
  std::memset(other.data(), 2, other.size());
  EXPECT_EQ(Traces::count().mappings, before.mappings + 2);
  {
    const WritableBuffer gone = std::move(body);
  }
  {
    const WritableBuffer gone = std::move(other);
  }

  EXPECT_EQ(Traces::count(), before);
}

// The oracle: which places are taken, as plain intervals.
TEST(Arena, NeverHandsOutTheSameByteTwiceUnderRandomUse) {
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto arena = an_arena({.segment_size = kMiB, .limit = 16 * kMiB, .idle_limit = 4 * kMiB});
    std::vector<WritableBuffer> bodies;
    std::map<const std::byte*, std::size_t> taken;
    for (int step = 0; step < 2000; ++step) {
      const bool grows = random() % 100 < (step / 300 % 2 == 0 ? 65u : 35u);
      if (grows) {
        const std::size_t size = 1 + random() % (std::size_t{1} << (random() % 22));
        auto body = arena->allocate(size);
        if (!body) {
          ASSERT_EQ(body.error().code(), Code::overloaded);
          continue;
        }
        const auto after = taken.upper_bound(body->data());
        if (after != taken.end()) {
          ASSERT_LE(body->data() + size, after->first);
        }
        if (after != taken.begin()) {
          const auto& [place, length] = *std::prev(after);
          ASSERT_LE(place + length, body->data());
        }
        taken.emplace(body->data(), size);
        body->bytes().front() = body->bytes().back() = std::byte{1};
        bodies.push_back(*std::move(body));
      } else if (!bodies.empty()) {
        std::swap(bodies[random() % bodies.size()], bodies.back());
        taken.erase(bodies.back().data());
        bodies.pop_back();
      }
      ASSERT_EQ(arena->counters().blocks, bodies.size());
    }
    bodies.clear();
    EXPECT_EQ(arena->counters().bytes_in_use, 0u);
    EXPECT_LE(arena->counters().bytes_touched, 4 * kMiB);
    // All has joined again: as many whole segments fit as the limit allows.
    for (int i = 0; i < 16; ++i) bodies.push_back(*arena->allocate(kMiB));
    EXPECT_EQ(arena->counters().bytes_mapped, 16 * kMiB);
  }
}

// Each thread fills what it gets, hands half of it to the next thread, and
// whoever lets go looks first whether the bytes are still its own.
TEST(Arena, ServesManyThreadsAtOnce) {
  constexpr int kThreads = 4;
  struct Shelf {
    std::mutex mutex;
    std::vector<std::pair<Buffer, std::byte>> bodies;
  };
  const Traces before = Traces::count();
  {
    const auto arena = an_arena({.segment_size = kMiB, .limit = 32 * kMiB, .idle_limit = 2 * kMiB});
    std::array<Shelf, kThreads> shelves;
    std::atomic<int> wrong{0};
    const auto look = [&wrong](const Buffer& body, std::byte mark) {
      const auto is_mark = [mark](std::byte byte) { return byte == mark; };
      if (!std::all_of(body.data(), body.data() + body.size(), is_mark)) wrong.fetch_add(1);
    };
    std::vector<std::thread> threads;
    for (int self = 0; self < kThreads; ++self) {
      threads.emplace_back([&, self] {
        std::mt19937 random(static_cast<std::uint32_t>(self));
        for (int step = 0; step < 1000; ++step) {
          auto body = arena->allocate(1 + random() % (step % 50 == 0 ? 3 * kMiB : 20'000));
          if (body) {
            const auto mark = static_cast<std::byte>(random() % 256);
            std::memset(body->data(), static_cast<int>(mark), body->size());
            Shelf& next = shelves[static_cast<std::size_t>(self + 1) % kThreads];
            const std::lock_guard lock(next.mutex);
            next.bodies.emplace_back((*std::move(body)).freeze(), mark);
          }
          std::vector<std::pair<Buffer, std::byte>> mine;
          if (step % 8 == 0) {
            const std::lock_guard lock(shelves[static_cast<std::size_t>(self)].mutex);
            mine.swap(shelves[static_cast<std::size_t>(self)].bodies);
          }
          for (const auto& [bytes, mark] : mine) look(bytes, mark);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (Shelf& shelf : shelves) {
      for (const auto& [bytes, mark] : shelf.bodies) look(bytes, mark);
      shelf.bodies.clear();
    }
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(arena->counters().blocks, 0u);
    EXPECT_EQ(arena->counters().bytes_in_use, 0u);
  }
  EXPECT_EQ(Traces::count(), before);
}

TEST(Arena, MayGoWhileOtherThreadsLetGo) {
  const Traces before = Traces::count();
  for (int round = 0; round < 100; ++round) {
    auto arena = an_arena();
    std::vector<WritableBuffer> bodies;
    for (int i = 0; i < 8; ++i) bodies.push_back(*arena->allocate(4096));
    std::atomic<bool> go{false};
    std::thread other([&] {
      while (!go.load()) std::this_thread::yield();
      bodies.clear();
    });
    go.store(true);
    arena.reset();
    other.join();
  }
  EXPECT_EQ(Traces::count(), before);
}

}  // namespace
}  // namespace muster::arena

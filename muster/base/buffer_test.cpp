#include "muster/base/buffer.h"

#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "muster/base/buffer_pool.h"

namespace muster {
namespace {

TEST(Buffer, SlicesShareTheOwnerAndOutliveTheWhole) {
  Buffer slice;
  {
    const Buffer whole = Buffer::copy_of("hello world");
    slice = whole.slice(6);
  }
  EXPECT_EQ(slice.text(), "world");
}

TEST(Buffer, SlicesAreCutToWhatThereIs) {
  const Buffer whole = Buffer::copy_of("abc");
  EXPECT_EQ(whole.slice(2, 100).text(), "c");
  EXPECT_TRUE(whole.slice(100).empty());
}

TEST(Buffer, LetsItsKeeperGoWithTheLastCopy) {
  auto keeper = std::make_shared<int>(7);
  const std::weak_ptr<int> watch = keeper;
  {
    const Buffer first = Buffer::keep(std::as_bytes(std::span(keeper.get(), 1)), keeper);
    keeper.reset();
    const Buffer second = first;
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Buffer, AssigningToItselfKeepsTheBytes) {
  Buffer buffer = Buffer::copy_of("stay");
  const Buffer& same = buffer;
  buffer = same;
  EXPECT_EQ(buffer.text(), "stay");
}

TEST(WritableBuffer, FreezesOnlyWhatWasFilled) {
  WritableBuffer out = WritableBuffer::on_heap(16);
  std::memcpy(out.data(), "four", 4);
  EXPECT_EQ(std::move(out).freeze(4).text(), "four");
}

TEST(BufferPool, GivesTheSameMemoryAgain) {
  BufferPool pool;
  const std::byte* first = pool.take(1000).data();
  EXPECT_EQ(pool.take(900).data(), first);
}

TEST(BufferPool, GivesExactlyTheSizeAskedForAtEveryClassBoundary) {
  BufferPool pool;
  for (std::size_t power = 5; power <= 25; ++power) {
    for (const std::size_t delta : {std::size_t{0}, std::size_t{1}}) {
      for (const std::size_t quarter : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
        const std::size_t base = std::size_t{1} << power;
        const std::size_t size = base + quarter * base / 4 + delta;
        WritableBuffer buffer = pool.take(size);
        ASSERT_EQ(buffer.size(), size);
        buffer.bytes().front() = std::byte{1};
        buffer.bytes().back() = std::byte{2};
      }
    }
  }
}

TEST(BufferPool, KeepsNoMoreIdleThanItsLimit) {
  BufferPool pool(10'000);
  std::vector<WritableBuffer> taken;
  for (int i = 0; i < 100; ++i) taken.push_back(pool.take(1024));
  taken.clear();
  EXPECT_LE(pool.idle(), 10'000u);
}

TEST(BufferPool, BuffersOutliveIt) {
  Buffer survivor;
  {
    BufferPool pool;
    WritableBuffer out = pool.take(1000);
    std::memcpy(out.data(), "survivor", 8);
    survivor = std::move(out).freeze(8);
  }
  EXPECT_EQ(survivor.text(), "survivor");
}

TEST(BufferPool, TakesBackWhatOtherThreadsLetGo) {
  BufferPool pool;
  for (int round = 0; round < 1000; ++round) {
    Buffer buffer =
        pool.take(300).owner() != nullptr ? std::move(pool.take(300)).freeze() : Buffer();
    std::thread([moved = std::move(buffer)] {}).join();
  }
  EXPECT_LE(pool.idle(), 4096u);
}

}  // namespace
}  // namespace muster

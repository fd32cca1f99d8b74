#include "muster/base/small_block.h"

#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(SmallBlock, HasAsManyBytesAsWereAskedFor) {
  for (std::size_t size = 0; size <= kSmallBlock; ++size) {
    WritableBuffer block = take_small_block(size);
    EXPECT_EQ(block.size(), size);
    std::memset(block.data(), 0xEE, size);
  }
}

TEST(SmallBlock, NoTwoThatAreInUseShareMemory) {
  std::vector<WritableBuffer> blocks;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2000; ++i) {
      blocks.push_back(take_small_block(sizeof i));
      std::memcpy(blocks.back().data(), &i, sizeof i);
    }
    for (int i = 0; i < 2000; ++i) {
      EXPECT_EQ(std::memcmp(blocks[i].data(), &i, sizeof i), 0);
    }
    blocks.clear();
  }
}

TEST(SmallBlock, MayBeLetGoOnAnotherThreadWhichThenEnds) {
  for (int round = 0; round < 100; ++round) {
    std::vector<Buffer> blocks;
    for (int i = 0; i < 20; ++i) blocks.push_back(take_small_block(100).freeze());
    std::thread([moved = std::move(blocks)]() mutable {
      moved.clear();
      const WritableBuffer own = take_small_block(7);
      EXPECT_EQ(own.size(), 7u);
    }).join();
  }
}

// Destroyed after the thread's own list: a thread_local made before it.
TEST(SmallBlock, MayBeLetGoWhileItsThreadEnds) {
  std::thread([] {
    static thread_local Buffer late;
    late = take_small_block(10).freeze();
    take_small_block(10);
  }).join();
}

}  // namespace
}  // namespace muster

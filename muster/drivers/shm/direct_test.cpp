#include "muster/drivers/shm/direct.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "muster/drivers/shm/streaming_copy.h"

namespace muster::drivers::shm {
namespace {

std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = std::byte(i * 31 >> 3);
  return bytes;
}

struct DirectCopy : testing::Test {
  DirectCell cell;
  std::vector<std::byte> source = pattern(3 * kPiece + 17);
  std::vector<std::byte> target = std::vector<std::byte>(source.size());
  DirectOffer offer{cell, Buffer(source, nullptr)};
  DirectFetch start() {
    return DirectFetch(cell, reinterpret_cast<std::uint64_t>(source.data()), target.data(),
                       source.size());
  }
};

TEST_F(DirectCopy, BothSidesTogetherCopyAllOnce) {
  DirectFetch fetch = start();
  EXPECT_TRUE(*offer.help(getpid()));
  EXPECT_TRUE(*fetch.fetch(getpid()));
  EXPECT_TRUE(*offer.help(getpid()));
  EXPECT_FALSE(fetch.is_complete());
  EXPECT_TRUE(*fetch.fetch(getpid()));
  EXPECT_TRUE(fetch.is_complete());
  EXPECT_FALSE(*fetch.fetch(getpid()));
  EXPECT_FALSE(*offer.help(getpid()));
  EXPECT_TRUE(fetch.finish());
  EXPECT_TRUE(offer.is_done());
  EXPECT_EQ(target, source);
}

TEST_F(DirectCopy, TheWriterCannotHelpBeforeItKnowsWhere) { EXPECT_FALSE(*offer.help(getpid())); }

TEST_F(DirectCopy, WhatWasWithdrawnMeanwhileIsWorthNothing) {
  DirectFetch fetch = start();
  while (!fetch.is_complete()) ASSERT_TRUE(*fetch.fetch(getpid()));
  offer.withdraw();
  EXPECT_FALSE(fetch.finish());
}

TEST_F(DirectCopy, AnAbandonedCopyLetsTheWriterStartNoMore) {
  DirectFetch fetch = start();
  EXPECT_TRUE(*fetch.fetch(getpid()));
  EXPECT_FALSE(fetch.abandon());
  EXPECT_FALSE(*offer.help(getpid()));
}

TEST_F(DirectCopy, AnAbandonedCopyRemembersThePieceThatTheWriterHasStarted) {
  DirectFetch fetch = start();
  cell.taken.fetch_add(1);  // The writer has taken one and not finished it.
  EXPECT_TRUE(fetch.abandon());
}

TEST_F(DirectCopy, MemoryThatIsNotThereIsAnError) {
  DirectFetch fetch(cell, 4096, target.data(), target.size());
  EXPECT_EQ(fetch.fetch(getpid()).error().code(), Code::unavailable);
}

TEST(StreamingCopy, CopiesExactlyAtEveryAlignment) {
  const std::vector<std::byte> from = pattern(20'000);
  for (std::size_t lead = 0; lead < 40; ++lead) {
    for (const std::size_t size : {0, 1, 100, 4095, 4096, 4097, 8191, 19'000}) {
      std::vector<std::byte> to(20'100, std::byte{0xEE});
      streaming_copy(to.data() + lead, from.data() + lead / 2, size);
      ASSERT_EQ(std::memcmp(to.data() + lead, from.data() + lead / 2, size), 0);
      ASSERT_EQ(to[lead + size], std::byte{0xEE});
      if (lead > 0) {
        ASSERT_EQ(to[lead - 1], std::byte{0xEE});
      }
    }
  }
}

}  // namespace
}  // namespace muster::drivers::shm

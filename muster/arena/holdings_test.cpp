#include "muster/arena/holdings.h"

#include <map>
#include <memory>
#include <random>

#include <gtest/gtest.h>

namespace muster::arena {
namespace {

// A Buffer that lets one see when it goes.
struct Watched {
  std::shared_ptr<int> keeper = std::make_shared<int>(0);
  Buffer buffer = Buffer::keep(std::as_bytes(std::span(keeper.get(), 1)), keeper);
  std::weak_ptr<int> watch = keeper;

  Buffer hand_over() {
    keeper.reset();
    return std::move(buffer);
  }
};

TEST(Holdings, KeepABufferUntilItsHandleComesBack) {
  Holdings holdings;
  Watched body;

  const std::uint64_t handle = holdings.add(body.hand_over());
  EXPECT_FALSE(body.watch.expired());
  EXPECT_EQ(holdings.count(), 1u);
  EXPECT_EQ(holdings.bytes(), sizeof(int));

  EXPECT_TRUE(holdings.release(handle));
  EXPECT_TRUE(body.watch.expired());
  EXPECT_EQ(holdings.count(), 0u);
  EXPECT_EQ(holdings.bytes(), 0u);
}

TEST(Holdings, RefuseASecondRelease) {
  Holdings holdings;
  const std::uint64_t handle = holdings.add(Buffer::copy_of("once"));
  ASSERT_TRUE(holdings.release(handle));

  EXPECT_EQ(holdings.release(handle).error().code(), Code::invalid);
}

TEST(Holdings, RefuseAStaleHandleWhoseNumberIsInUseAgain) {
  Holdings holdings;
  const std::uint64_t old = holdings.add(Buffer::copy_of("old"));
  ASSERT_TRUE(holdings.release(old));
  const std::uint64_t recent = holdings.add(Buffer::copy_of("recent"));
  ASSERT_EQ(static_cast<std::uint32_t>(old), static_cast<std::uint32_t>(recent));

  EXPECT_EQ(holdings.release(old).error().code(), Code::invalid);
  EXPECT_TRUE(holdings.release(recent));
}

TEST(Holdings, RefuseWhatWasNeverGivenOut) {
  Holdings holdings;
  for (const std::uint64_t handle : {std::uint64_t{0}, std::uint64_t{7}, UINT64_MAX}) {
    EXPECT_EQ(holdings.release(handle).error().code(), Code::invalid);
  }
  const std::uint64_t handle = holdings.add(Buffer::copy_of("one"));
  EXPECT_FALSE(holdings.release(handle + (std::uint64_t{1} << 32)));
  EXPECT_FALSE(holdings.release(handle + 1));
  EXPECT_EQ(holdings.count(), 1u);
}

TEST(Holdings, LetGoOfEverythingAtTheEndAndKnowNoOldHandleAfterwards) {
  Holdings holdings;
  Watched first;
  Watched second;
  const std::uint64_t one = holdings.add(first.hand_over());
  const std::uint64_t two = holdings.add(second.hand_over());
  ASSERT_TRUE(holdings.release(one));

  holdings.clear();

  EXPECT_TRUE(second.watch.expired());
  EXPECT_EQ(holdings.count(), 0u);
  EXPECT_EQ(holdings.bytes(), 0u);
  EXPECT_FALSE(holdings.release(two));
  EXPECT_TRUE(holdings.release(holdings.add(Buffer::copy_of("again"))));
}

TEST(Holdings, UseSmallNumbersAgain) {
  Holdings holdings;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t one = holdings.add(Buffer::copy_of("a"));
    const std::uint64_t two = holdings.add(Buffer::copy_of("b"));
    EXPECT_LT(static_cast<std::uint32_t>(one), 2u);
    EXPECT_LT(static_cast<std::uint32_t>(two), 2u);
    ASSERT_TRUE(holdings.release(one));
    ASSERT_TRUE(holdings.release(two));
  }
}

TEST(Holdings, AgreeWithAMapUnderRandomUse) {
  std::mt19937_64 random(1);
  Holdings holdings;
  std::map<std::uint64_t, std::size_t> model;
  std::vector<std::uint64_t> seen;
  const Buffer body = Buffer::copy_of("0123456789");
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2 == 0) {
      const std::size_t size = random() % 10;
      const std::uint64_t handle = holdings.add(body.slice(0, size));
      ASSERT_TRUE(model.emplace(handle, size).second);
      seen.push_back(handle);
    } else if (!seen.empty()) {
      const std::uint64_t handle = seen[random() % seen.size()];
      ASSERT_EQ(holdings.release(handle).has_value(), model.erase(handle) == 1);
    }
    if (step % 5000 == 4999) {
      holdings.clear();
      model.clear();
    }
    ASSERT_EQ(holdings.count(), model.size());
  }
}

}  // namespace
}  // namespace muster::arena

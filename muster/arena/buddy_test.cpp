#include "muster/arena/buddy.h"

#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace muster::arena {
namespace {

struct Taken {
  std::uint32_t unit;
  int order;
};

TEST(Buddy, GivesTheWholeOnceAndOnlyOnce) {
  Buddy buddy(4);

  EXPECT_EQ(buddy.take(4), 0u);
  EXPECT_EQ(buddy.take(4), std::nullopt);
  EXPECT_EQ(buddy.take(0), std::nullopt);
  buddy.give(0, 4);
  EXPECT_TRUE(buddy.is_all_free());
}

TEST(Buddy, HasNothingLargerThanTheWhole) {
  Buddy buddy(3);
  EXPECT_EQ(buddy.take(4), std::nullopt);
}

TEST(Buddy, OfOneUnitWorksToo) {
  Buddy buddy(0);
  EXPECT_EQ(buddy.take(0), 0u);
  EXPECT_FALSE(buddy.has(0));
  buddy.give(0, 0);
  EXPECT_TRUE(buddy.is_all_free());
}

TEST(Buddy, TakesTheSmallestBlockThatWillDoAndTheFirstOfThose) {
  Buddy buddy(4);
  const std::uint32_t first = *buddy.take(0);
  const std::uint32_t second = *buddy.take(0);
  EXPECT_EQ(second, first + 1);

  buddy.give(first, 0);

  EXPECT_EQ(buddy.take(1), 2u);
  EXPECT_EQ(buddy.take(0), first);
}

TEST(Buddy, JoinsNeighboursInAnyOrder) {
  Buddy buddy(2);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(buddy.take(0));
  for (const std::uint32_t unit : {2u, 0u, 3u, 1u}) buddy.give(unit, 0);
  EXPECT_TRUE(buddy.is_all_free());
}

TEST(BuddyDeathTest, ABlockGivenBackTwiceIsABug) {
  Buddy buddy(2);
  const std::uint32_t unit = *buddy.take(0);
  const std::uint32_t other = *buddy.take(0);
  buddy.give(unit, 0);
  EXPECT_DEATH(buddy.give(unit, 0), "");
  buddy.give(other, 0);
}

// The oracle: for each unit whether it is taken, and nothing else.
class NaiveModel {
 public:
  explicit NaiveModel(int top_order) : taken_(std::size_t{1} << top_order) {}

  bool could_take(int order) const {
    const std::size_t size = std::size_t{1} << order;
    for (std::size_t unit = 0; unit < taken_.size(); unit += size) {
      if (is_free(unit, size)) return true;
    }
    return false;
  }
  bool is_free(std::size_t unit, std::size_t size) const {
    for (std::size_t i = unit; i < unit + size; ++i) {
      if (taken_[i]) return false;
    }
    return true;
  }
  void set(std::size_t unit, std::size_t size, bool taken) {
    for (std::size_t i = unit; i < unit + size; ++i) taken_[i] = taken;
  }

 private:
  std::vector<bool> taken_;
};

TEST(Buddy, AgreesWithANaiveModelUnderRandomUse) {
  constexpr int kTop = 9;
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Buddy buddy(kTop);
    NaiveModel model(kTop);
    std::vector<Taken> taken;
    for (int step = 0; step < 2000; ++step) {
      // Phases of growth and of shrinking, so that it fills and empties.
      const bool grows = random() % 100 < (step / 250 % 2 == 0 ? 70u : 30u);
      if (grows || taken.empty()) {
        const int order = static_cast<int>(random() % (random() % kTop + 1));
        const bool expected = model.could_take(order);
        ASSERT_EQ(buddy.has(order), expected);
        const auto unit = buddy.take(order);
        ASSERT_EQ(unit.has_value(), expected);
        if (!unit) continue;
        ASSERT_EQ(*unit % (1u << order), 0u);
        ASSERT_TRUE(model.is_free(*unit, std::size_t{1} << order));
        model.set(*unit, std::size_t{1} << order, true);
        taken.push_back({*unit, order});
      } else {
        std::swap(taken[random() % taken.size()], taken.back());
        const Taken gone = taken.back();
        taken.pop_back();
        buddy.give(gone.unit, gone.order);
        model.set(gone.unit, std::size_t{1} << gone.order, false);
      }
    }
    for (const Taken& block : taken) buddy.give(block.unit, block.order);
    ASSERT_TRUE(buddy.is_all_free());
  }
}

}  // namespace
}  // namespace muster::arena

#include "muster/loop/doorbell.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "muster/loop/testing/model.h"

namespace muster::loop {
namespace {

using testing::explore;
using testing::ModelEnv;
using testing::Outcome;
using testing::Program;
using Word = ModelEnv::Atomic<std::uint32_t>;

// What can be wrong with it.
struct Mistakes {
  bool no_second_look = false;
  bool index_not_full = false;
  bool arm_not_full = false;
};

// The word's neighbourhood: a ring index per producer, and the eventfd.
struct World {
  explicit World(int producers) : index(producers), seen(producers, 0) {
    for (auto& word : index) word = std::make_unique<Word>(0);
    name_all();
  }
  void name_all() {
    testing::name(bell, "parked");
    testing::name(eventfd, "eventfd");
    for (std::size_t i = 0; i < index.size(); ++i) {
      testing::name(*index[i], "index" + std::to_string(i));
    }
  }

  BasicDoorbell<ModelEnv> bell;
  Word unordered_bell{0};  // For the mistake of a parked word that is not stored in full.
  testing::ModelEvent eventfd;
  std::vector<std::unique_ptr<Word>> index;
  std::vector<std::uint32_t> seen;
  int rings = 0;
  int arms = 0;
};

bool look(World& world) {
  bool found = false;
  for (std::size_t i = 0; i < world.index.size(); ++i) {
    const std::uint32_t now = world.index[i]->load(std::memory_order_seq_cst);
    found |= now != world.seen[i];
    world.seen[i] = now;
  }
  return found;
}

std::uint32_t total(const World& world) {
  std::uint32_t sum = 0;
  for (const std::uint32_t seen : world.seen) sum += seen;
  return sum;
}

void arm(World& world, const Mistakes& mistakes) {
  ++world.arms;
  if (mistakes.arm_not_full) {
    world.unordered_bell.store(1, std::memory_order_release);
  } else {
    world.bell.arm();
  }
}

// Until all of `expected` is seen.
void consume(World& world, std::uint32_t expected, const Mistakes& mistakes) {
  for (;;) {
    look(world);
    if (total(world) == expected) return;
    arm(world, mistakes);
    if (mistakes.no_second_look || !look(world)) {
      world.eventfd.await();
    }
    if (!mistakes.arm_not_full) world.bell.disarm();
    if (mistakes.arm_not_full) world.unordered_bell.store(0, std::memory_order_relaxed);
  }
}

bool must_ring(World& world, const Mistakes& mistakes) {
  if (mistakes.arm_not_full) return world.unordered_bell.exchange(0) != 0;
  return world.bell.must_ring();
}

void produce(World& world, std::size_t me, int count, const Mistakes& mistakes) {
  for (int i = 1; i <= count; ++i) {
    world.index[me]->store(
        i, mistakes.index_not_full ? std::memory_order_release : std::memory_order_seq_cst);
    if (!must_ring(world, mistakes)) continue;
    ++world.rings;
    world.eventfd.set();
  }
}

Outcome play(int producers, int each, Mistakes mistakes = {}) {
  const auto make = [=] {
    auto world = std::make_shared<World>(producers);
    const auto expected = static_cast<std::uint32_t>(producers * each);
    Program program{{[=] { consume(*world, expected, mistakes); }}, nullptr};
    for (int i = 0; i < producers; ++i) {
      program.threads.push_back([=] { produce(*world, i, each, mistakes); });
    }
    program.finally = [=] {
      testing::expect(world->rings <= world->arms, "at most one ring for each sleep");
    };
    program.digest = [=] { return world->arms * 10 + world->rings; };
    return program;
  };
  return explore(make, {.store_buffers = true});
}

TEST(Doorbell, WakesTheConsumerUnderEveryInterleavingOfTwoProducers) {
  const Outcome outcome = play(2, 1);
  EXPECT_TRUE(outcome.is_ok) << outcome.transcript;
  RecordProperty("runs", std::to_string(outcome.runs));
}

TEST(Doorbell, WakesTheConsumerUnderEveryInterleavingOfAStream) {
  const Outcome outcome = play(1, 2);
  EXPECT_TRUE(outcome.is_ok) << outcome.transcript;
  RecordProperty("runs", std::to_string(outcome.runs));
}

TEST(Doorbell, NeedsTheSecondLook) {
  const Outcome outcome = play(1, 1, {.no_second_look = true});
  EXPECT_FALSE(outcome.is_ok);
  EXPECT_EQ(outcome.transcript.substr(0, 18), "deadlock: thread 0");
}

TEST(Doorbell, NeedsAnIndexThatIsPublishedInFull) {
  const Outcome outcome = play(1, 1, {.index_not_full = true});
  EXPECT_FALSE(outcome.is_ok);
  EXPECT_EQ(outcome.transcript.substr(0, 18), "deadlock: thread 0");
}

TEST(Doorbell, NeedsAParkedWordThatIsStoredInFull) {
  EXPECT_FALSE(play(1, 1, {.arm_not_full = true}).is_ok);
}

TEST(Doorbell, RingsOncePerSleep) {
  Doorbell bell;
  EXPECT_FALSE(bell.must_ring());
  bell.arm();
  EXPECT_TRUE(bell.must_ring());
  EXPECT_FALSE(bell.must_ring());
  bell.arm();
  bell.disarm();
  EXPECT_FALSE(bell.must_ring());
}

}  // namespace
}  // namespace muster::loop

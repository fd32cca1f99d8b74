// Does the model checker find what it is for?

#include "muster/loop/testing/model.h"

#include <memory>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace muster::loop::testing {
namespace {

using Word = ModelEnv::Atomic<std::uint32_t>;

TEST(Model, FindsALostUpdate) {
  const auto make = [] {
    auto count = std::make_shared<Word>(0);
    name(*count, "count");
    const auto add = [count] { count->store(count->load() + 1); };
    return Program{{add, add}, [count] { expect(count->load() == 2, "an update was lost"); }};
  };

  const Outcome outcome = explore(make);

  EXPECT_FALSE(outcome.is_ok);
  EXPECT_EQ(outcome.transcript.substr(0, 19), "an update was lost\n");
  EXPECT_NE(outcome.transcript.find("count store (full) 0 -> 1"), std::string::npos)
      << outcome.transcript;
}

TEST(Model, GoesThroughEveryOrderOfDependentAccesses) {
  // Three threads with two additions each: 6! / (2! 2! 2!) orders.
  const auto make = [] {
    auto count = std::make_shared<Word>(0);
    const auto add = [count] {
      count->fetch_add(1);
      count->fetch_add(1);
    };
    return Program{{add, add, add}, [count] { expect(count->load() == 6, "all counted"); }};
  };

  EXPECT_EQ(explore(make).runs, 90u);
}

TEST(Model, LeavesOutOrdersThatMakeNoDifference) {
  const auto make = [] {
    auto mine = std::make_shared<Word>(0);
    auto yours = std::make_shared<Word>(0);
    const auto add = [](const std::shared_ptr<Word>& word) {
      for (int i = 0; i < 8; ++i) word->fetch_add(1);
    };
    return Program{{[=] { add(mine); }, [=] { add(yours); }}, nullptr};
  };

  EXPECT_LE(explore(make).runs, 10u);  // Of 12,870.
}

TEST(Model, FindsALostWakeUp) {
  // The flag is looked at, and only then the sleep begins.
  const auto make = [] {
    auto flag = std::make_shared<Word>(0);
    auto bed = std::make_shared<Word>(0);
    return Program{{[=] {
                      if (flag->load() == 0) ModelEnv::wait(*bed, 0);
                    },
                    [=] {
                      flag->store(1);
                      ModelEnv::wake_one(*bed);
                    }},
                   nullptr};
  };

  const Outcome outcome = explore(make);

  EXPECT_FALSE(outcome.is_ok);
  EXPECT_EQ(outcome.transcript.substr(0, 18), "deadlock: thread 0");
}

// Dekker: each stores its own flag, then reads the other's. With store buffers
// both can read 0 unless the stores are full.
Outcome dekker(std::memory_order order, bool store_buffers) {
  const auto make = [order] {
    struct State {
      Word flag[2];
      std::uint32_t seen[2] = {9, 9};
    };
    auto state = std::make_shared<State>();
    const auto enter = [state, order](int me) {
      state->flag[me].store(1, order);
      state->seen[me] = state->flag[1 - me].load();
    };
    return Program{{[=] { enter(0); }, [=] { enter(1); }},
                   [=] { expect(state->seen[0] + state->seen[1] > 0, "both went in"); }};
  };
  return explore(make, {.store_buffers = store_buffers});
}

TEST(Model, DelaysStoresThatAreNotFull) {
  EXPECT_TRUE(dekker(std::memory_order_release, false).is_ok);
  EXPECT_FALSE(dekker(std::memory_order_release, true).is_ok);
  EXPECT_TRUE(dekker(std::memory_order_seq_cst, true).is_ok);
}

TEST(Model, AThreadSeesItsOwnStoresAtOnce) {
  const auto make = [] {
    auto word = std::make_shared<Word>(0);
    return Program{{[=] {
                      word->store(1, std::memory_order_relaxed);
                      expect(word->load() == 1, "sees its own store");
                    },
                    [=] { word->load(); }},
                   [=] { expect(word->load() == 1, "the store lands in the end"); }};
  };

  EXPECT_TRUE(explore(make, {.store_buffers = true}).is_ok);
}

TEST(Model, TriesEachSleeperThatAWakeUpMayReach) {
  const auto make = [] {
    struct State {
      Word bed;
      Word first{9};
    };
    auto state = std::make_shared<State>();
    const auto sleep = [state](std::uint32_t me) {
      ModelEnv::wait(state->bed, 0);
      std::uint32_t nobody = 9;
      state->first.compare_exchange_strong(nobody, me);
      state->bed.store(1);
      ModelEnv::wake_one(state->bed);
    };
    return Program{{[=] { sleep(0); }, [=] { sleep(1); }, [=] { ModelEnv::wake_one(state->bed); }},
                   [=] { expect(state->first.load() == 0, "thread 1 was first"); }};
  };

  // Either the last thread's wake-up comes too early (a deadlock), or it may reach thread 1.
  EXPECT_FALSE(explore(make).is_ok);
}

TEST(Model, InterruptsNoMoreOftenThanItMay) {
  const auto make = [] {
    auto count = std::make_shared<Word>(0);
    const auto add = [count] { count->store(count->load() + 1); };
    return Program{{add, add}, [count] { expect(count->load() == 2, "an update was lost"); }};
  };

  EXPECT_TRUE(explore(make, {.preemptions = 0}).is_ok);
  EXPECT_FALSE(explore(make, {.preemptions = 1}).is_ok);
}

// What a random little program can end with: what each thread read, and memory.
using Ends = std::set<std::vector<std::uint32_t>>;

struct Little {
  Word words[2];
  std::vector<std::uint32_t> reads[3];
};

void act(Little& little, int me, std::uint32_t instruction) {
  Word& word = little.words[instruction & 1];
  const std::uint32_t value = me * 100 + (instruction >> 8 & 15);
  switch (instruction >> 1 & 3) {
    case 0: little.reads[me].push_back(word.load()); break;
    case 1: word.store(value, std::memory_order_relaxed); break;
    case 2: little.reads[me].push_back(word.exchange(value)); break;
    case 3: word.store(value); break;
  }
}

Ends ends_of(std::uint32_t seed, bool with_digest, const ModelOptions& options) {
  Ends ends;
  const auto make = [&] {
    auto little = std::make_shared<Little>();
    Program program;
    for (int me = 0; me < 3; ++me) {
      program.threads.push_back([=] {
        std::minstd_rand random(seed * 3 + me);
        const int length = me == 2 ? 2 : 3;
        for (int i = 0; i < length; ++i) act(*little, me, static_cast<std::uint32_t>(random()));
      });
    }
    program.finally = [&ends, little] {
      std::vector<std::uint32_t> end{little->words[0].load(), little->words[1].load()};
      for (const auto& reads : little->reads) end.insert(end.end(), reads.begin(), reads.end());
      ends.insert(end);
    };
    if (with_digest) program.digest = [] { return 0; };
    return program;
  };
  EXPECT_TRUE(explore(make, options).is_ok);
  return ends;
}

TEST(Model, LeavesOutNoEndThatARandomProgramCanHave) {
  for (std::uint32_t seed = 41; seed <= 56; ++seed) {
    for (const bool store_buffers : {false, true}) {
      const ModelOptions some{.store_buffers = store_buffers};
      // So many that it never matters, but nothing is left out.
      const ModelOptions all{.store_buffers = store_buffers, .preemptions = 1000};
      const Ends expected = ends_of(seed, false, all);
      EXPECT_EQ(ends_of(seed, false, some), expected) << "sleep sets, seed " << seed;
      EXPECT_EQ(ends_of(seed, true, some), expected) << "seen states, seed " << seed;
    }
  }
}

}  // namespace
}  // namespace muster::loop::testing

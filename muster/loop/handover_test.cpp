// Baton and inbox under every interleaving: no task is forgotten, there are
// never two holders, and whoever wants the baton gets it.

#include <memory>

#include <gtest/gtest.h>

#include "muster/loop/baton.h"
#include "muster/loop/inbox.h"
#include "muster/loop/testing/model.h"

namespace muster::loop {
namespace {

using testing::explore;
using testing::HastyModelEnv;
using testing::ModelEnv;
using testing::Outcome;
using testing::Program;

enum class Mistake { none, no_second_look, tries_before_it_pushes };

// What Loop does with its baton and its inbox, and nothing else.
template <class Env>
class MiniLoop {
 public:
  explicit MiniLoop(Mistake mistake) : mistake_(mistake) {
    testing::name(baton_, "baton");
    testing::name(inbox_, "inbox");
  }

  void post(int task) {
    if (mistake_ == Mistake::tries_before_it_pushes) {
      const bool is_mine = baton_.try_take();
      inbox_.push(task);
      if (!is_mine) return;
    } else {
      inbox_.push(task);
      if (!baton_.try_take()) return;
    }
    enter();
    give();
  }

  void take() {
    baton_.take();
    enter();
  }

  void give() {
    for (;;) {
      inbox_.drain([&](int& task) { ran_ += task; });
      leave();
      if (mistake_ == Mistake::no_second_look) return baton_.release();
      if (baton_.give([this] { return !inbox_.empty(); })) return;
      enter();
    }
  }

  void give_way() {
    if (!baton_.is_wanted()) return;
    give();
    baton_.stand_back();
    take();
  }

  int ran() const { return ran_; }
  std::uint64_t digest() const { return ran_ * 10 + inside_; }

 private:
  void enter() { testing::expect(++inside_ == 1, "two threads hold the baton"); }
  void leave() { --inside_; }

  Mistake mistake_;
  BasicBaton<Env> baton_;
  Inbox<int, Env> inbox_;
  int inside_ = 0;
  int ran_ = 0;
};

enum class Act { post, post_twice, visit, drive };

template <class Loop>
void play(Loop& loop, Act act) {
  switch (act) {
    case Act::post_twice: loop.post(1); [[fallthrough]];
    case Act::post: loop.post(1); break;
    case Act::drive:
      loop.take();
      loop.give_way();
      loop.give();
      break;
    case Act::visit:
      loop.take();
      loop.give();
      break;
  }
}

template <class Env>
Outcome play_all(const std::vector<Act>& acts, int tasks, Mistake mistake = Mistake::none) {
  const auto make = [&] {
    auto loop = std::make_shared<MiniLoop<Env>>(mistake);
    Program program;
    for (const Act act : acts) program.threads.push_back([=] { play(*loop, act); });
    program.finally = [=] {
      testing::expect(loop->ran() == tasks, "a task was forgotten, or ran twice");
    };
    program.digest = [=] { return loop->digest(); };
    return program;
  };
  return explore(make, {.store_buffers = true});
}

void expect_safe(const Outcome& outcome) {
  EXPECT_TRUE(outcome.is_ok) << outcome.transcript;
  ::testing::Test::RecordProperty("runs", std::to_string(outcome.runs));
}

TEST(Handover, NoTaskIsForgottenBetweenAPosterAndAHolder) {
  expect_safe(play_all<ModelEnv>({Act::post_twice, Act::drive}, 2));
}

TEST(Handover, NoTaskIsForgottenBetweenTwoPosters) {
  expect_safe(play_all<ModelEnv>({Act::post_twice, Act::post}, 3));
}

TEST(Handover, NoTaskIsForgottenBetweenTwoPostersAndAHolder) {
  expect_safe(play_all<HastyModelEnv>({Act::post, Act::post, Act::visit}, 2));
}

TEST(Handover, NoTaskIsForgottenBetweenAPosterAndTwoHolders) {
  expect_safe(play_all<HastyModelEnv>({Act::post, Act::visit, Act::visit}, 1));
}

TEST(Handover, WhoeverWantsTheBatonGetsIt) {
  expect_safe(play_all<ModelEnv>({Act::visit, Act::visit}, 0));
}

TEST(Handover, EachOfThreeWhoWantTheBatonGetsIt) {
  expect_safe(play_all<HastyModelEnv>({Act::visit, Act::visit, Act::visit}, 0));
}

TEST(Handover, WhoeverWantsTheBatonGetsItFromADriverThatGivesWay) {
  expect_safe(play_all<ModelEnv>({Act::drive, Act::visit}, 0));
}

TEST(Handover, NeedsTheSecondLook) {
  const Outcome outcome = play_all<ModelEnv>({Act::post, Act::visit}, 1, Mistake::no_second_look);
  EXPECT_FALSE(outcome.is_ok);
  EXPECT_EQ(outcome.transcript.substr(0, 20), "a task was forgotten") << outcome.transcript;
}

TEST(Handover, NeedsThePushBeforeTheTry) {
  EXPECT_FALSE(
      play_all<ModelEnv>({Act::post, Act::visit}, 1, Mistake::tries_before_it_pushes).is_ok);
}

}  // namespace
}  // namespace muster::loop

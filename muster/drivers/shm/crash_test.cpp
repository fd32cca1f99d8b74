// A process that dies at any store of the protocol is the only thing lost.
//
// A child and this process run a script that uses all of the protocol
// (testing/crash_script.h). The child dies at one passage of one crash point per
// round, as the side that dialled and as the side that listened. This process
// must hear of it once and soon, hold nothing of the dead, and serve others.

#ifdef MUSTER_CRASH_POINTS

#include <csignal>
#include <cstdio>
#include <set>
#include <sstream>

#include "muster/base/crash_point.h"
#include "muster/drivers/shm/shm.h"
#include "muster/drivers/shm/testing/crash_script.h"
#include "muster/drivers/shm/testing/process_vm.h"
#include "muster/net/testing/driver_suite.h"

namespace muster::net::testing {
namespace {

using drivers::shm::testing::CrashScript;
using drivers::shm::testing::kArenaBody;
using drivers::shm::testing::processes_may_copy;

// How long the end of a process on this host may stay unknown.
constexpr std::chrono::seconds kSoon(2);

std::unique_ptr<Driver> shm(loop::Loop& loop) { return *drivers::make_shm_driver(loop); }
Address fresh() { return fresh_address("shm"); }

enum class Part : std::uint8_t { dials, listens };

// Where a child dies: at which passage of which point. Passage 0: nowhere.
struct Death {
  std::size_t point = 0;
  std::uint32_t passage = 0;
};

// How often a child has passed each point.
using Passages = std::vector<std::uint32_t>;

class ShmCrash : public DriverSuite {
 protected:
  ShmCrash();
  // One child, one script: what it has passed if it lived to the end.
  std::optional<Passages> run(Part part, Death death);
  std::string name_of(std::size_t point) const;

 private:
  End& dial_child(ChildProcess& child);
  void bury(End& end);
  void serve_another();

  std::list<CrashScript> scripts_;  // Under the baton.
  Host& for_children_;
  Host& for_others_;
  const std::byte* block_ = nullptr;  // What the arena hands out first.
  Holdings before_;
};

ShmCrash::ShmCrash()
    : for_children_(listen([this](End& end) {
        scripts_.emplace_back(end, false).wait_for_help();
        scripts_.back().start();
      })),
      for_others_(listen([](End& end) { echo(end); })) {
  serve_another();
  before_ = look_at_holdings();
}

std::optional<Passages> ShmCrash::run(Part part, Death death) {
  const std::string address = part == Part::dials ? for_children_.address().to_string() : "";
  const std::size_t accepted = for_children_.count();
  auto child = ChildProcess::start(
      "shm_crash", {std::to_string(death.point), std::to_string(death.passage), address});
  EXPECT_TRUE(child);
  End* near = part == Part::listens ? &dial_child(**child) : nullptr;

  // Its last words, or none.
  const Result<std::string> said = (*child)->pipe().read_line();
  const TimePoint gone = rig->near().loop.now();
  EXPECT_EQ(*(*child)->wait(), said ? 0 : -SIGKILL);
  child->reset();  // With its pipes.

  // Who comes after a child is served after it, so it has been accepted by then
  // if it ever will be.
  serve_another();
  if (for_children_.count() > accepted) near = &for_children_.end(accepted);
  if (near != nullptr) bury(*near);
  EXPECT_LT(rig->near().loop.now() - gone, kSoon);
  serve_another();
  EXPECT_TRUE(run_until([&] { return leaked(before_, look_at_holdings()).empty(); }))
      << leaked(before_, look_at_holdings()) << "is not given back";
  if (!said) return std::nullopt;
  Passages passages;
  std::istringstream words(*said);
  for (std::uint32_t count = 0; words >> count;) passages.push_back(count);
  return passages;
}

End& ShmCrash::dial_child(ChildProcess& child) {
  const Result<std::string> address = child.pipe().read_line();
  EXPECT_TRUE(address) << address.error().describe();
  const loop::Turn turn(rig->near().loop);
  End& end =
      dial(*Address::parse(*address), [this](End& made) { scripts_.emplace_back(made, true); });
  scripts_.back().wait_for_help();
  scripts_.back().start();
  return end;
}

// Waits for the end of what led to a child.
void ShmCrash::bury(End& end) {
  EXPECT_TRUE(run_until([&] { return end.is_closed(); })) << "never heard of the end";
  EXPECT_EQ(end.closed_count(), 1);
  end.drop();
  const loop::Turn turn(end.loop());
  for (const CrashScript& script : scripts_) {
    EXPECT_FALSE(script.has_failed()) << "got wrong bytes";
  }
  scripts_.clear();
}

// Somebody else comes, is served, and goes; the arena has all its blocks back,
// because it hands out first what it got back last.
void ShmCrash::serve_another() {
  auto [near, far] = connect(for_others_);
  EXPECT_TRUE(near.send(make_frame({8, {100}}, 7)));
  EXPECT_TRUE(run_until([&end = near] { return end.frame_count() == 1; })) << "no answer";
  near.take_frames().clear();
  {
    const loop::Turn turn(near.loop());
    const Result<WritableBuffer> block = near.connection->allocate(kArenaBody);
    ASSERT_TRUE(block);
    if (block_ == nullptr) block_ = block->data();
    if (scripts_.empty()) {
      EXPECT_EQ(block->data(), block_) << "a block is still held";
    }
  }
  near.drop();
  far.drop();
}

std::string ShmCrash::name_of(std::size_t point) const {
  const CrashPoint& at = crash_points()[point];
  const std::string_view file = at.file;
  return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(at.line);
}

TEST_P(ShmCrash, AProcessThatDiesAtAnyPointIsTheOnlyThingLost) {
  constexpr int kTries = 20;
  const bool is_long = from_environment("MUSTER_LONG", 0) == 1;
  ASSERT_FALSE(crash_points().empty());
  // Not by what the driver found: it might have found too little.
  const bool can_copy = processes_may_copy();
  std::set<std::size_t> died_at;
  std::size_t rounds = 0;
  const auto kill_at = [&](Part part, Death death) {
    SCOPED_TRACE(name_of(death.point) + ", passage " + std::to_string(death.passage) +
                 (part == Part::dials ? ", child dials" : ", child listens"));
    ++rounds;
    if (!run(part, death)) died_at.insert(death.point);
  };

  for (const Part part : {Part::dials, Part::listens}) {
    const std::optional<Passages> passages = run(part, {});
    ASSERT_TRUE(passages);
    ASSERT_EQ(passages->size(), crash_points().size());
    for (std::size_t point = 0; point < passages->size(); ++point) {
      const std::uint32_t count = (*passages)[point];
      // Of many passages of one point some are spared, unless MUSTER_LONG is 1.
      const std::uint32_t step = is_long ? 1 : std::max(count / 5, 1U);
      for (std::uint32_t passage = 1; passage <= count; passage += step) {
        kill_at(part, {point, passage});
        if (HasFailure()) return;
      }
    }
  }
  // Where the other side has to sleep at the right moment it may take a few tries.
  for (std::size_t point = 0; point < crash_points().size(); ++point) {
    const bool is_copy = name_of(point).starts_with("direct.cpp");
    for (int i = 0; i < kTries && !died_at.contains(point) && (can_copy || !is_copy); ++i) {
      kill_at(i % 2 == 0 ? Part::dials : Part::listens, {point, 1});
    }
    EXPECT_TRUE(died_at.contains(point) || (is_copy && !can_copy))
        << "no child died at " << name_of(point);
  }
  EXPECT_TRUE(run(Part::dials, {})) << "a child that lives is no longer served";
  std::printf("children died at %zu of %zu crash points, %zu rounds\n", died_at.size(),
              crash_points().size(), rounds);
}

INSTANTIATE_TEST_SUITE_P(Shm, ShmCrash, ::testing::Values(make_subject("shm", shm, fresh)),
                         ::testing::PrintToStringParamName());

std::string passages_so_far() {
  std::string text;
  for (const CrashPoint& point : crash_points()) text += std::to_string(point.passed) + " ";
  return text;
}

// Arguments: where to die, and whom to dial if it shall not listen.
MUSTER_ROLE(shm_crash) {
  crash_at(std::stoul(parent.arguments.at(0)),
           static_cast<std::uint32_t>(std::stoul(parent.arguments.at(1))));
  const std::string& address = parent.arguments.at(2);
  const auto rig = make_loop_rig(Sides::together, shm, fresh);
  std::list<CrashScript> scripts;
  std::optional<Host> host;
  End dialed(rig->near().loop);
  if (address.empty()) {
    host.emplace(*rig, rig->address(), [&](End& end) { scripts.emplace_back(end, false).start(); });
    parent.pipe.write_line(host->address().to_string());
  } else {
    const loop::Turn turn(dialed.loop());
    scripts.emplace_back(dialed, true);
    dialed.connection = *rig->near().driver.dial(*Address::parse(address), dialed);
    scripts.back().start();
  }
  const auto has_ended = [&] {
    return host ? host->count() == 1 && host->end(0).is_closed() : dialed.is_closed();
  };
  const bool is_good =
      rig->run_until(has_ended) && scripts.back().is_done() && !scripts.back().has_failed();
  if (!is_good) return 1;
  const std::string passages = passages_so_far();
  crash_at(0, 0);  // It has lived to the end, and says so.
  parent.pipe.write_line(passages);
  return 0;
}

}  // namespace
}  // namespace muster::net::testing

#endif

// How long it takes until all have joined, and until all know that one is dead.
#include <algorithm>
#include <array>
#include <csignal>
#include <list>

#include <sys/wait.h>
#include <unistd.h>

#include "benchmarks/common/clock.h"
#include "benchmarks/common/process.h"
#include "benchmarks/common/samples.h"
#include "benchmarks/common/shared.h"
#include "benchmarks/muster/cases.h"
#include "benchmarks/muster/group.h"

namespace muster::bench::ours {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kJoining = 50;
constexpr std::size_t kSurvivors = 7;

struct Board {
  Gate joined;
  Gate may_end;
  std::array<std::atomic<std::int64_t>, kJoining> joined_at{};
  // Of the victim whose number stands in `round`.
  std::atomic<std::int64_t> round{-1};
  std::array<std::atomic<std::int64_t>, kSurvivors> lost_at{};
};

// Waits without a futex, which works only inside one process.
template <class Done>
void nap_until(const Done& done) {
  while (!done()) usleep(200);
}

// Reports when it hears that each victim is lost.
void survive(const std::string& folder, Board& board, std::size_t index, std::int64_t rounds) {
  Member member(Over::shm, folder, "survivor", "survivor_" + std::to_string(index),
                {{.type = "survivor", .count = kSurvivors - 1}});
  board.joined.arrive_and_wait(kSurvivors + 1);
  for (std::int64_t round = 0; round < rounds;) {
    const auto event = member.proxy().next_event(60s);
    if (!event) fail("nobody told of a loss");
    if (event->kind != msg::ProxyEvent::Kind::lost) continue;
    if (event->peer != "victim_" + std::to_string(round)) fail("another one was lost");
    board.lost_at[index] = now_ns();
    ++round;
  }
}

// Joins, and waits to be killed.
[[noreturn]] void be_the_victim(const std::string& folder, Board& board, std::int64_t round) {
  Member member(Over::shm, folder, "victim", "victim_" + std::to_string(round),
                {{.type = "survivor", .count = kSurvivors}});
  // All of them know it, and are asleep again.
  usleep(20'000);
  board.round = round;
  for (;;) pause();
}

double kill_one(const std::string& folder, Board& board, std::int64_t round) {
  for (auto& at : board.lost_at) at = 0;
  // A plain fork: this one is meant to be killed.
  const pid_t victim = check_call(fork(), "fork");
  if (victim == 0) be_the_victim(folder, board, round);
  nap_until([&] { return board.round == round; });
  const std::int64_t killed = now_ns();
  kill(victim, SIGKILL);
  waitpid(victim, nullptr, 0);
  nap_until([&] { return std::ranges::all_of(board.lost_at, [](auto& at) { return at != 0; }); });
  std::int64_t last = 0;
  for (const auto& at : board.lost_at) last = std::max(last, at.load());
  return static_cast<double>(last - killed);
}

}  // namespace

Report join_50(const Options&) {
  const Folder folder;
  const Shared<Board> board;
  std::list<Process> processes;
  const std::int64_t start = now_ns();
  for (std::size_t i = 0; i < kJoining; ++i) {
    processes.emplace_back([&, i] {
      Member member(Over::shm, folder.path(), "worker", "worker_" + std::to_string(i),
                    {{.type = "worker", .count = kJoining - 1}});
      board->joined_at[i] = now_ns();
      board->joined.arrive_and_wait(kJoining);
      must(member.proxy().leave(30s));
    });
  }
  for (Process& process : processes) process.join();
  std::int64_t last = 0;
  for (const auto& at : board->joined_at) last = std::max(last, at.load());
  return {static_cast<double>(last - start) / 1e9, "s", true, {{"processes", kJoining}}};
}

Report loss_known(const Options& options) {
  // As many as fit, about: each needs a process that joins first.
  const auto rounds = std::max<std::int64_t>(3, static_cast<std::int64_t>(options.seconds * 20));
  const Folder folder;
  const Shared<Board> board;
  std::list<Process> survivors;
  for (std::size_t i = 0; i < kSurvivors; ++i) {
    survivors.emplace_back([&, i] { survive(folder.path(), *board, i, rounds); });
  }
  board->joined.arrive_and_wait(kSurvivors + 1);
  // The harness ends with a child that is killed; this one's are meant to be.
  std::signal(SIGCHLD, SIG_DFL);
  Samples samples(static_cast<std::size_t>(rounds));
  for (std::int64_t round = 0; round < rounds; ++round) {
    samples.add(static_cast<std::int64_t>(kill_one(folder.path(), *board, round)));
  }
  for (Process& survivor : survivors) survivor.join();
  return {samples.percentile(0.5) / 1e6,
          "ms",
          true,
          {{"p100", samples.percentile(1) / 1e6}, {"peers", kSurvivors}}};
}

}  // namespace muster::bench::ours

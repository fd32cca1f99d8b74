// Waiting costs next to nothing, with much to do on the machine and with little.

#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <vector>

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "muster/base/check.h"
#include "muster/loop/doorbell.h"
#include "muster/loop/loop.h"
#include "tests/process/child.h"

namespace muster::tests {
namespace {

using loop::Loop;
using loop::Turn;
using std::chrono::milliseconds;
using std::chrono::seconds;

TimePoint now() { return system_clock().now(); }

// Two processes hand a token to and fro through shared memory, each with a
// doorbell for when it sleeps.
struct Board {
  struct Side {
    std::atomic<std::uint32_t> token{0};  // Of the side's own: how often it has come here.
    loop::Doorbell bell;
    alignas(64) std::atomic<std::uint64_t> rounds{0};
  };
  alignas(64) std::array<Side, 2> sides;
  alignas(64) std::atomic<std::uint32_t> is_over{0};
};

class Shared {
 public:
  Shared() : fd_(memfd_create("board", MFD_CLOEXEC)) {
    MUSTER_CHECK(ftruncate(fd_, sizeof(Board)) == 0, "there is memory");
    board_ = new (map()) Board;
  }
  explicit Shared(int fd) : fd_(fd), board_(static_cast<Board*>(map())) {}
  ~Shared() {
    munmap(board_, sizeof(Board));
    close(fd_);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  int fd() const { return fd_; }
  Board& operator*() const { return *board_; }
  Board* operator->() const { return board_; }

 private:
  void* map() const {
    void* const memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    MUSTER_CHECK(memory != MAP_FAILED, "there is memory");
    return memory;
  }

  int fd_;
  Board* board_;
};

// One side's end. It claims that to stay awake always pays, in one way or another, as a
// driver without any wisdom would: only the loop's own budgets hold it back.
class End final : public loop::Poller, public loop::FdHandler {
 public:
  End(Board& board, int me, std::array<int, 2> bells, loop::Outlook outlook)
      : mine_(board.sides[me]),
        theirs_(board.sides[1 - me]),
        their_bell_(bells[1 - me]),
        outlook_(outlook) {}

  void pass() {
    theirs_.token.fetch_add(1);
    if (theirs_.bell.must_ring()) eventfd_write(their_bell_, 1);
    mine_.rounds.fetch_add(1, std::memory_order_relaxed);
  }
  bool has_token() const { return seen_ != taken_; }
  void take() { ++taken_; }

  bool poll() override { return std::exchange(seen_, mine_.token.load()) != seen_; }
  loop::Outlook outlook() override { return outlook_; }
  bool arm() override {
    mine_.bell.arm();
    return mine_.token.load() != seen_;
  }
  void disarm() override { mine_.bell.disarm(); }
  void on_ready(std::uint32_t) override {}

 private:
  Board::Side& mine_;
  Board::Side& theirs_;
  int their_bell_;
  loop::Outlook outlook_;
  std::uint32_t seen_ = 0;
  std::uint32_t taken_ = 0;
};

// Arguments: board, my side, bells of both sides, ready, outlook.
int play_token(const std::vector<std::string>& arguments) {
  const Shared board(std::stoi(arguments[0]));
  const int me = std::stoi(arguments[1]);
  const std::array bells{std::stoi(arguments[2]), std::stoi(arguments[3])};
  auto loop = *Loop::make();
  End end(*board, me, bells, static_cast<loop::Outlook>(std::stoi(arguments[5])));
  {
    const Turn turn(*loop);
    loop->add(end);
    MUSTER_CHECK(loop->watch(bells[me], EPOLLIN | EPOLLET, end), "it is an eventfd");
  }
  send_byte(std::stoi(arguments[4]));
  while (board->is_over.load(std::memory_order_relaxed) == 0) {
    if (!loop->wait_until([&] { return end.has_token(); }, now() + milliseconds(100))) continue;
    const Turn turn(*loop);
    end.take();
    end.pass();
  }
  const Turn turn(*loop);
  loop->remove(end);
  loop->unwatch(bells[me]);
  return 0;
}
const RoleName kToken("token", play_token);

// Argument: ready.
int hog(const std::vector<std::string>& arguments) {
  send_byte(std::stoi(arguments[0]));
  for (volatile std::uint64_t count = 0;;) count = count + 1;
}
const RoleName kHog("hog", hog);

// A pair of processes that hand a token to and fro until it is destroyed.
class Pair {
 public:
  Pair(int ready, loop::Outlook outlook) {
    for (int& bell : bells_) bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    for (int side = 0; side < 2; ++side) {
      const std::vector<int> descriptors{board_.fd(), bells_[0], bells_[1], ready};
      sides_.push_back(std::make_unique<Child>(
          "token",
          std::vector{std::to_string(board_.fd()), std::to_string(side), std::to_string(bells_[0]),
                      std::to_string(bells_[1]), std::to_string(ready),
                      std::to_string(static_cast<int>(outlook))},
          descriptors));
    }
  }
  ~Pair() {
    board_->is_over = 1;
    for (const auto& side : sides_) EXPECT_EQ(side->join(), 0);
    for (const int bell : bells_) close(bell);
  }

  void start() {
    board_->sides[0].token.fetch_add(1);
    eventfd_write(bells_[0], 1);
  }
  std::uint64_t rounds() const { return board_->sides[0].rounds + board_->sides[1].rounds; }
  Duration cpu_time() const { return sides_[0]->cpu_time() + sides_[1]->cpu_time(); }

 private:
  Shared board_;
  std::array<int, 2> bells_{};
  std::vector<std::unique_ptr<Child>> sides_;
};

struct Spent {
  std::uint64_t rounds = 0;
  Duration cpu{};
  Duration each() const { return rounds == 0 ? seconds(1) : cpu / rounds; }
};

// What each pair spends on hand-overs, with `hogs` that leave no core free.
std::vector<Spent> measure(int pairs, int hogs, loop::Outlook outlook) {
  Pipe ready;
  std::vector<std::unique_ptr<Child>> busy;
  for (int i = 0; i < hogs; ++i) {
    busy.push_back(std::make_unique<Child>("hog", std::vector{std::to_string(ready.writer())},
                                           std::vector{ready.writer()}));
  }
  std::vector<std::unique_ptr<Pair>> playing;
  for (int i = 0; i < pairs; ++i) {
    playing.push_back(std::make_unique<Pair>(ready.writer(), outlook));
  }
  EXPECT_TRUE(await_bytes(ready.reader(), busy.size() + 2 * playing.size()));
  for (const auto& pair : playing) pair->start();
  let_pass(milliseconds(200));  // Spins that fail are given up.

  std::vector<Spent> before;
  for (const auto& pair : playing) before.push_back({pair->rounds(), pair->cpu_time()});
  let_pass(seconds(1));
  std::vector<Spent> spent;
  for (std::size_t i = 0; i < playing.size(); ++i) {
    spent.push_back(
        {playing[i]->rounds() - before[i].rounds, playing[i]->cpu_time() - before[i].cpu});
  }
  return spent;
}

TEST(Thrift, WithMoreBusyProcessesThanCoresNobodyBurnsACoreBySpinning) {
  const std::vector<Spent> sleepers = measure(4, 2, loop::Outlook::none);
  const std::vector<Spent> crowd = measure(4, 2, loop::Outlook::soon);

  // What a hand-over costs those who never spin is what it must cost: switches
  // and system calls. A spin in vain would cost several times as much.
  Spent fair;
  for (const Spent& pair : sleepers) {
    fair.rounds += pair.rounds;
    fair.cpu += pair.cpu;
  }
  for (const Spent& pair : crowd) {
    EXPECT_GT(pair.rounds, 0u);
    EXPECT_LT(pair.each(), 2 * fair.each()) << pair.rounds << " rounds";
  }
}

// To yield to them would cost a time slice each time, and leave some hundred rounds of a
// hundred thousand. How many there are depends on who shares a processor with whom.
TEST(Thrift, BesideThoseWhoComputeNobodyYieldsItsTimeAway) {
  const std::vector<Spent> sleepers = measure(1, 2, loop::Outlook::none);
  const std::vector<Spent> polite = measure(1, 2, loop::Outlook::several);

  EXPECT_GT(polite.front().rounds, sleepers.front().rounds / 20);
}

}  // namespace
}  // namespace muster::tests

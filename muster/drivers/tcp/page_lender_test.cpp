#include "muster/drivers/tcp/page_lender.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/drivers/tcp/testing/socket_pair.h"
#include "muster/net/testing/pattern.h"

namespace muster::drivers::tcp {
namespace {

using testing::SocketPair;

// What there is to read just now.
void read_into(std::vector<std::byte>& bytes, const SocketPair& sockets) {
  std::array<std::byte, 65536> some;
  ssize_t got = 0;
  while ((got = recv(sockets.far.get(), some.data(), some.size(), 0)) > 0) {
    bytes.insert(bytes.end(), some.begin(), some.begin() + got);
  }
}

iovec run_of(std::span<std::byte> bytes) { return {bytes.data(), bytes.size()}; }

TEST(PageLender, BringsBytesOverFromAnyPlaceInAnyPieces) {
  PipeShelf shelf;
  const SocketPair sockets;
  PageLender lender(shelf);
  std::vector<std::byte> memory(9'000'000);
  net::testing::fill(memory, 3);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{4095}}) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, std::size_t{70'000},
                                   std::size_t{1'048'576}, std::size_t{8'500'001}}) {
      std::span<std::byte> left = std::span(memory).subspan(offset, size);
      std::vector<std::byte> arrived;
      while (!left.empty()) {
        const Lent lent = lender.lend(sockets.near.fd, run_of(left));
        ASSERT_EQ(lent.refusal, Lent::Refusal::none);
        ASSERT_TRUE(lent.error == 0 || lent.error == EAGAIN) << lent.error;
        left = left.subspan(lent.bytes);
        read_into(arrived, sockets);
      }
      while (arrived.size() < size) read_into(arrived, sockets);
      EXPECT_TRUE(std::ranges::equal(arrived, std::span(memory).subspan(offset, size)));
    }
  }
}

TEST(PageLender, WhatIsLentIsReadWhenThePeerTakesIt) {
  PipeShelf shelf;
  const SocketPair sockets;
  PageLender lender(shelf);
  std::vector<std::byte> memory(20'000, std::byte{1});
  ASSERT_EQ(lender.lend(sockets.near.fd, run_of(memory)).bytes, memory.size());

  std::ranges::fill(memory, std::byte{2});

  std::vector<std::byte> arrived;
  while (arrived.size() < memory.size()) read_into(arrived, sockets);
  EXPECT_EQ(arrived, memory) << "a copy was made, and nothing is gained";
}

// SIGPIPE as it is in most programs; the tests' own main() ignores it.
class DefaultSigpipe {
 public:
  DefaultSigpipe() : before_(std::signal(SIGPIPE, SIG_DFL)) {}
  ~DefaultSigpipe() { std::signal(SIGPIPE, before_); }
  DefaultSigpipe(const DefaultSigpipe&) = delete;
  DefaultSigpipe& operator=(const DefaultSigpipe&) = delete;

 private:
  void (*before_)(int);
};

bool is_sigpipe_pending() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGPIPE) == 1;
}

// What lending to one that has gone says in the end.
int lend_until_it_has_gone() {
  PipeShelf shelf;
  SocketPair sockets;
  PageLender lender(shelf);
  std::vector<std::byte> memory(100'000);
  sockets.far.reset();
  int error = 0;
  for (int i = 0; i < 100 && error != EPIPE; ++i) {
    error = lender.lend(sockets.near.fd, run_of(memory)).error;
  }
  return error;
}

TEST(PageLender, TellsThatThePeerHasGoneWithoutASignal) {
  const DefaultSigpipe would_end_this_process;
  EXPECT_EQ(lend_until_it_has_gone(), EPIPE);
}

TEST(PageLender, LeavesNoSignalToOneWhoBlocksThem) {
  const DefaultSigpipe would_end_this_process;
  sigset_t sigpipe;
  sigset_t before;
  sigemptyset(&sigpipe);
  sigaddset(&sigpipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &sigpipe, &before);

  EXPECT_EQ(lend_until_it_has_gone(), EPIPE);
  EXPECT_FALSE(is_sigpipe_pending());

  raise(SIGPIPE);
  EXPECT_EQ(lend_until_it_has_gone(), EPIPE);
  EXPECT_TRUE(is_sigpipe_pending()) << "that one was not ours to take";
  const timespec at_once{};
  sigtimedwait(&sigpipe, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(PageLender, RefusesMemoryThatCannotBeLent) {
  PipeShelf shelf;
  const SocketPair sockets;
  PageLender lender(shelf);
  void* const nothing = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  const Lent lent = lender.lend(sockets.near.fd, {nothing, 8192});

  EXPECT_EQ(lent.refusal, Lent::Refusal::now);
  EXPECT_EQ(lent.bytes, 0U);
  munmap(nothing, 8192);
}

// The lowest that is free: holes among them are filled first.
int next_descriptor() {
  const int next = dup(0);
  close(next);
  return next;
}

TEST(PageLender, FewPipesServeAllWhoLendInTurn) {
  PipeShelf shelf;
  const SocketPair sockets;
  std::vector<std::byte> memory(100'000);
  std::vector<std::byte> arrived;
  const auto lend_in_turn = [&] {
    PageLender lender(shelf);
    ASSERT_EQ(lender.lend(sockets.near.fd, run_of(memory)).bytes, memory.size());
    while (arrived.size() < memory.size()) read_into(arrived, sockets);
    arrived.clear();
  };
  lend_in_turn();
  const int before = next_descriptor();
  for (int i = 0; i < 50; ++i) lend_in_turn();
  EXPECT_EQ(next_descriptor(), before);
}

}  // namespace
}  // namespace muster::drivers::tcp

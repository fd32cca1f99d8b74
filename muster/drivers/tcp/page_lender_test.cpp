#include "muster/drivers/tcp/page_lender.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/net/socket_address.h"
#include "muster/net/testing/pattern.h"

namespace muster::drivers::tcp {
namespace {

// Two ends of a connection over loopback.
struct Sockets {
  Sockets() {
    const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener.get(), any, size), 0);
    EXPECT_EQ(listen(listener.get(), 1), 0);
    EXPECT_EQ(getsockname(listener.get(), any, &size), 0);
    near = Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(near.get(), any, size), 0);
    far = Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    fcntl(near.get(), F_SETFL, O_NONBLOCK);
    fcntl(far.get(), F_SETFL, O_NONBLOCK);
  }

  // What there is to read just now.
  void read_into(std::vector<std::byte>& bytes) const {
    std::array<std::byte, 65536> some;
    ssize_t got = 0;
    while ((got = recv(far.get(), some.data(), some.size(), 0)) > 0) {
      bytes.insert(bytes.end(), some.begin(), some.begin() + got);
    }
  }

  Descriptor near;
  Descriptor far;
};

iovec run_of(std::span<std::byte> bytes) { return {bytes.data(), bytes.size()}; }

TEST(PageLender, BringsBytesOverFromAnyPlaceInAnyPieces) {
  PipeShelf shelf;
  const Sockets sockets;
  PageLender lender(shelf);
  std::vector<std::byte> memory(9'000'000);
  net::testing::fill(memory, 3);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{4095}}) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, std::size_t{70'000},
                                   std::size_t{1'048'576}, std::size_t{8'500'001}}) {
      std::span<std::byte> left = std::span(memory).subspan(offset, size);
      std::vector<std::byte> arrived;
      while (!left.empty()) {
        const Lent lent = lender.lend(sockets.near.get(), run_of(left));
        ASSERT_FALSE(lent.is_refused);
        ASSERT_TRUE(lent.error == 0 || lent.error == EAGAIN) << lent.error;
        left = left.subspan(lent.bytes);
        sockets.read_into(arrived);
      }
      while (arrived.size() < size) sockets.read_into(arrived);
      EXPECT_TRUE(std::ranges::equal(arrived, std::span(memory).subspan(offset, size)));
    }
  }
}

TEST(PageLender, WhatIsLentIsReadWhenThePeerTakesIt) {
  PipeShelf shelf;
  const Sockets sockets;
  PageLender lender(shelf);
  std::vector<std::byte> memory(20'000, std::byte{1});
  ASSERT_EQ(lender.lend(sockets.near.get(), run_of(memory)).bytes, memory.size());

  std::ranges::fill(memory, std::byte{2});

  std::vector<std::byte> arrived;
  while (arrived.size() < memory.size()) sockets.read_into(arrived);
  EXPECT_EQ(arrived, memory) << "a copy was made, and nothing is gained";
}

TEST(PageLender, TellsThatThePeerHasGoneWithoutASignal) {
  PipeShelf shelf;
  Sockets sockets;
  PageLender lender(shelf);
  std::vector<std::byte> memory(100'000);
  sockets.far.reset();
  int error = 0;
  for (int i = 0; i < 100 && (error == 0 || error == EAGAIN || error == ECONNRESET); ++i) {
    error = lender.lend(sockets.near.get(), run_of(memory)).error;
  }
  EXPECT_EQ(error, EPIPE) << "nothing is left of the signal either, or this process had ended";
}

TEST(PageLender, RefusesMemoryThatCannotBeLent) {
  PipeShelf shelf;
  const Sockets sockets;
  PageLender lender(shelf);
  void* const nothing = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  const Lent lent = lender.lend(sockets.near.get(), {nothing, 8192});

  EXPECT_TRUE(lent.is_refused);
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
  const Sockets sockets;
  std::vector<std::byte> memory(100'000);
  std::vector<std::byte> arrived;
  const auto lend_in_turn = [&] {
    PageLender lender(shelf);
    ASSERT_EQ(lender.lend(sockets.near.get(), run_of(memory)).bytes, memory.size());
    while (arrived.size() < memory.size()) sockets.read_into(arrived);
    arrived.clear();
  };
  lend_in_turn();
  const int before = next_descriptor();
  for (int i = 0; i < 50; ++i) lend_in_turn();
  EXPECT_EQ(next_descriptor(), before);
}

}  // namespace
}  // namespace muster::drivers::tcp

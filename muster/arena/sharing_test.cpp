// Owner, receiver and forwarder in processes of their own.

#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <string_view>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "muster/arena/arena.h"
#include "muster/arena/holdings.h"
#include "muster/arena/remote_block.h"
#include "muster/arena/segment_table.h"
#include "muster/arena/shared_block.h"
#include "muster/arena/testing/traces.h"

namespace muster::arena {
namespace {

using testing::Traces;

// A block by reference, and its segment's descriptor beside it.
struct Passed {
  int descriptor = -1;
  std::uint64_t segment_size = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t handle = 0;
};

// One end of a Unix socket pair.
class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}

  void pass(Passed block) const {
    iovec bytes{&block, sizeof block};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &block.descriptor, sizeof(int));
    EXPECT_EQ(sendmsg(socket_, &message, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof block));
  }
  Passed receive() const {
    Passed block;
    iovec bytes{&block, sizeof block};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    EXPECT_EQ(recvmsg(socket_, &message, MSG_CMSG_CLOEXEC), static_cast<ssize_t>(sizeof block));
    block.descriptor = -1;
    if (const cmsghdr* head = CMSG_FIRSTHDR(&message)) {
      std::memcpy(&block.descriptor, CMSG_DATA(head), sizeof(int));
    }
    return block;
  }
  void tell(std::uint64_t word) const {
    EXPECT_EQ(::send(socket_, &word, sizeof word, MSG_NOSIGNAL), 8);
  }
  // Zero at the end of the other side.
  std::uint64_t hear() const {
    std::uint64_t word = 0;
    return recv(socket_, &word, sizeof word, MSG_WAITALL) == 8 ? word : 0;
  }

 private:
  int socket_;
};

// A child process that runs `body` with its end of a channel and exits 0 if
// that gave true.
class Child {
 public:
  explicit Child(const std::function<bool(const Channel&)>& body) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets_), 0);
    pid_ = fork();
    if (pid_ == 0) {
      ::close(sockets_[0]);
      const bool is_good = body(Channel(sockets_[1]));
      _exit(is_good && !::testing::Test::HasFailure() ? 0 : 1);
    }
    ::close(sockets_[1]);
  }
  ~Child() {
    if (pid_ > 0) kill();
    ::close(sockets_[0]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Channel channel() const { return Channel(sockets_[0]); }
  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }
  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }

 private:
  int sockets_[2] = {-1, -1};
  pid_t pid_ = -1;
};

Passed reference_to(const Buffer& body, Holdings& holdings) {
  const auto& segment = SharedBlock::of(body)->segment();
  return {.descriptor = segment->descriptor(),
          .segment_size = segment->size(),
          .offset = static_cast<std::uint64_t>(body.data() - segment->base()),
          .size = body.size(),
          .handle = holdings.add(body)};
}

Buffer received(const Passed& block, const std::shared_ptr<ReleaseQueue>& queue) {
  auto segment = *Segment::open(block.descriptor, block.segment_size);
  return *make_remote_buffer(std::move(segment), block.offset, block.size, queue, block.handle);
}

Buffer made_in(Arena& arena, std::string_view text) {
  WritableBuffer body = *arena.allocate(text.size());
  std::memcpy(body.data(), text.data(), text.size());
  return std::move(body).freeze();
}

// Makes a body in its arena, passes it and stays until told otherwise.
bool own_a_body(const Channel& peer) {
  const auto arena = *Arena::make();
  Holdings holdings;
  const Buffer body = made_in(*arena, "from the owner");
  peer.pass(reference_to(body, holdings));
  std::uint64_t handle = 0;
  while ((handle = peer.hear()) != 0) {
    if (!holdings.release(handle)) return false;
  }
  return holdings.count() == 0;
}

TEST(Sharing, AReceiverReadsInPlaceAndTheOwnerHearsWhenItIsDone) {
  const Traces before = Traces::count();
  {
    Child owner(own_a_body);
    const auto queue = std::make_shared<ReleaseQueue>();
    Buffer body = received(owner.channel().receive(), queue);
    EXPECT_EQ(body.text(), "from the owner");

    body = {};
    std::vector<std::uint64_t> handles;
    ASSERT_TRUE(queue->take(handles));
    ASSERT_EQ(handles.size(), 1u);
    owner.channel().tell(handles[0]);
    owner.channel().tell(0);

    EXPECT_EQ(owner.wait(), 0);
  }
  EXPECT_EQ(Traces::count(), before);
}

TEST(Sharing, ASecondReleaseIsRefusedByTheOwner) {
  Child owner(own_a_body);
  const Passed block = owner.channel().receive();
  ::close(block.descriptor);

  owner.channel().tell(block.handle);
  owner.channel().tell(block.handle);

  EXPECT_NE(owner.wait(), 0);
}

TEST(Sharing, AReceiverCannotWriteWhateverItTries) {
  const auto segment = *Segment::create(65536);
  std::memcpy(segment->writable().data(), "safe", 4);
  Child receiver([](const Channel& owner) {
    const Passed block = owner.receive();
    const int flags = MAP_SHARED;
    const auto peers = *Segment::open(block.descriptor, block.segment_size);
    void* memory = mmap(nullptr, 4096, PROT_WRITE, flags, peers->descriptor(), 0);
    if (memory != MAP_FAILED || errno != EPERM) return false;
    void* const mapped = const_cast<std::byte*>(peers->base());
    if (mprotect(mapped, 4096, PROT_READ | PROT_WRITE) == 0) return false;
    if (pwrite(peers->descriptor(), "torn", 4, 0) > 0) return false;
    if (ftruncate(peers->descriptor(), 0) == 0) return false;
    return std::memcmp(peers->base(), "safe", 4) == 0;
  });
  receiver.channel().pass({.descriptor = segment->descriptor(), .segment_size = 65536});

  EXPECT_EQ(receiver.wait(), 0);
  EXPECT_EQ(std::memcmp(segment->base(), "safe", 4), 0);
}

TEST(Sharing, TheMemoryOfAKilledOwnerLivesUntilTheLastReaderIsDone) {
  const Traces before = Traces::count();
  {
    Child owner(own_a_body);
    const auto queue = std::make_shared<ReleaseQueue>();
    const Buffer body = received(owner.channel().receive(), queue);

    owner.kill();
    queue->close();

    EXPECT_EQ(body.text(), "from the owner");
  }
  EXPECT_EQ(Traces::count(), before);
}

TEST(Sharing, AForwarderHoldsTheOwnersReferenceUntilItsReceiverLetsGo) {
  Child owner(own_a_body);
  Child receiver([](const Channel& forwarder) {
    const auto queue = std::make_shared<ReleaseQueue>();
    const Passed block = forwarder.receive();
    const bool is_same = received(block, queue).slice(5).text() == "the owner";
    forwarder.tell(block.handle);
    return is_same;
  });
  const auto queue = std::make_shared<ReleaseQueue>();
  Holdings lent;
  Buffer body = received(owner.channel().receive(), queue);

  receiver.channel().pass(reference_to(body, lent));
  body = {};
  EXPECT_TRUE(queue->empty());
  ASSERT_TRUE(lent.release(receiver.channel().hear()));

  std::vector<std::uint64_t> handles;
  ASSERT_TRUE(queue->take(handles));
  owner.channel().tell(handles.at(0));
  owner.channel().tell(0);
  EXPECT_EQ(owner.wait(), 0);
  EXPECT_EQ(receiver.wait(), 0);
}

TEST(Sharing, AForkedChildNeitherUsesNorReleasesWhatIsItsParents) {
  const auto arena = *Arena::make();
  Buffer own = made_in(*arena, "the parent's");
  bool is_told = false;
  const auto queue = std::make_shared<ReleaseQueue>([&] { is_told = true; });
  Buffer remote = *make_remote_buffer(*Segment::create(65536), 0, 16, queue, 1);

  Child child([&](const Channel&) {
    const bool is_refused = arena->allocate(16).error().code() == Code::invalid;
    own = {};
    remote = {};
    return is_refused && !is_told;
  });

  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(own.text(), "the parent's");
  EXPECT_FALSE(is_told);
  remote = {};
  EXPECT_TRUE(is_told);
}

TEST(Sharing, WhatAKilledReceiverHeldIsLetGoWithItsLink) {
  const auto arena = *Arena::make();
  Holdings holdings;
  Child receiver([](const Channel& link) {
    const auto queue = std::make_shared<ReleaseQueue>();
    const Buffer body = received(link.receive(), queue);
    link.tell(1);
    return link.hear() != 0;
  });
  receiver.channel().pass(reference_to(made_in(*arena, "held"), holdings));
  ASSERT_EQ(receiver.channel().hear(), 1u);
  EXPECT_EQ(arena->counters().blocks, 1u);

  receiver.kill();
  ASSERT_EQ(receiver.channel().hear(), 0u);
  holdings.clear();

  EXPECT_EQ(arena->counters().blocks, 0u);
}

}  // namespace
}  // namespace muster::arena

#include "muster/arena/remote_block.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace muster::arena {
namespace {

constexpr std::size_t kSize = 65536;

std::shared_ptr<Segment> a_segment() { return *Segment::create(kSize); }

std::vector<std::uint64_t> taken_from(ReleaseQueue& queue) {
  std::vector<std::uint64_t> handles;
  queue.take(handles);
  return handles;
}

TEST(RemoteBlock, ReturnsItsHandleWithTheLastBuffer) {
  const auto queue = std::make_shared<ReleaseQueue>();
  Buffer whole = *make_remote_buffer(a_segment(), 4096, 100, queue, 7);
  Buffer slice = whole.slice(10, 5);

  whole = {};
  EXPECT_TRUE(queue->empty());
  slice = {};

  EXPECT_EQ(taken_from(*queue), std::vector<std::uint64_t>{7});
  EXPECT_TRUE(queue->empty());
}

TEST(RemoteBlock, ShowsTheSegmentSoThatItCanBePassedOn) {
  const auto segment = a_segment();
  const auto queue = std::make_shared<ReleaseQueue>();
  const Buffer body = make_remote_buffer(segment, 4096, 100, queue, 7)->slice(3);

  ASSERT_NE(SharedBlock::of(body), nullptr);
  EXPECT_EQ(SharedBlock::of(body)->segment(), segment);
  EXPECT_EQ(body.data() - segment->base(), 4099);
}

TEST(RemoteBlock, KeepsItsSegmentOnlyWhileSomebodyReads) {
  auto segment = a_segment();
  const std::weak_ptr<Segment> watch = segment;
  const auto queue = std::make_shared<ReleaseQueue>();
  Buffer body = *make_remote_buffer(std::move(segment), 0, 1, queue, 1);
  EXPECT_FALSE(watch.expired());

  body = {};

  EXPECT_TRUE(watch.expired());
}

TEST(RemoteBlock, OutsideItsSegmentIsRefused) {
  const auto segment = a_segment();
  const auto queue = std::make_shared<ReleaseQueue>();
  struct {
    std::uint64_t offset;
    std::uint64_t size;
  } const wrong[] = {{kSize, 1}, {0, kSize + 1}, {kSize - 1, 2}, {UINT64_MAX, 1}, {1, UINT64_MAX}};

  for (const auto& [offset, size] : wrong) {
    EXPECT_EQ(make_remote_buffer(segment, offset, size, queue, 1).error().code(), Code::invalid);
  }
  EXPECT_TRUE(queue->empty());
  EXPECT_TRUE(make_remote_buffer(segment, 0, kSize, queue, 2));
  EXPECT_TRUE(make_remote_buffer(segment, kSize, 0, queue, 3));
}

TEST(RemoteBlock, IsUsedAgain) {
  const auto segment = a_segment();
  const auto queue = std::make_shared<ReleaseQueue>();
  const BufferOwner* first = make_remote_buffer(segment, 0, 1, queue, 1)->owner();
  ASSERT_EQ(taken_from(*queue).size(), 1u);

  EXPECT_EQ(make_remote_buffer(segment, 0, 1, queue, 2)->owner(), first);
}

TEST(RemoteBlock, OfMemoryThatIsNotSharedIsNone) {
  EXPECT_EQ(SharedBlock::of(Buffer{}), nullptr);
  EXPECT_EQ(SharedBlock::of(Buffer::copy_of("heap")), nullptr);
}

TEST(ReleaseQueue, TellsOnlyWhenItTurnsNonEmpty) {
  int rung = 0;
  ReleaseQueue queue([&] { ++rung; });

  queue.push(1);
  queue.push(2);
  EXPECT_EQ(rung, 1);
  EXPECT_EQ(taken_from(queue), (std::vector<std::uint64_t>{1, 2}));
  queue.push(3);

  EXPECT_EQ(rung, 2);
}

TEST(ReleaseQueue, AppendsToWhatIsThere) {
  ReleaseQueue queue;
  queue.push(2);
  std::vector<std::uint64_t> handles{1};

  EXPECT_TRUE(queue.take(handles));
  EXPECT_FALSE(queue.take(handles));

  EXPECT_EQ(handles, (std::vector<std::uint64_t>{1, 2}));
}

TEST(ReleaseQueue, DropsEverythingOnceClosed) {
  int rung = 0;
  const auto queue = std::make_shared<ReleaseQueue>([&] { ++rung; });
  Buffer late = *make_remote_buffer(a_segment(), 0, 1, queue, 1);
  queue->push(2);

  queue->close();
  queue->close();
  late = {};
  queue->push(3);

  EXPECT_EQ(rung, 1);
  EXPECT_TRUE(taken_from(*queue).empty());
}

TEST(ReleaseQueue, MayBeClosedByTheCallbackItself) {
  std::unique_ptr<ReleaseQueue> queue;
  queue = std::make_unique<ReleaseQueue>([&] { queue->close(); });
  queue->push(1);
  EXPECT_TRUE(queue->empty());
}

TEST(ReleaseQueue, MayBeGoneBeforeItsBuffers) {
  auto queue = std::make_shared<ReleaseQueue>();
  const Buffer body = *make_remote_buffer(a_segment(), 0, 1, queue, 1);
  queue->close();
  queue.reset();
  EXPECT_EQ(body.size(), 1u);
}

// Several threads let go while one makes Buffers and takes handles, as a link
// does; every handle comes back exactly once and no wake-up is missed.
TEST(ReleaseQueue, LosesNoHandleAmongThreads) {
  constexpr int kThreads = 3;
  constexpr std::uint64_t kEach = 3000;
  const auto segment = a_segment();
  std::atomic<int> rung{0};
  const auto queue = std::make_shared<ReleaseQueue>([&] { rung.fetch_add(1); });

  // A mailbox per thread that holds one Buffer.
  struct Mailbox {
    std::atomic<bool> is_full{false};
    Buffer body;
    std::uint64_t sent = 0;
  };
  std::array<Mailbox, kThreads> mailboxes;
  std::vector<std::thread> threads;
  for (Mailbox& mailbox : mailboxes) {
    threads.emplace_back([&mailbox] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        while (!mailbox.is_full.load(std::memory_order_acquire)) std::this_thread::yield();
        mailbox.body = {};
        mailbox.is_full.store(false, std::memory_order_release);
      }
    });
  }
  std::vector<std::uint64_t> returned;
  int batches = 0;
  std::uint64_t made = 0;
  while (returned.size() < kThreads * kEach) {
    for (Mailbox& mailbox : mailboxes) {
      if (mailbox.sent == kEach || mailbox.is_full.load(std::memory_order_acquire)) continue;
      mailbox.body = *make_remote_buffer(segment, made % kSize, 1, queue, made + 1);
      ++made;
      ++mailbox.sent;
      mailbox.is_full.store(true, std::memory_order_release);
    }
    if (queue->take(returned)) {
      ++batches;
    } else {
      std::this_thread::yield();
    }
  }
  for (std::thread& thread : threads) thread.join();

  std::sort(returned.begin(), returned.end());
  for (std::uint64_t i = 0; i < returned.size(); ++i) ASSERT_EQ(returned[i], i + 1);
  EXPECT_EQ(rung.load(), batches);
}

TEST(ReleaseQueue, IsClosedOnlyOnceTheCallbackHasReturned) {
  std::atomic<bool> is_inside{false};
  std::atomic<bool> is_closing{false};
  std::atomic<bool> is_done{false};
  ReleaseQueue queue([&] {
    is_inside.store(true);
    while (!is_closing.load()) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    is_done.store(true);
  });
  std::thread other([&] { queue.push(1); });
  while (!is_inside.load()) std::this_thread::yield();

  is_closing.store(true);
  queue.close();

  EXPECT_TRUE(is_done.load());
  other.join();
}

TEST(ReleaseQueue, CallsNobodyAfterItWasClosed) {
  for (int round = 0; round < 200; ++round) {
    // What the callback uses goes right after close().
    auto uses = std::make_unique<std::atomic<int>>(0);
    const auto queue = std::make_shared<ReleaseQueue>([raw = uses.get()] { raw->fetch_add(1); });
    const auto segment = a_segment();
    std::vector<Buffer> bodies;
    for (std::uint64_t i = 0; i < 4; ++i) {
      bodies.push_back(*make_remote_buffer(segment, 0, 1, queue, i));
    }
    std::atomic<bool> go{false};
    std::thread other([&] {
      while (!go.load()) std::this_thread::yield();
      bodies.clear();
    });
    go.store(true);
    std::vector<std::uint64_t> handles;
    for (int i = 0; i < round % 8; ++i) queue->take(handles);
    queue->close();
    uses.reset();
    other.join();
  }
}

}  // namespace
}  // namespace muster::arena

// Calls and messages that are refused on one rank: it says why, and nobody waits for it.

#include <span>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "muster/base/check.h"
#include "tests/collectives/local_ranks.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;

// More than a link takes in one message. Nobody may look at it.
constexpr std::size_t kTooMuch = std::size_t{17} << 30;

class Unreadable {
 public:
  explicit Unreadable(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    MUSTER_CHECK(data_ != MAP_FAILED, "there are addresses enough");
  }
  ~Unreadable() { munmap(data_, bytes_); }
  Unreadable(const Unreadable&) = delete;
  Unreadable& operator=(const Unreadable&) = delete;

  std::span<std::uint8_t> bytes() const { return {static_cast<std::uint8_t*>(data_), bytes_}; }

 private:
  std::size_t bytes_;
  void* data_;
};

void expect_refused(const Error& error) {
  EXPECT_EQ(error.code(), Code::invalid) << error.describe();
  EXPECT_NE(error.message().find("takes at most"), std::string::npos) << error.describe();
}

class TooLarge : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(OverLinks, TooLarge, ::testing::Values(Way::inproc, Way::tcp),
                         [](const auto& one) { return name(one.param); });

TEST_P(TooLarge, ABlockFailsTheOperationOnEveryRank) {
  LocalRanks ranks(GetParam(), 2);
  const Unreadable all_of_it(2 * kTooMuch);
  const Unreadable others(kTooMuch);
  ranks.run([&](Rank rank, Communicator& all) {
    const auto own = rank == 0 ? all_of_it.bytes().first(kTooMuch) : others.bytes();
    const auto done = all.scatter(all_of_it.bytes(), own, 0);
    ASSERT_FALSE(done);
    expect_refused(done.error());
    auto again = all.shrink(20s);
    ASSERT_TRUE(again) << again.error().describe();
    EXPECT_TRUE((*again)->barrier());
  });
}

TEST_P(TooLarge, ASharedBufferFailsTheOperationOnEveryRank) {
  LocalRanks ranks(GetParam(), 2);
  const Unreadable memory(kTooMuch);
  ranks.run([&](Rank rank, Communicator& all) {
    const Buffer mine = rank == 0 ? Buffer(std::as_bytes(memory.bytes()), nullptr) : Buffer();
    const auto shared = all.share(mine, 0);
    ASSERT_FALSE(shared);
    expect_refused(shared.error());
  });
}

TEST_P(TooLarge, AMessageIsRefusedBeforeItIsCopiedAndNothingElseSuffers) {
  LocalRanks ranks(GetParam(), 2);
  const Unreadable memory(kTooMuch);
  ranks.run([&](Rank rank, Communicator& all) {
    if (rank == 0) {
      const auto sent = all.send(memory.bytes(), 1);
      ASSERT_FALSE(sent);
      expect_refused(sent.error());
    }
    EXPECT_TRUE(all.barrier());
  });
}

}  // namespace
}  // namespace muster::tests

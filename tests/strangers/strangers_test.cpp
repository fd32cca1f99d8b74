// Strangers at every door: dropped in time, at a bounded price, and the process
// and its members go on.

#include <algorithm>
#include <list>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "muster/drivers/shm/setup.h"
#include "muster/net/testing/driver_suite.h"
#include "tests/strangers/stranger.h"

namespace muster::strangers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// What a stranger may take in all: the deadline, which is the driver's own at
// the shm door, a second to hang up by itself, and what a busy machine adds.
constexpr seconds kInTime = kDeadline + seconds(5) + seconds(1) + seconds(8);
// Each that may warn does so once a second at most.
constexpr int kWhoWarn = 5;
// Memory that thousands of strangers may cost. A sanitizer keeps what was freed.
constexpr std::size_t kMemoryKib = (net::testing::kIsFast ? 64 : 600) * std::size_t{1024};

class Strangers : public ::testing::TestWithParam<Door> {
 protected:
  // A member comes first: what code and libraries take when they are first used, as the cipher
  // does, is no stranger's doing.
  Strangers() {
    {
      Member member;
      EXPECT_TRUE(member.call(door()) && member.exchange());
    }
    before_ = fortress.condition();
    started_ = steady_clock::now();
  }

  net::Address door() { return fortress.address(GetParam()); }
  bool is_stream() const { return GetParam() != Door::shm; }

  // Lets a crowd say these things, each by another; all are dropped.
  void expect_dropped(const std::vector<Bytes>& sayings, bool echoes = false) {
    std::list<Stranger> crowd;
    for (const Bytes& saying : sayings) crowd.emplace_back(door()).say(saying);
    const auto end = steady_clock::now() + kInTime;
    std::size_t index = 0;
    for (const Stranger& stranger : crowd) {
      const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
      EXPECT_TRUE(stranger.is_dropped(std::max(left, milliseconds(0)), echoes)) << index;
      ++index;
    }
    expect_unharmed();
    expect_a_warning();
  }

  // It lives, lets members in, has used little memory and has logged little.
  void expect_unharmed() {
    Member member;
    const Status called = member.call(door());
    ASSERT_TRUE(called) << called.error().describe();
    EXPECT_TRUE(member.exchange());
    const Condition now = fortress.condition();
    const auto elapsed =
        std::chrono::duration_cast<seconds>(steady_clock::now() - started_).count() + 1;
    EXPECT_LE(now.warnings - before_.warnings, kWhoWarn * elapsed);
    EXPECT_LT(now.rss_kib, before_.rss_kib + kMemoryKib);
  }
  void expect_a_warning() { EXPECT_GT(fortress.condition().warnings, before_.warnings); }

  Fortress fortress;

 private:
  Condition before_;
  steady_clock::time_point started_;
};

TEST_P(Strangers, WhoSayRandomBytesAreDropped) {
  std::vector<Bytes> sayings;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    sayings.push_back(random_bytes(1 + seed * 13 % (is_stream() ? 2000 : 120), seed));
  }
  expect_dropped(sayings);
}

TEST_P(Strangers, WhoAskForAWebPageAreDropped) {
  expect_dropped({bytes_of("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")});
}

TEST_P(Strangers, WhoOfferAWrongKeyAreDropped) {
  const std::string id(32, 'a');
  expect_dropped({tls_hello("muster 1 client g1 " + id), tls_hello("muster 1 client g9 " + id),
                  tls_hello("muster 1 server g1 " + id), tls_hello(std::string(200, 'x'))});
}

TEST_P(Strangers, WhoStopHalfWayAreDroppedAtTheDeadline) {
  std::vector<Bytes> sayings = {{}};
  Bytes whole;
  switch (GetParam()) {
    case Door::plain:
    case Door::tls:
    case Door::zmq:
    case Door::ucx: whole = overhear(door()).said; break;
    case Door::shm: {
      const drivers::shm::Setup setup;
      const auto raw = std::as_bytes(std::span(&setup, 1));
      whole.assign(raw.begin(), raw.end());
    }
  }
  for (std::size_t size = 1; size < whole.size(); size += 1 + whole.size() / 60) {
    sayings.emplace_back(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
  }
  expect_dropped(sayings);
}

TEST_P(Strangers, WhoSayAByteNowAndThenAreDroppedAtTheDeadline) {
  const Bytes whole = is_stream() ? overhear(door()).said : random_bytes(100, 1);
  const Stranger stranger(door());
  const auto start = steady_clock::now();
  std::size_t said = 0;

  // A tenth of the deadline apart: with the usual one, half a second.
  while (!stranger.is_dropped(milliseconds(kDeadline) / 10) && said < whole.size()) {
    stranger.say({whole[said++]});
  }

  EXPECT_LT(said, whole.size()) << "it could go on for ever";
  EXPECT_LT(steady_clock::now() - start, kInTime);
  expect_unharmed();
}

TEST_P(Strangers, WhoseLengthsAreWrongAreDropped) {
  if (!is_stream()) {
    std::vector<Bytes> sayings;
    const drivers::shm::Setup setup;
    const auto raw = std::as_bytes(std::span(&setup, 1));
    for (std::size_t size = 1; size <= 128; size += 3) {
      Bytes saying(raw.begin(), raw.end());
      saying.resize(size, std::byte{0xff});
      sayings.push_back(saying);
    }
    return expect_dropped(sayings);
  }
  const Bytes whole = overhear(door()).said;
  std::vector<Bytes> sayings;
  // The prefix, the sizes, the head and the first fields behind it: any byte
  // that may be one of a length.
  for (std::size_t at = 0; at < std::min<std::size_t>(whole.size(), 48); ++at) {
    for (const int value : {0, 1, 0x7f, 0xff}) {
      if (whole[at] == static_cast<std::byte>(value)) continue;
      sayings.push_back(whole);
      sayings.back()[at] = static_cast<std::byte>(value);
    }
  }
  ASSERT_LT(sayings.size(), 256U) << "more than wait at once";
  expect_dropped(sayings);
}

TEST_P(Strangers, WhoRepeatWhatAMemberSaidAreDropped) {
  if (!is_stream()) return;  // Nobody can listen in on a Unix socket.
  const Overheard heard = overhear(door());
  ASSERT_FALSE(heard.said.empty());
  expect_dropped({heard.said, heard.said});
}

TEST_P(Strangers, WhoSendEverythingBackAreDropped) {
  if (!is_stream()) return expect_dropped({random_bytes(48, 5)}, true);
  const Overheard heard = overhear(door());
  // First what a member says, then whatever the fortress answers; and what the
  // fortress once answered, said to it.
  expect_dropped({heard.said}, true);
  expect_dropped({heard.answered}, true);
}

TEST_P(Strangers, WhoTakeEveryDescriptorEndNobodyAndOthersComeInAfterThem) {
  constexpr int kDescriptors = 200;
  constexpr std::size_t kCrowd = 500;
  Fortress small(kDescriptors);
  const net::Address address = small.address(GetParam());
  Member member;
  ASSERT_TRUE(member.call(address));
  const Condition before = small.condition();

  std::list<Stranger> crowd;
  for (std::size_t i = 0; i < kCrowd; ++i) crowd.emplace_back(address);
  EXPECT_TRUE(member.exchange());
  crowd.clear();
  EXPECT_TRUE(member.exchange());
  Member late;
  const Status called = late.call(address);

  ASSERT_TRUE(called) << called.error().describe();
  EXPECT_TRUE(late.exchange());
  EXPECT_TRUE(member.exchange());
  EXPECT_EQ(small.condition().links_ended, before.links_ended);
}

// The best of several, so that a busy machine does not decide: of 30, and of more for a
// moment if none was as good as wanted. Who has slept for a while wakes slowly here.
double exchanges_per_s(Member& member, double wanted = 0) {
  const auto end = steady_clock::now() + milliseconds(1500);
  double best = 0;
  for (int round = 0; round < 30 || (best <= wanted && steady_clock::now() < end); ++round) {
    constexpr int kCount = 200;
    const auto start = steady_clock::now();
    for (int i = 0; i < kCount; ++i) EXPECT_TRUE(member.exchange());
    best =
        std::max(best, kCount / std::chrono::duration<double>(steady_clock::now() - start).count());
  }
  return best;
}

TEST_P(Strangers, TenThousandWhoSayNothingLeaveOthersTheirRate) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  constexpr std::size_t kCrowd = 10'000;
  ASSERT_GT(limit.rlim_cur, kCrowd + 100) << "raise the limit of descriptors";
  Member member;
  ASSERT_TRUE(member.call(door()));
  const double before = exchanges_per_s(member);

  std::list<Stranger> crowd;
  std::size_t most = 0;
  for (std::size_t i = 0; i < kCrowd; ++i) {
    crowd.emplace_back(door());
    if (i % 1000 == 999) most = std::max(most, fortress.condition().strangers);
  }
  const double among_them = exchanges_per_s(member, before / 2);

  EXPECT_LE(most, 256U);
  const auto end = steady_clock::now() + kInTime;
  for (const Stranger& stranger : crowd) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    ASSERT_TRUE(stranger.is_dropped(std::max(left, milliseconds(0))));
  }
  crowd.clear();  // Gone they are; their descriptors here would only slow us down.
  // Who was in stays in. Measured again, since others may use the machine by now.
  const double after = exchanges_per_s(member);
  EXPECT_GT(among_them, std::min(before, after) / 2);
  expect_unharmed();
  expect_a_warning();
}

INSTANTIATE_TEST_SUITE_P(At, Strangers,
                         ::testing::Values(Door::plain, Door::tls, Door::shm, Door::zmq, Door::ucx),
                         [](const auto& one) { return std::string(name(one.param)); });

}  // namespace
}  // namespace muster::strangers

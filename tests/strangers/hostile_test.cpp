// Who is let near shared memory and ought not to be: another user's process at
// the shm door, and a member that changes what ours is reading.

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "muster/base/descriptor.h"
#include "muster/drivers/shm/setup.h"
#include "tests/strangers/stranger.h"

namespace muster::strangers {
namespace {

using net::testing::ChildProcess;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr uid_t kNobody = 65534;
constexpr seconds kInTime(30);

// A socket's name has the user in it, so both find it before they change.
std::pair<sockaddr_un, socklen_t> name_of(const std::string& address) {
  return *drivers::shm::socket_name(*net::Address::parse(address));
}
bool become_another_user() { return setresuid(kNobody, kNobody, kNobody) == 0; }

std::string line_of(ChildProcess& child) {
  const Result<std::string> line = child.pipe().read_line(kInTime);
  return line ? *line : line.error().describe();
}

// Comes to the door as a member would, but for whose process it is.
MUSTER_ROLE(foreigner) {
  const auto name = name_of(parent.arguments.at(0));
  if (!become_another_user()) {
    parent.pipe.write_line("not root");
    return 0;
  }
  const Descriptor door(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const drivers::shm::Setup setup;
  const bool has_come =
      connect(door.get(), reinterpret_cast<const sockaddr*>(&name.first), name.second) == 0;
  send(door.get(), &setup, sizeof setup, MSG_NOSIGNAL);
  pollfd one{door.get(), POLLIN, 0};
  std::array<std::byte, 64> heard{};
  const bool is_dropped = poll(&one, 1, std::chrono::milliseconds(kInTime).count()) == 1 &&
                          recv(door.get(), heard.data(), heard.size(), 0) <= 0;
  parent.pipe.write_line(!has_come ? "nobody there" : is_dropped ? "dropped" : "kept");
  return 0;
}

// Stands where a member is looked for.
MUSTER_ROLE(impostor) {
  const auto name = name_of(parent.arguments.at(0));
  if (!become_another_user()) {
    parent.pipe.write_line("not root");
    return 0;
  }
  const Descriptor door(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const bool listens =
      bind(door.get(), reinterpret_cast<const sockaddr*>(&name.first), name.second) == 0 &&
      listen(door.get(), 8) == 0;
  parent.pipe.write_line(listens ? "ready" : "no place");
  static_cast<void>(parent.pipe.read_line(kInTime));
  return 0;
}

TEST(Hostile, AProcessOfAnotherUserIsDroppedAtTheShmDoor) {
  Fortress fortress;
  const Condition before = fortress.condition();
  const std::string address = fortress.address(Door::shm).to_string();
  const auto foreigner = *ChildProcess::start("foreigner", {address});
  const std::string line = line_of(*foreigner);
  if (line == "not root") GTEST_SKIP() << "only root can become another user";
  EXPECT_EQ(line, "dropped");
  const Condition after = fortress.condition();
  EXPECT_GT(after.warnings, before.warnings) << "nobody was told";
  Member member;
  ASSERT_TRUE(member.call(fortress.address(Door::shm)));
  EXPECT_TRUE(member.exchange());
}

TEST(Hostile, AProcessOfAnotherUserIsNotTalkedTo) {
  const net::Address address{.scheme = "shm", .host = "impostor-" + std::to_string(getpid())};
  const auto impostor = *ChildProcess::start("impostor", {address.to_string()});
  const std::string line = line_of(*impostor);
  if (line == "not root") GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(line, "ready");
  Member member;
  const Status called = member.call(address);
  ASSERT_FALSE(called);
  EXPECT_NE(called.error().message().find("another user"), std::string::npos)
      << called.error().describe();
}

// Memory of this process that others have mapped too.
std::vector<std::span<std::byte>> shared_mappings() {
  std::vector<std::span<std::byte>> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:muster") == std::string::npos || line.find(" rw-s ") == std::string::npos)
      continue;
    std::istringstream words(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    words >> std::hex >> begin;
    words.ignore(1);
    words >> end;
    found.emplace_back(reinterpret_cast<std::byte*>(begin), end - begin);
  }
  return found;
}

// This process's descriptors of a kind, as /proc names it.
std::vector<int> descriptors(std::string_view kind) {
  std::vector<int> found;
  for (int number = 3; number < 256; ++number) {
    std::array<char, 64> target{};
    const std::string path = "/proc/self/fd/" + std::to_string(number);
    const ssize_t size = readlink(path.c_str(), target.data(), target.size());
    if (size > 0 &&
        std::string_view(target.data(), static_cast<std::size_t>(size)).starts_with(kind)) {
      found.push_back(number);
    }
  }
  return found;
}

class Scribbler {
 public:
  explicit Scribbler(std::uint64_t seed) : random_(seed), mappings_(shared_mappings()) {
    std::ranges::shuffle(mappings_, random_);
    // With some seeds in one place alone, with others everywhere.
    if (seed % 2 == 0 && !mappings_.empty()) mappings_.resize(1 + seed % mappings_.size());
  }
  bool has_any() const { return !mappings_.empty(); }

  // Most often where the first records lie, with words of every kind: any bits,
  // small numbers, what is there already a little changed.
  void scribble() {
    for (int i = 0; i < 2000; ++i) {
      const std::span<std::byte> memory = mappings_[random_() % mappings_.size()];
      const std::size_t words = memory.size() / 8;
      const std::size_t near = std::min<std::size_t>(words, 4096);
      auto* const word =
          reinterpret_cast<std::uint64_t*>(memory.data()) + random_() % (i % 4 ? near : words);
      std::atomic_ref<std::uint64_t> there(*word);
      switch (random_() % 4) {
        case 0: there.store(random_()); break;
        case 1: there.store(random_() % 128); break;
        case 2: there.fetch_xor(std::uint64_t{1} << random_() % 64); break;
        default: there.fetch_add(1); break;
      }
    }
  }

 private:
  std::mt19937_64 random_;
  std::vector<std::span<std::byte>> mappings_;
};

// Bodies of all sorts, so that the other side is busy with all it can be.
void send_a_burst(Member& member) {
  const TimePoint soon = member.loop().now() + seconds(10);
  net::Conversation& talk = member.conversation();
  for (const std::size_t size : {5, 500, 5'000, 70'000, 3'000'000}) {
    for (int i = 0; i < 8; ++i) {
      static_cast<void>(talk.send(Buffer::copy_of(std::string(size, 'x')), soon));
      auto memory = talk.allocate(size);
      if (memory) static_cast<void>(talk.send(std::move(*memory).freeze(size), soon));
    }
  }
}

// A farewell comes first where the other side holds bodies that were lent to it.
bool has_farewell(int socket) {
  int type = 0;
  socklen_t size = sizeof type;
  getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size);
  while (type == SOCK_SEQPACKET) {
    const auto message = drivers::shm::receive_message(socket);
    if (!message || !*message || (*message)->size == 0) return false;
    if (drivers::shm::is_farewell(**message)) return true;
  }
  return false;
}

bool is_hung_up_on(const std::vector<int>& sockets) {
  if (std::ranges::any_of(sockets, has_farewell)) return true;
  std::vector<pollfd> polled;
  for (const int socket : sockets) polled.push_back({socket, POLLRDHUP, 0});
  if (poll(polled.data(), polled.size(), 0) <= 0) return false;
  return std::ranges::any_of(polled, [](const pollfd& one) {
    return (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  });
}

// A member that proves the token, then scribbles over all memory that it shares
// until it is hung up on. From then on nothing of ours runs here: it holds the
// baton, and would only trip over itself.
MUSTER_ROLE(scribbler) {
  Member member;
  const Status called = member.call(*net::Address::parse(parent.arguments.at(0)));
  if (!called || !member.exchange()) {
    parent.pipe.write_line("not let in");
    return 0;
  }
  send_a_burst(member);
  const loop::Turn turn(member.loop());
  Scribbler scribbler(std::stoul(parent.arguments.at(1)));
  const std::vector<int> sockets = descriptors("socket:");
  const std::vector<int> bells = descriptors("anon_inode:[eventfd]");
  parent.pipe.write_line(scribbler.has_any() ? "scribbling" : "nothing to scribble on");
  const auto end = steady_clock::now() + kInTime;
  bool is_dropped = false;
  while (!is_dropped && steady_clock::now() < end) {
    scribbler.scribble();
    const std::uint64_t one = 1;
    for (const int bell : bells) {
      [[maybe_unused]] const ssize_t rung = write(bell, &one, sizeof one);
    }
    is_dropped = is_hung_up_on(sockets);
  }
  parent.pipe.write_line(is_dropped ? "dropped" : "kept");
  std::quick_exit(0);  // Its own memory is a mess, too.
}

TEST(Hostile, AMemberThatChangesWhatIsBeingReadIsDroppedAndHarmsNobody) {
  Fortress fortress;
  Member honest;
  ASSERT_TRUE(honest.call(fortress.address(Door::shm)));
  const std::string address = fortress.address(Door::shm).to_string();
  std::set<std::string> reasons;
  int ended = fortress.condition().links_ended;
  for (int seed = 0; seed < 6; ++seed) {
    const auto scribbler = *ChildProcess::start("scribbler", {address, std::to_string(seed)});
    ASSERT_EQ(line_of(*scribbler), "scribbling") << "seed " << seed;
    EXPECT_EQ(line_of(*scribbler), "dropped") << "seed " << seed;
    ASSERT_TRUE(honest.exchange()) << "seed " << seed;
    const Condition now = fortress.condition();
    EXPECT_GT(now.links_ended, ended) << "seed " << seed;
    ended = now.links_ended;
    reasons.insert(now.why_ended);
  }
  const bool was_seen = std::ranges::any_of(reasons, [](const std::string& why) {
    return why.find("nothing was heard") == std::string::npos;
  });
  EXPECT_TRUE(was_seen) << "only ever taken for silence";
  EXPECT_FALSE(reasons.contains(""));
}

}  // namespace
}  // namespace muster::strangers

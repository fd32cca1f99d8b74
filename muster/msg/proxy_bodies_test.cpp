// Bodies between proxies over shared memory: large ones, shared ones, compressed ones.

#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "muster/drivers/shm/shm.h"
#include "muster/msg/proxy.h"
#include "muster/msg/testing/local_group.h"

namespace muster::msg {
namespace {

using std::chrono::seconds;
using testing::LocalGroup;

constexpr std::size_t kSize = std::size_t{4} << 20;

// Which page of which file an address is, so that one memory that is mapped in
// several places is known again.
using Place = std::pair<std::string, std::uintptr_t>;

Place place_of(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uintptr_t offset = 0;
    std::string rights;
    std::string device;
    std::string inode;
    char dash = 0;
    words >> std::hex >> begin >> dash >> end >> rights >> offset >> device >> inode;
    if (address < begin || address >= end) continue;
    return {device + " " + inode, offset + (address - begin)};
  }
  ADD_FAILURE() << "the address is not mapped";
  return {};
}

std::string pattern() {
  std::string text(kSize, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i / 7 % 23);
  return text;
}

struct ProxyBodies : ::testing::Test {
  ProxyBodies() {
    for (const char* name : {"worker_1", "worker_2", "worker_3"}) {
      workers.push_back(group.start(name));
    }
    master = group.join("master", {{.type = "worker", .count = 3}});
  }
  // What each worker was sent.
  std::vector<Message> received() {
    std::vector<Message> all;
    for (const auto& worker : workers) {
      auto message = worker->receive_once(seconds(20));
      EXPECT_TRUE(message && *message);
      if (message && *message) all.push_back(**message);
    }
    return all;
  }

  LocalGroup group{[](loop::Loop& loop) { return *drivers::make_shm_driver(loop); }};
  std::vector<std::unique_ptr<Proxy>> workers;
  std::unique_ptr<Proxy> master;
};

TEST_F(ProxyBodies, ABroadcastWritesALargeBodyOnceHoweverManyReadIt) {
  const std::string text = pattern();
  ASSERT_TRUE(
      master->ibroadcast(Audience::type("worker"), {.tag = "t", .body = Buffer::copy_of(text)}));
  std::set<Place> places;
  const std::vector<Message> messages = received();
  ASSERT_EQ(messages.size(), 3U);
  for (const Message& message : messages) {
    const Buffer* const body = message.body().as_bytes();
    ASSERT_NE(body, nullptr);
    EXPECT_EQ(body->text(), text);
    places.insert(place_of(body->data()));
  }
  EXPECT_EQ(places.size(), 1U) << "there is more than one copy";
}

TEST_F(ProxyBodies, AScatterWritesALargePartOnceHoweverManyReadIt) {
  const std::string text = pattern();
  const Buffer weights = Buffer::copy_of(text);
  const auto body = [&](int number) { return wire::Value::Map{{"w", weights}, {"i", number}}; };
  ASSERT_TRUE(master->iscatter(
      {.tag = "t"}, {{"worker_1", body(1)}, {"worker_2", body(2)}, {"worker_3", body(1)}}));
  std::set<Place> places;
  const std::vector<Message> messages = received();
  ASSERT_EQ(messages.size(), 3U);
  for (const Message& message : messages) {
    const Buffer* const part = message.body().find("w")->as_bytes();
    ASSERT_NE(part, nullptr);
    EXPECT_EQ(part->text(), text);
    places.insert(place_of(part->data()));
  }
  EXPECT_EQ(places.size(), 1U) << "there is more than one copy";
}

TEST_F(ProxyBodies, MemoryThatAProxyGaveIsReadWhereItLies) {
  auto memory = master->allocate(kSize);
  ASSERT_TRUE(memory);
  const std::string text = pattern();
  std::memcpy(memory->data(), text.data(), text.size());
  const Place written = place_of(memory->data());
  const Buffer body = std::move(*memory).freeze(kSize);
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(
        master->isend({.tag = "t", .destination = "worker_" + std::to_string(i), .body = body}));
  }
  for (const Message& message : received()) {
    EXPECT_EQ(place_of(message.body().as_bytes()->data()), written);
    EXPECT_EQ(message.body().as_bytes()->text(), text);
  }
}

TEST_F(ProxyBodies, MemoryIsGivenWhileAnotherThreadIsInTheLoop) {
  const loop::Turn turn(master->loop());
  // Large memory takes long to make present: beats and frames must not wait for it.
  std::thread([&] { EXPECT_TRUE(master->allocate(kSize)); }).join();
}

TEST_F(ProxyBodies, LargeOnesArriveWholeHoweverTheyAreCompressed) {
  const std::string text = pattern();
  for (const Compression how : {Compression::none, Compression::zstd, Compression::lz4}) {
    const std::uint64_t before = master->peer("worker_1")->bytes_sent;
    ASSERT_TRUE(master->isend({.tag = "t",
                               .destination = "worker_1",
                               .body = Buffer::copy_of(text),
                               .compression = how}));
    const auto message = workers[0]->receive_once(seconds(20));
    ASSERT_TRUE(message && *message);
    EXPECT_EQ((*message)->body().as_bytes()->text(), text);
    const std::uint64_t sent = master->peer("worker_1")->bytes_sent - before;
    if (how == Compression::none) {
      EXPECT_GE(sent, kSize);
    } else {
      EXPECT_LT(sent, kSize / 2);
    }
  }
}

TEST_F(ProxyBodies, AboveTheReceiversLimitAreRefusedBeforeTheyAreSent) {
  ProxyOptions options = group.options("small");
  options.max_body = 1000;
  const auto small = group.join(options, {{.name = "master"}});
  ASSERT_TRUE(master->wait_for_peers({{.name = "small"}}, seconds(20)));
  const auto sent = master->isend(
      {.tag = "t", .destination = "small", .body = Buffer::copy_of(std::string(2000, 'x'))});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), Code::invalid);
}

}  // namespace
}  // namespace muster::msg

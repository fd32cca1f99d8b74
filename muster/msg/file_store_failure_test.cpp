// The stores that ship, where the disk is full, and where several threads use one.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "muster/msg/file_dedup_store.h"
#include "muster/msg/file_outbox.h"
#include "muster/msg/testing/store_folder.h"

namespace muster::msg {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// While it lives no file of this process grows beyond `size`.
class FullDisk {
 public:
  explicit FullDisk(std::uint64_t size) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = size;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*signal_)(int);
};

StoredMessage stored(std::uint64_t number, std::size_t size) {
  StoredMessage one;
  one.destination = "worker_1";
  one.message.head.kind = MessageKind::notification_request;
  one.message.head.form = BodyForm::bytes;
  one.message.head.is_kept = true;
  one.message.head.message = one.message.head.session = {5, number};
  one.message.head.tag = "note";
  one.message.parts.push_back(Buffer::copy_of(std::string(size, 'x')));
  return one;
}

class FailingStores : public testing::StoreFolder {
 protected:
  std::vector<std::uint64_t> numbers_in_outbox() const {
    std::vector<std::uint64_t> numbers;
    const auto outbox = *FileOutbox::open(path);
    const std::vector<StoredMessage> loaded = *outbox->load();
    for (const StoredMessage& one : loaded) {
      numbers.push_back(one.message.head.message.low);
    }
    return numbers;
  }
};

using Numbers = std::vector<std::uint64_t>;

TEST_F(FailingStores, HaveNothingOfWhatTheDiskHadNoRoomForInAnOutbox) {
  const StoredMessage first[] = {stored(1, 10)};
  const StoredMessage more[] = {stored(2, 10), stored(3, 5000)};
  const MessageId removed[] = {{5, 1}};
  auto outbox = *FileOutbox::open(path);
  ASSERT_TRUE(outbox->write(first, {}));
  const std::uint64_t before = outbox->file_size();
  Status written = ok();
  {
    const FullDisk disk(before + 1000);
    written = outbox->write(more, removed);
  }
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::unavailable);
  EXPECT_EQ(outbox->file_size(), before);
  outbox.reset();
  EXPECT_EQ(numbers_in_outbox(), Numbers{1}) << "what is told as dropped is not sent later";
  outbox = *FileOutbox::open(path);
  EXPECT_TRUE(outbox->write(more, removed)) << "once there is room again";
  outbox.reset();
  EXPECT_EQ(numbers_in_outbox(), (Numbers{2, 3}));
}

TEST_F(FailingStores, HaveWhatWasWrittenThoughAnOutboxCannotBeCompacted) {
  auto outbox = *FileOutbox::open(path, {.journal = {.syncs = false}, .compacts_from = 1});
  std::filesystem::create_directory(path + ".new");  // In the way of it.
  std::uint64_t i = 1;
  const auto replace = [&] {
    const StoredMessage added[] = {stored(i + 1, 500)};
    const MessageId removed[] = {{5, i}};
    ++i;
    return outbox->write(added, removed);
  };
  while (i < 20) ASSERT_TRUE(replace()) << i;
  const std::uint64_t large = outbox->file_size();
  EXPECT_GT(large, 10'000U);
  std::filesystem::remove(path + ".new");
  while (i < 100 && outbox->file_size() >= large) ASSERT_TRUE(replace());
  EXPECT_LT(outbox->file_size(), large) << "which is tried again";
  outbox.reset();
  EXPECT_EQ(numbers_in_outbox(), Numbers{i});
}

TEST_F(FailingStores, CommitAllOrNothingOfWhatWasHandled) {
  const Handled both[] = {{{"master", {5, 1}}, Buffer::copy_of("small")},
                          {{"master", {5, 2}}, Buffer::copy_of(std::string(5000, 'x'))}};
  const auto store = *FileDedupStore::open(path);
  {
    const FullDisk disk(1000);
    EXPECT_FALSE(store->commit(both));
  }
  EXPECT_TRUE(store->load()->empty());
  EXPECT_TRUE(store->commit(both));
  EXPECT_EQ(store->load()->size(), 2U);
}

TEST_F(FailingStores, LoseNoEffectToASnapshotThatAnotherThreadTakes) {
  constexpr std::uint64_t kEach = 300;
  std::uint64_t total = 0;
  const auto add = [&](std::span<const std::byte> effect) {
    total += std::stoull(std::string(reinterpret_cast<const char*>(effect.data()), effect.size()));
  };
  {
    const auto store = *FileDedupStore::open(path, add, {.journal = {.syncs = false}});
    const auto handle = [&](std::uint64_t source) {
      for (std::uint64_t i = 1; i <= kEach; ++i) {
        const Message message({.tag = "add", .source = "master", .message_id = {source, i}});
        EXPECT_TRUE(store->commit(message, bytes_of("1"), std::nullopt, add));
      }
    };
    std::thread first(handle, 1);
    std::thread second(handle, 2);
    for (int i = 0; i < 40; ++i) {
      EXPECT_TRUE(store->compact([&] {
        const std::string text = std::to_string(total);
        const auto bytes = bytes_of(text);
        return std::vector<std::byte>(bytes.begin(), bytes.end());
      }));
    }
    first.join();
    second.join();
  }
  EXPECT_EQ(total, 2 * kEach);
  total = 0;
  const auto store = *FileDedupStore::open(path, add);
  EXPECT_EQ(total, 2 * kEach);
  EXPECT_EQ(store->load()->size(), 2 * kEach);
}

}  // namespace
}  // namespace muster::msg

// The stores that ship: what is in their files after the process ended, anyhow.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "muster/msg/file_dedup_store.h"
#include "muster/msg/file_outbox.h"
#include "muster/msg/stored_message.h"
#include "muster/msg/testing/store_folder.h"

namespace muster::msg {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

Message message_of(std::uint64_t number) {
  return Message({.tag = "add", .source = "master", .message_id = {5, number}});
}
HandledId id_of(std::uint64_t number) { return {"master", {5, number}}; }
Handled handled(std::uint64_t number, std::string_view reply = "") {
  return {id_of(number), Buffer::copy_of(reply)};
}

std::vector<HandledId> ids_in(DedupStore& store) {
  const auto all = *store.load();
  return {all.begin(), all.end()};
}

class FileStores : public testing::StoreFolder {
 protected:
  std::unique_ptr<FileDedupStore> open_dedup(const FileDedupOptions& options = {}) {
    effects.clear();
    auto store = FileDedupStore::open(
        path,
        [this](std::span<const std::byte> effect) {
          effects.emplace_back(reinterpret_cast<const char*>(effect.data()), effect.size());
        },
        options);
    EXPECT_TRUE(store) << store.error().message();
    return *std::move(store);
  }

  using Texts = std::vector<std::string>;
  Texts effects;
};

TEST_F(FileStores, RememberIdsAndEffectsTogetherAndGiveThemBackInOrder) {
  {
    const auto store = open_dedup();
    EXPECT_TRUE(store->commit(message_of(1), bytes_of("one")));
    EXPECT_TRUE(store->commit(message_of(2), bytes_of("two")));
    EXPECT_EQ(store->commit(message_of(2), bytes_of("again")).error().code(), Code::invalid);
    const Handled more[] = {handled(2), handled(3)};
    EXPECT_TRUE(store->commit(more));
  }
  const auto store = open_dedup();
  EXPECT_EQ(effects, (Texts{"one", "two"}));
  EXPECT_EQ(ids_in(*store), (std::vector{id_of(1), id_of(2), id_of(3)}));
}

TEST_F(FileStores, HaveAnEffectAndItsIdOrNeitherWhereverTheFileWasTorn) {
  {
    const auto store = open_dedup();
    EXPECT_TRUE(store->commit(message_of(1), bytes_of("one")));
    EXPECT_TRUE(store->commit(message_of(2), bytes_of("two")));
  }
  const auto whole = std::filesystem::file_size(path);
  const std::filesystem::path copy = folder / "copy";
  std::filesystem::copy(path, copy);
  for (std::uintmax_t size = 0; size <= whole; ++size) {
    std::filesystem::copy_file(copy, path, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(path, size);
    const auto store = open_dedup();
    const auto ids = *store->load();
    ASSERT_EQ(ids.size(), effects.size()) << size;
    EXPECT_TRUE(effects.empty() || effects[0] == "one");
  }
  EXPECT_EQ(effects.size(), 2U);
}

TEST_F(FileStores, ForgetWhatTheSendersKnowAndStaySmall) {
  {
    const auto store = open_dedup({.journal = {.syncs = false}, .compacts_from = 4096});
    EXPECT_TRUE(store->commit(message_of(1), bytes_of("one")));
    for (std::uint64_t i = 1; i <= 5000; ++i) {
      const HandledId ids[] = {id_of(i)};
      const Handled more[] = {handled(i)};
      EXPECT_TRUE(store->commit(more));
      EXPECT_TRUE(i == 5000 || store->forget(ids));
      ASSERT_LT(store->file_size(), 10'000U) << i;
    }
  }
  const auto store = open_dedup();
  EXPECT_EQ(effects, Texts{"one"}) << "an effect stays though its id is forgotten";
  EXPECT_EQ(ids_in(*store), std::vector{id_of(5000)});
}

TEST_F(FileStores, ReplaceEffectsByASnapshot) {
  {
    const auto store = open_dedup({.journal = {.syncs = false}});
    for (std::uint64_t i = 1; i <= 100; ++i) {
      EXPECT_TRUE(store->commit(message_of(i), bytes_of("plus one")));
    }
    EXPECT_TRUE(store->compact(bytes_of("one hundred")));
    EXPECT_TRUE(store->commit(message_of(101), bytes_of("plus one")));
  }
  const auto store = open_dedup();
  EXPECT_EQ(effects, (Texts{"one hundred", "plus one"}));
  EXPECT_EQ(store->load()->size(), 101U);
  EXPECT_EQ(store->commit(message_of(7), {}).error().code(), Code::invalid);
}

TEST_F(FileStores, GiveBackRepliesUntilTheirSendersHaveHeardThem) {
  const Message task({.tag = "add",
                      .source = "master",
                      .session_id = {6, 1},
                      .message_id = {5, 1},
                      .priority = Priority::low});
  const Message note({.tag = "note",
                      .source = "master",
                      .session_type = SessionType::notification,
                      .message_id = {5, 9}});
  {
    const auto store = open_dedup({.compacts_from = 0});
    EXPECT_TRUE(store->commit(task, bytes_of("one"), wire::Value("first")));
    EXPECT_EQ(store->commit(note, {}, wire::Value(1)).error().code(), Code::invalid);
    EXPECT_TRUE(store->commit(message_of(2), bytes_of("two")));
    const Handled more[] = {handled(1, "other"), handled(2, "second"), handled(3, "third")};
    EXPECT_TRUE(store->commit(more)) << "the reply to 1 is there, that to 2 was not";
    const HandledId heard[] = {id_of(3)};
    EXPECT_TRUE(store->forget(heard));
  }
  for (int round = 0; round < 2; ++round) {
    const auto store = open_dedup({.compacts_from = 0});
    EXPECT_EQ(effects, round == 0 ? (Texts{"one", "two"}) : Texts{"both"});
    const auto all = *store->load();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[1].reply.text(), "second");
    const auto reply = internal::message_from_bytes(all[0].reply);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->head.kind, MessageKind::task_complete);
    EXPECT_EQ(reply->head.session, task.session_id());
    EXPECT_EQ(reply->head.tag, Tag("add"));
    EXPECT_EQ(reply->priority, Priority::low);
    EXPECT_EQ(*decode_body(reply->head.form, reply->head.compression, reply->parts),
              wire::Value("first"));
    EXPECT_TRUE(store->compact(bytes_of("both"))) << "which keeps what is known";
  }
}

TEST(StoredMessage, IsNoneWhereItsBytesAreNot) {
  EXPECT_FALSE(internal::message_from_bytes(Buffer()));
  OutgoingMessage message;
  message.head.kind = MessageKind::task_complete;
  message.head.session = message.head.message = {1, 1};
  message.head.tag = "add";
  message.parts.push_back(Buffer::copy_of("body"));
  const Buffer bytes = internal::message_to_bytes(message);
  EXPECT_EQ(internal::message_from_bytes(bytes)->parts[0].text(), "body");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(internal::message_from_bytes(Buffer::copy_of(bytes.bytes().first(size)))) << size;
  }
  EXPECT_FALSE(internal::message_from_bytes(Buffer::copy_of(std::string(bytes.text()) + "x")));
}

StoredMessage stored(std::uint64_t number, std::string_view text) {
  StoredMessage one;
  one.destination = "worker_1";
  one.message.head.kind = MessageKind::notification_request;
  one.message.head.form = BodyForm::bytes;
  one.message.head.is_kept = true;
  one.message.head.message = one.message.head.session = {5, number};
  one.message.head.tag = "note";
  one.message.priority = Priority::low;
  one.message.parts.push_back(Buffer::copy_of(text));
  return one;
}

TEST_F(FileStores, GiveBackMessagesAsTheyWereWithoutThoseRemoved) {
  using std::chrono::system_clock;
  const auto deadline = std::chrono::time_point_cast<std::chrono::milliseconds>(
      system_clock::now() + std::chrono::hours(1));
  {
    auto outbox = *FileOutbox::open(path);
    StoredMessage due = stored(3, "three");
    due.deadline = deadline;
    const StoredMessage added[] = {stored(1, "one"), stored(2, ""), due};
    EXPECT_TRUE(outbox->write(added, {}));
    const MessageId removed[] = {{5, 1}};
    EXPECT_TRUE(outbox->write({}, removed));
  }
  auto outbox = *FileOutbox::open(path);
  const auto loaded = *outbox->load();
  ASSERT_EQ(loaded.size(), 2U);
  EXPECT_EQ(loaded[0].message.head.message, (MessageId{5, 2}));
  EXPECT_FALSE(loaded[0].deadline);
  const StoredMessage& last = loaded[1];
  EXPECT_EQ(last.destination, "worker_1");
  EXPECT_EQ(last.deadline, deadline);
  EXPECT_EQ(last.message.priority, Priority::low);
  EXPECT_TRUE(last.message.head.is_kept);
  EXPECT_EQ(last.message.head.tag, Tag("note"));
  EXPECT_EQ(last.message.parts[0].text(), "three");
}

TEST_F(FileStores, KeepAnOutboxSmallAsMessagesComeAndGo) {
  auto outbox = *FileOutbox::open(path, {.journal = {.syncs = false}, .compacts_from = 1 << 16});
  for (std::uint64_t i = 1; i <= 2000; ++i) {
    const StoredMessage added[] = {stored(i, std::string(500, 'x'))};
    EXPECT_TRUE(outbox->write(added, {}));
    if (i <= 10) continue;  // Ten are there all the time.
    const MessageId removed[] = {{5, i - 10}};
    EXPECT_TRUE(outbox->write({}, removed));
    ASSERT_LT(outbox->file_size(), 150'000U);
  }
  outbox.reset();
  outbox = *FileOutbox::open(path);
  const auto loaded = *outbox->load();
  ASSERT_EQ(loaded.size(), 10U);
  EXPECT_EQ(loaded[0].message.head.message, (MessageId{5, 1991}));
}

TEST_F(FileStores, RefuseARecordThatIsDamaged) {
  {
    auto journal = *Journal::open(path, [](auto) { return ok(); });
    EXPECT_TRUE(journal.append(bytes_of("\x01nonsense")));
  }
  EXPECT_EQ(FileOutbox::open(path).error().code(), Code::invalid);
  EXPECT_EQ(FileDedupStore::open(path).error().code(), Code::invalid);
}

TEST_F(FileStores, RefuseAnOutboxWithRecordsOrTimesThatAreNone) {
  std::vector<std::byte> good;
  {
    const StoredMessage added[] = {stored(1, "one")};
    ASSERT_TRUE((*FileOutbox::open(path))->write(added, {}));
  }
  ASSERT_TRUE(Journal::open(path, [&](std::span<const std::byte> record) {
    good.assign(record.begin(), record.end());
    return ok();
  }));
  constexpr std::size_t kAtDeadline = 1 + 4 + std::string_view("worker_1").size();
  std::vector<std::byte> of_no_kind = good;
  of_no_kind[0] = std::byte{7};
  std::vector<std::byte> of_no_time = good;
  std::fill_n(of_no_time.begin() + kAtDeadline, 7, std::byte{0xff});
  const std::vector<std::byte> cut{std::byte{2}, std::byte{1}};
  int count = 0;
  for (const auto& record : {good, of_no_kind, of_no_time, cut}) {
    const std::string file = path + std::to_string(++count);
    ASSERT_TRUE(Journal::open(file, [](auto) { return ok(); })->append(record));
    const auto outbox = FileOutbox::open(file);
    EXPECT_EQ(outbox.has_value(), record == good) << count;
    EXPECT_TRUE(outbox || outbox.error().code() == Code::invalid) << count;
  }
}

}  // namespace
}  // namespace muster::msg

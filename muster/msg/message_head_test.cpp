#include "muster/msg/message_head.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::msg {
namespace {

MessageHead some_head() {
  MessageHead head;
  head.kind = MessageKind::notification_request;
  head.form = BodyForm::document;
  head.compression = Compression::lz4;
  head.wants_receipt = true;
  head.time_left_ms = 1500;
  head.session = {0x1122334455667788, 0x99AABBCCDDEEFF00};
  head.message = {1, 2};
  head.tag = "rollout";
  return head;
}

wire::Head written(const MessageHead& head) {
  wire::Head bytes;
  write_message_head(head, bytes);
  std::memset(bytes.resize(bytes.size()).data(), 0, net::kLinkHead);
  return bytes;
}

// `head` with one byte, counted behind the link's, changed.
wire::Head with(const MessageHead& head, std::size_t at, int value) {
  wire::Head bytes = written(head);
  bytes.resize(bytes.size())[net::kLinkHead + at] = static_cast<std::byte>(value);
  return bytes;
}

TEST(MessageHead, IsReadAsItWasWritten) {
  const MessageHead head = some_head();
  const Result<MessageHead> read = read_message_head(written(head));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->kind, head.kind);
  EXPECT_EQ(read->form, head.form);
  EXPECT_EQ(read->compression, head.compression);
  EXPECT_TRUE(read->wants_receipt);
  EXPECT_FALSE(read->is_failure || read->is_redelivered);
  EXPECT_EQ(read->time_left_ms, 1500U);
  EXPECT_EQ(read->session, head.session);
  EXPECT_EQ(read->message, head.message);
  EXPECT_EQ(read->tag, head.tag);
}

TEST(MessageHead, TellsWhetherItIsKeptAndHowMuchItsSenderHasHeard) {
  MessageHead head = some_head();
  head.is_kept = true;
  head.heard = 0x01020304;
  const Result<MessageHead> read = read_message_head(written(head));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(read->is_kept && read->wants_receipt && !read->is_redelivered);
  EXPECT_EQ(read->heard, 0x01020304U);
}

TEST(MessageHead, OfEveryKindKnowsItsSessionTypeAndStage) {
  for (const auto type : {SessionType::task, SessionType::notification}) {
    for (const auto stage : {Stage::request, Stage::receive, Stage::complete}) {
      if (type == SessionType::notification && stage == Stage::complete) continue;
      MessageHead head;
      head.kind = kind_of(type, stage);
      EXPECT_EQ(head.session_type(), type);
      EXPECT_EQ(head.stage(), stage);
    }
  }
}

TEST(MessageHead, IsRefusedIfAnythingInItIsUnknown) {
  const MessageHead head = some_head();
  EXPECT_FALSE(read_message_head(with(head, 0, 0))) << "kind";
  EXPECT_FALSE(read_message_head(with(head, 0, 12))) << "kind";
  EXPECT_FALSE(read_message_head(with(head, 1, 16))) << "flags";
  EXPECT_FALSE(read_message_head(with(head, 1, 2))) << "a failed notification";
  EXPECT_FALSE(read_message_head(with(head, 0, 1))) << "a task with a receipt";
  MessageHead answer = some_head();
  answer.kind = MessageKind::task_complete;
  answer.wants_receipt = false;
  EXPECT_FALSE(read_message_head(with(answer, 1, 8))) << "an answer that is kept";
  EXPECT_FALSE(read_message_head(with(head, 2, 3))) << "form";
  EXPECT_FALSE(read_message_head(with(head, 3, 3))) << "compression";
  for (const std::size_t at : {5, 6, 7}) {
    EXPECT_FALSE(read_message_head(with(head, at, 1))) << at;
  }
}

TEST(MessageHead, IsRefusedIfItsTagIsNotWhatItsSizeSays) {
  const MessageHead head = some_head();
  for (const int size : {0, 6, 8, 49, 255}) {
    EXPECT_FALSE(read_message_head(with(head, 4, size))) << size;
  }
  EXPECT_FALSE(read_message_head(with(head, kMessageHead, 0xFF))) << "not UTF-8";
}

TEST(MessageHead, IsRefusedWithoutIds) {
  MessageHead head = some_head();
  head.session = {};
  EXPECT_FALSE(read_message_head(written(head)));
  head = some_head();
  head.message = {};
  EXPECT_FALSE(read_message_head(written(head)));
}

RC_GTEST_PROP(MessageHead, OfAnyBytesIsReadOrRefusedAndThenWrittenTheSame,
              (const std::vector<std::uint8_t>& bytes)) {
  wire::Head head;
  const auto room = head.resize(net::kLinkHead + std::min(bytes.size(), net::kMaxUserHead));
  std::ranges::fill(room, std::byte{});
  for (std::size_t i = 0; net::kLinkHead + i < room.size(); ++i) {
    room[net::kLinkHead + i] = static_cast<std::byte>(bytes[i]);
  }
  const Result<MessageHead> read = read_message_head(head);
  if (!read) return;
  const wire::Head again = written(*read);
  RC_ASSERT(std::ranges::equal(again.bytes(), head.bytes()));
}

TEST(Tag, IsOfAStringOrAnEnumerator) {
  EXPECT_EQ(Tag("sum").text(), "sum");
  EXPECT_EQ(Tag(std::string("sum")), Tag(std::string_view("sum")));
  EXPECT_TRUE(Tag(std::string(kMaxTag, 'x')).is_valid());
  EXPECT_FALSE(Tag(std::string(kMaxTag + 1, 'x')).is_valid());
  EXPECT_FALSE(Tag("").is_valid());
}

enum class Step { rollout, update };
std::string_view tag_name(Step step) { return step == Step::rollout ? "rollout" : "update"; }

TEST(Tag, OfAnEnumeratorIsItsName) {
  EXPECT_EQ(Tag(Step::update), Tag("update"));
  EXPECT_NE(Tag(Step::update), Tag(Step::rollout));
}

// MUSTER_REWRITE=1 in the environment writes the file anew, to be reviewed as a diff.
TEST(MessageHead, IsWrittenAsEver) {
  const wire::Head head = written(some_head());
  std::string text = "# A notification that wants a receipt: link head left out.\n";
  for (std::size_t i = 0; i < head.size() - net::kLinkHead; ++i) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = std::to_integer<unsigned>(head.bytes()[net::kLinkHead + i]);
    text += i % 16 == 0 ? (i == 0 ? "" : "\n") : " ";
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  text += "\n";
  const std::filesystem::path path =
      std::filesystem::path(MUSTER_SOURCE_DIR) / "muster/msg/golden/v1/message_head.hex";
  const char* rewrite = std::getenv("MUSTER_REWRITE");
  if (rewrite != nullptr && std::string_view(rewrite) == "1") {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::stringstream kept;
  kept << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, kept.str());
}

}  // namespace
}  // namespace muster::msg

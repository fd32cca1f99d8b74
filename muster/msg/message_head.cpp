#include "muster/msg/message_head.h"

#include <string>

#include "muster/wire/bytes.h"
#include "muster/wire/value.h"

namespace muster::msg {
namespace {

constexpr std::uint8_t kWantsReceipt = 1;
constexpr std::uint8_t kIsFailure = 2;
constexpr std::uint8_t kIsRedelivered = 4;
constexpr std::uint8_t kIsKept = 8;

// In memory as on the wire.
struct Layout {
  std::uint8_t kind;
  std::uint8_t flags;
  std::uint8_t form;
  std::uint8_t compression;
  std::uint8_t tag_size;
  std::uint8_t zero[3];
  std::uint32_t time_left_ms;
  std::uint32_t heard;
  std::uint64_t session[2];
  std::uint64_t message[2];
};
static_assert(sizeof(Layout) == kMessageHead);

// Null if all is well.
const char* fault_of(const Layout& layout, std::size_t size) {
  const auto kind = static_cast<MessageKind>(layout.kind);
  if (kind < MessageKind::task_request || kind > MessageKind::farewell) return "unknown kind";
  if (layout.flags > (kWantsReceipt | kIsFailure | kIsRedelivered | kIsKept))
    return "unknown flags";
  if ((layout.flags & kWantsReceipt) != 0 && kind != MessageKind::notification_request) {
    return "a receipt is wanted for what is no notification";
  }
  if ((layout.flags & kIsFailure) != 0 && kind != MessageKind::task_complete) {
    return "a failure that completes nothing";
  }
  if ((layout.flags & kIsKept) != 0 && kind != MessageKind::task_request &&
      kind != MessageKind::notification_request) {
    return "kept, though it is no request";
  }
  if (layout.form > static_cast<std::uint8_t>(BodyForm::document)) return "unknown body form";
  if (layout.compression > static_cast<std::uint8_t>(Compression::lz4)) {
    return "unknown compression";
  }
  if ((layout.zero[0] | layout.zero[1] | layout.zero[2]) != 0) {
    return "not zero where nothing is";
  }
  if (layout.tag_size == 0 || layout.tag_size > kMaxTag) return "no tag, or one that is too long";
  if (size != kMessageHead + layout.tag_size) return "its size is not that of its tag";
  if ((layout.session[0] | layout.session[1]) == 0) return "no session";
  if ((layout.message[0] | layout.message[1]) == 0) return "no message id";
  return nullptr;
}

}  // namespace

bool is_text(const Tag& tag) { return tag.is_ascii() || wire::is_utf8(tag.text()); }

MessageKind kind_of(SessionType type, Stage stage) {
  if (type == SessionType::notification) {
    return stage == Stage::request ? MessageKind::notification_request
                                   : MessageKind::notification_receive;
  }
  switch (stage) {
    case Stage::receive: return MessageKind::task_receive;
    case Stage::complete: return MessageKind::task_complete;
    default: return MessageKind::task_request;
  }
}

void write_message_head(const MessageHead& message, wire::Head& head) {
  const std::size_t tag_size = message.tag.text().size();
  Layout layout{};
  layout.kind = static_cast<std::uint8_t>(message.kind);
  layout.flags = static_cast<std::uint8_t>(
      (message.wants_receipt ? kWantsReceipt : 0) | (message.is_failure ? kIsFailure : 0) |
      (message.is_redelivered ? kIsRedelivered : 0) | (message.is_kept ? kIsKept : 0));
  layout.form = static_cast<std::uint8_t>(message.form);
  layout.compression = static_cast<std::uint8_t>(message.compression);
  layout.tag_size = static_cast<std::uint8_t>(tag_size);
  layout.time_left_ms = message.time_left_ms;
  layout.heard = message.heard;
  layout.session[0] = message.session.high;
  layout.session[1] = message.session.low;
  layout.message[0] = message.message.high;
  layout.message[1] = message.message.low;
  std::byte* to = head.resize(net::kLinkHead + kMessageHead + tag_size).data() + net::kLinkHead;
  std::memcpy(to, &layout, kMessageHead);
  message.tag.copy_to(to + kMessageHead);
}

const char* read_message_head(const wire::Head& head, MessageHead& message) {
  if (head.size() < net::kLinkHead + kMessageHead) return "it is too short";
  const auto bytes = head.bytes().subspan(net::kLinkHead);
  const auto layout = wire::load<Layout>(bytes.data());
  if (const char* fault = fault_of(layout, bytes.size())) return fault;
  message.tag = Tag::copy_of(bytes.data() + kMessageHead, layout.tag_size);
  if (!is_text(message.tag)) return "a tag that is not UTF-8";

  message.kind = static_cast<MessageKind>(layout.kind);
  message.form = static_cast<BodyForm>(layout.form);
  message.compression = static_cast<Compression>(layout.compression);
  message.wants_receipt = (layout.flags & kWantsReceipt) != 0;
  message.is_failure = (layout.flags & kIsFailure) != 0;
  message.is_redelivered = (layout.flags & kIsRedelivered) != 0;
  message.is_kept = (layout.flags & kIsKept) != 0;
  message.time_left_ms = layout.time_left_ms;
  message.heard = layout.heard;
  message.session = {layout.session[0], layout.session[1]};
  message.message = {layout.message[0], layout.message[1]};
  return nullptr;
}

Result<MessageHead> read_message_head(const wire::Head& head) {
  MessageHead message;
  if (const char* fault = read_message_head(head, message)) {
    return Error(Code::invalid, "a message's head: " + std::string(fault));
  }
  return message;
}

}  // namespace muster::msg

// A message's own bytes in the head of its frame, behind the link's.
//
// docs/reference/wire.md has the table. Pure.

#pragma once

#include <cstddef>
#include <cstdint>

#include "muster/base/id.h"
#include "muster/base/result.h"
#include "muster/msg/session.h"
#include "muster/msg/tag.h"
#include "muster/net/link_head.h"
#include "muster/wire/frame.h"

namespace muster::msg {

// Without the tag, which follows.
inline constexpr std::size_t kMessageHead = 48;
// A whole tag, with what lies behind it, always has a place in a head.
static_assert(kMessageHead + kMaxTag <= net::kMaxUserHead);

// The numbers travel, all below: append, never renumber.
enum class MessageKind : std::uint8_t {
  task_request = 1,
  task_receive = 2,
  task_complete = 3,
  notification_request = 4,
  notification_receive = 5,
  introduction = 6,  // Proxies tell each other who they are.
  question = 7,      // From whoever knows the token: how do you do?
  report = 8,        // Its answer (report.h).
  done = 9,          // Of what was to be handled at least once: these were.
  holdings = 10,     // The same as a link begins, and what else has come.
  farewell = 11,     // It leaves the group: the link's end, which follows, is no loss.
};

// How the frame's parts make the body.
enum class BodyForm : std::uint8_t {
  none = 0,      // No parts: nil.
  bytes = 1,     // One part, the bytes themselves.
  document = 2,  // A tree, then its parts.
};

enum class Compression : std::uint8_t { none = 0, zstd = 1, lz4 = 2 };

// More urgent messages overtake others; order holds within one priority.
enum class Priority : std::uint8_t { urgent = 0, normal = 1, low = 2, idle = 3 };

struct MessageHead {
  MessageKind kind = MessageKind::task_request;
  BodyForm form = BodyForm::none;
  Compression compression = Compression::none;
  bool wants_receipt = false;      // notification_request: send notification_receive once taken.
  bool is_failure = false;         // task_complete: the body is an error, a list of code and text.
  bool is_redelivered = false;     // It may have come before.
  bool is_kept = false;            // A request: its sender keeps it until it hears `done`.
  std::uint32_t time_left_ms = 0;  // Until its deadline when it was sent; 0: it has none.
  // Of how many done messages of its peer the sender has heard on this link.
  std::uint32_t heard = 0;
  Id session;
  Id message;
  Tag tag;

  SessionType session_type() const {
    return kind >= MessageKind::notification_request ? SessionType::notification
                                                     : SessionType::task;
  }
  Stage stage() const {
    if (kind == MessageKind::task_complete) return Stage::complete;
    const bool is_receipt =
        kind == MessageKind::task_receive || kind == MessageKind::notification_receive;
    return is_receipt ? Stage::receive : Stage::request;
  }
  bool is_request() const { return stage() == Stage::request; }
  // Between proxies, not between those who use them.
  bool is_for_proxy() const { return kind >= MessageKind::introduction; }
};

MessageKind kind_of(SessionType type, Stage stage);

// True if it is UTF-8.
bool is_text(const Tag& tag);

// Fills `head` from byte kLinkHead on. The tag must be valid.
void write_message_head(const MessageHead& message, wire::Head& head);

// Reads what write_message_head() wrote. Null, or what is wrong with it.
const char* read_message_head(const wire::Head& head, MessageHead& message);
// The same; Code::invalid says what is wrong.
Result<MessageHead> read_message_head(const wire::Head& head);

}  // namespace muster::msg

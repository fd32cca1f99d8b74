// Message: what one component said to another. Immutable, and cheap to copy.
//
// Draft is what a program fills in to have one sent.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "muster/base/clock.h"
#include "muster/base/error.h"
#include "muster/base/result.h"
#include "muster/msg/ids.h"
#include "muster/msg/incoming.h"
#include "muster/msg/message_codec.h"
#include "muster/msg/message_head.h"
#include "muster/msg/session.h"
#include "muster/msg/tag.h"
#include "muster/wire/value.h"

namespace muster::msg {

// Whom a message is for: a name, or a PeerId, which saves looking it up.
struct Destination {
  Destination() = default;
  Destination(std::string its_name) : name(std::move(its_name)) {}
  Destination(std::string_view its_name) : name(its_name) {}
  Destination(const char* its_name) : name(its_name) {}
  Destination(PeerId its_id) : id(its_id) {}

  std::string name;
  PeerId id;
};

// What becomes of a session whose peer is lost before it has answered.
enum class OnLoss : std::uint8_t {
  fail,  // It ends with Code::unavailable and the peer's name.
  // The request is sent again when the peer is back, marked redelivered if it
  // was sent before: where only the link broke, it may be handled twice.
  wait,
};

// How often a message that was sent is handled.
enum class Delivery : std::uint8_t {
  at_most_once,
  // Kept until the receiver is done with it, whatever becomes of links and of the
  // receiver meanwhile; its session waits for a return, as OnLoss::wait has it. It
  // ends early at its deadline, or when the receiver leaves; that is told as a
  // drop. One incarnation of the receiver gets it once. One that follows gets it
  // again, marked redelivered and with the same id, unless a DedupStore knows it.
  at_least_once,
};

// Where the answer goes.
enum class Answers : std::uint8_t {
  by_id,       // To receive_by_id(), collect() and the like.
  to_receive,  // To receive(), as any other message; nobody waits for it by id.
};

struct Draft {
  Tag tag = {};
  Destination destination = {};
  wire::Value body = {};
  // In the body's place: one that was encoded before, and goes as it is.
  std::optional<EncodedBody> encoded = {};
  SessionType session_type = SessionType::task;
  SessionId session_id = {};  // None: one is made.
  Priority priority = Priority::normal;
  // The session ends then with Code::timeout; the receiver can see it too.
  TimePoint deadline = kForever;
  Compression compression = Compression::none;
  OnLoss on_loss = OnLoss::fail;
  Delivery delivery = Delivery::at_most_once;
  Answers answers = Answers::by_id;
  // For a notification that is not waited for: have it acknowledged all the same.
  bool wants_receipt = false;
};

// All that a message says, for who makes one by hand, such as a test.
struct MessageFields {
  Tag tag = {};
  std::string source = {};
  std::string destination = {};
  wire::Value body = {};
  SessionType session_type = SessionType::task;
  Stage stage = Stage::request;
  SessionId session_id = {};
  MessageId message_id = {};
  Priority priority = Priority::normal;
  TimePoint deadline = kForever;
};

class Message {
 public:
  Message() = default;  // None; only to be assigned to.
  explicit Message(MessageFields fields);

  std::string_view tag() const { return data_->head.tag.text(); }
  bool is(const Tag& tag) const { return data_->head.tag == tag; }
  std::string_view source() const { return data_->names.source(); }
  std::string_view destination() const { return data_->names.destination(); }
  const wire::Value& body() const { return data_->body; }
  // In the body's place, where ProxyOptions::keeps_encoded says so: as it came,
  // looked into by nobody. Null for all other messages.
  const EncodedBody* encoded() const { return data_->is_left_encoded ? &data_->encoded : nullptr; }

  SessionType session_type() const { return data_->head.session_type(); }
  Stage stage() const { return data_->head.stage(); }
  bool is_request() const { return data_->head.is_request(); }
  SessionId session_id() const { return data_->head.session; }
  MessageId message_id() const { return data_->head.message; }
  Priority priority() const { return data_->priority; }
  TimePoint deadline() const { return data_->deadline; }  // By the receiver's clock.
  bool is_redelivered() const { return data_->head.is_redelivered; }
  // Its sender keeps it until this end is done() with it.
  bool is_kept() const { return data_->head.is_kept; }
  // An answer that tells of a failure; only receive() gives such, all else
  // gives the error itself.
  bool is_failure() const { return data_->head.is_failure; }
  Error failure() const;
  // A request that was completed here, by whichever copy of it.
  bool is_answered() const;
  // Of the proxy that received it: a reply need not look up a name.
  PeerId peer() const { return data_->peer; }

  explicit operator bool() const { return static_cast<bool>(data_); }

 private:
  friend class MessageMaker;
  explicit Message(IncomingPtr&& data) : data_(std::move(data)) {}

  IncomingPtr data_;
};

// Makes messages, and knows what is known of them beside what they say.
class MessageMaker {
 public:
  // Code::invalid if the body is not what the head says; else `incoming` is moved
  // from. Any thread: the body is decoded here, which can take a while, or left
  // as it is.
  static Result<Message> make(IncomingPtr& incoming, const BodyLimits& limits,
                              bool keeps_encoded = false);
  // The same in two steps: one that is closed has no body, and nobody is to see it.
  static Message close(IncomingPtr&& incoming) { return Message(std::move(incoming)); }
  static Status open(const Message& closed, const BodyLimits& limits, bool keeps_encoded) {
    return open(*closed.data_, limits, keeps_encoded);
  }

  // Notes that `message`, a request, is being answered. False if it has been,
  // as far as that: the answer may not be sent.
  static bool claim(const Message& message, Stage stage);
  // Takes back a claim whose answer could not be sent.
  static void disclaim(const Message& message, Stage stage);

  static const MessageHead& head(const Message& message) { return message.data_->head; }
  static const Names& names(const Message& message) { return message.data_->names; }

 private:
  static Status open(Incoming& incoming, const BodyLimits& limits, bool keeps_encoded);
};

}  // namespace muster::msg

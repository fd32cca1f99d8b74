#include "muster/msg/message.h"

#include "muster/msg/incoming.h"

namespace muster::msg {
namespace {

constexpr std::uint8_t kAcknowledged = 1;
constexpr std::uint8_t kCompleted = 2;

std::uint8_t bit_of(Stage stage) { return stage == Stage::receive ? kAcknowledged : kCompleted; }

}  // namespace

Message::Message(MessageFields fields) {
  auto data = std::make_shared<Data>();
  data->tag = fields.tag;
  data->source = Buffer::copy_of(fields.source);
  data->destination = Buffer::copy_of(fields.destination);
  data->body = std::move(fields.body);
  data->session_type = fields.session_type;
  data->stage = fields.stage;
  data->session_id = fields.session_id ? fields.session_id : Id::random();
  data->message_id = fields.message_id ? fields.message_id : Id::random();
  data->priority = fields.priority;
  data->deadline = fields.deadline;
  data_ = std::move(data);
}

Error Message::failure() const { return value_to_error(data_->body).during(source()); }

Result<Message> MessageMaker::make(const Incoming& incoming, const Buffer& destination,
                                   const BodyLimits& limits, bool keeps_encoded) {
  const MessageHead& head = incoming.head;
  auto data = std::make_shared<Message::Data>();
  if (keeps_encoded && !head.is_failure) {
    data->encoded.emplace(head.form, head.compression, incoming.parts);
  } else if (head.form == BodyForm::bytes && head.compression == Compression::none &&
             incoming.parts.size() == 1) {
    data->body = incoming.parts[0];
  } else {
    MUSTER_TRY(data->body, decode_body(head.form, head.compression, incoming.parts, limits));
  }
  data->tag = head.tag;
  data->is_redelivered = head.is_redelivered;
  data->is_kept = head.is_kept;
  data->is_failure = head.is_failure;
  data->session_type = head.session_type();
  data->stage = head.stage();
  data->priority = incoming.priority;
  data->source = incoming.source;
  data->destination = destination;
  data->session_id = head.session;
  data->message_id = head.message;
  data->deadline = incoming.deadline;
  data->peer = incoming.peer;
  Message message;
  message.data_ = std::move(data);
  return message;
}

bool Message::is_answered() const { return (data_->answered.load() & kCompleted) != 0; }

bool MessageMaker::claim(const Message& message, Stage stage) {
  const std::uint8_t before = message.data_->answered.fetch_or(bit_of(stage));
  // Once completed, it is too late to acknowledge.
  const std::uint8_t forbids = stage == Stage::receive ? kAcknowledged | kCompleted : kCompleted;
  return (before & forbids) == 0;
}

void MessageMaker::disclaim(const Message& message, Stage stage) {
  message.data_->answered.fetch_and(static_cast<std::uint8_t>(~bit_of(stage)));
}

}  // namespace muster::msg

#include "muster/msg/message.h"

#include <string>

namespace muster::msg {
namespace {

constexpr std::uint8_t kAcknowledged = 1;
constexpr std::uint8_t kCompleted = 2;

std::uint8_t bit_of(Stage stage) { return stage == Stage::receive ? kAcknowledged : kCompleted; }

}  // namespace

Names::Names(std::string_view source, std::string_view destination) : source_size_(source.size()) {
  std::string both(source);
  both += destination;
  both_ = Buffer::copy_of(both);
}

Message::Message(MessageFields fields) : data_(IncomingPtr::make()) {
  MessageHead& head = data_->head;
  head.kind = kind_of(fields.session_type, fields.stage);
  head.tag = fields.tag;
  head.session = fields.session_id ? fields.session_id : Id::random();
  head.message = fields.message_id ? fields.message_id : Id::random();
  data_->names = Names(fields.source, fields.destination);
  data_->body = std::move(fields.body);
  data_->priority = fields.priority;
  data_->deadline = fields.deadline;
}

Error Message::failure() const { return value_to_error(data_->body).during(source()); }

Result<Message> MessageMaker::make(IncomingPtr& incoming, const BodyLimits& limits,
                                   bool keeps_encoded) {
  MUSTER_TRY_OK(open(*incoming, limits, keeps_encoded));
  return Message(std::move(incoming));
}

Status MessageMaker::open(Incoming& incoming, const BodyLimits& limits, bool keeps_encoded) {
  EncodedBody& encoded = incoming.encoded;
  if (keeps_encoded && !incoming.head.is_failure) {
    incoming.is_left_encoded = true;
  } else if (encoded.form == BodyForm::bytes && encoded.compression == Compression::none &&
             encoded.parts.size() == 1) {
    incoming.body = wire::Value(std::move(encoded.parts[0]));
  } else {
    MUSTER_TRY(incoming.body,
               decode_body(encoded.form, encoded.compression, encoded.parts, limits));
    encoded.parts.clear();
  }
  return ok();
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

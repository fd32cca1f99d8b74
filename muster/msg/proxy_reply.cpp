// A proxy's answers: completions, failures, receipts; and asking somebody else.

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "muster/msg/proxy.h"
#include "muster/msg/proxy_core.h"
#include "muster/msg/proxy_wait.h"

namespace muster::msg {

using internal::Waited;
using loop::Turn;
using wire::Value;

// Sends an answer of `stage`; waits while there is no room for it.
Status Proxy::answer(const Message& message, Stage stage, MessageHead head, EncodedBody body,
                     const Wait& wait) {
  MUSTER_TRY_OK(core_->check_process());
  const std::string_view attempt = stage == Stage::receive ? "acknowledge" : "reply";
  if (!message || !message.is_request() || !message.peer()) {
    return Error(Code::invalid, fmt::format("{}: this is no request that came", attempt));
  }
  OutgoingMessage answer;
  answer.head = head;
  answer.head.kind = kind_of(message.session_type(), stage);
  answer.head.form = body.form;
  answer.head.compression = body.compression;
  answer.head.session = message.session_id();
  if (!answer.head.tag.is_valid()) answer.head.tag = message.tag();
  answer.parts = std::move(body.parts);
  answer.priority = message.priority();
  if (!MessageMaker::claim(message, stage)) {
    return Error(Code::invalid, fmt::format("{}: the message was answered before", attempt));
  }
  const auto transmit = [&] {
    if (!message.is_kept()) return core_->transmit(message.peer(), answer);
    return core_->answer_task(message.peer(), message.message_id(), answer);
  };
  std::optional<Status> sent;
  {
    const Turn turn(core_->loop());
    answer.head.message = core_->next_message_id();
    sent = transmit();
  }
  if (!*sent && sent->error().code() == Code::overloaded) {
    std::uint64_t rooms = UINT64_MAX;
    const Waited waited = internal::wait_for(core_->loop(), wait, [&] {
      if (*sent || rooms == core_->rooms()) return sent->has_value();
      sent = transmit();
      rooms = core_->rooms();
      return *sent || sent->error().code() != Code::overloaded;
    });
    if (waited == Waited::cancelled) sent = internal::why_not(waited, attempt);
  }
  if (!*sent) MessageMaker::disclaim(message, stage);
  call_back();
  return *std::move(sent);
}

Status Proxy::reply(const Message& message, const Value& body, const ReplyOptions& options,
                    const Wait& wait) {
  MessageHead head;
  head.tag = options.tag;
  if (message && message.session_type() == SessionType::notification) {
    if (options.encoded ? options.encoded->form != BodyForm::none : !body.is_nil()) {
      return Error(Code::invalid,
                   "reply: a notification is acknowledged, not answered; "
                   "send a task where an answer is wanted");
    }
    return acknowledge(message, wait);
  }
  if (options.encoded) return answer(message, Stage::complete, head, *options.encoded, wait);
  MUSTER_TRY(EncodedBody encoded,
             encode_body(body, options.compression, core_->options().body_limits));
  return answer(message, Stage::complete, head, std::move(encoded), wait);
}

Status Proxy::fail(const Message& message, const Error& why, const Wait& wait) {
  if (message && message.session_type() == SessionType::notification) {
    return Error(Code::invalid, "fail: nobody waits for the end of a notification");
  }
  MessageHead head;
  head.is_failure = true;
  MUSTER_TRY(EncodedBody encoded, encode_body(error_to_value(why)));
  return answer(message, Stage::complete, head, std::move(encoded), wait);
}

Status Proxy::acknowledge(const Message& message, const Wait& wait) {
  return answer(message, Stage::receive, {}, {}, wait);
}

Result<SessionId> Proxy::forward(const Message& message, const Destination& destination,
                                 ForwardOptions options) {
  if (!message) return Error(Code::invalid, "forward: there is no message");
  std::optional<EncodedBody> encoded;
  if (!options.body && message.encoded() != nullptr) encoded = *message.encoded();
  return isend({.tag = options.tag.is_valid() ? options.tag : Tag(message.tag()),
                .destination = destination,
                .body = options.body ? *std::move(options.body) : message.body(),
                .encoded = std::move(encoded),
                .session_type = message.session_type(),
                .session_id = message.session_id(),
                .priority = options.priority,
                .deadline = message.deadline(),
                .on_loss = options.on_loss,
                .delivery = options.delivery,
                .answers = options.answers,
                .wants_receipt = message.session_type() == SessionType::notification});
}

}  // namespace muster::msg

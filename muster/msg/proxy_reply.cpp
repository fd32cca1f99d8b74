// A proxy's answers: completions, failures, receipts; and asking somebody else.

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "muster/msg/proxy.h"
#include "muster/msg/proxy_core.h"
#include "muster/msg/proxy_wait.h"

namespace muster::msg {

using internal::ProxyCore;
using internal::Waited;
using loop::Turn;
using wire::Value;

namespace {

// answer() as a thing that is tried again until it is done.
struct Answering {
  ProxyCore& core;
  const Message& message;
  OutgoingMessage answer = {};
  Status sent = ok();
  std::uint64_t rooms = UINT64_MAX;

  bool is_overloaded() const { return !sent && sent.error().code() == Code::overloaded; }

  void transmit() {
    sent = message.is_kept() ? core.answer_task(message.peer(), message.message_id(), answer)
                             : core.transmit(message.peer(), answer);
  }

  bool step() {
    if (!is_overloaded()) return true;
    if (rooms == core.rooms()) return false;
    transmit();
    rooms = core.rooms();
    return !is_overloaded();
  }
};

OutgoingMessage make_answer(const Message& message, Stage stage, const Tag& tag, EncodedBody& body,
                            bool is_failure) {
  OutgoingMessage answer;
  answer.head.kind = kind_of(message.session_type(), stage);
  answer.head.is_failure = is_failure;
  answer.head.form = body.form;
  answer.head.compression = body.compression;
  answer.head.session = message.session_id();
  answer.head.tag = tag.is_valid() ? tag : MessageMaker::head(message).tag;
  answer.parts = std::move(body.parts);
  answer.priority = message.priority();
  return answer;
}

Status check_answerable(const Message& message, std::string_view attempt) {
  if (message && message.is_request() && message.peer()) return ok();
  return Error(Code::invalid, fmt::format("{}: this is no request that came", attempt));
}

Status check_task(const Message& message) {
  if (!message || message.session_type() == SessionType::task) return ok();
  return Error(Code::invalid, "fail: nobody waits for the end of a notification");
}

Error answered_before(std::string_view attempt) {
  return {Code::invalid, fmt::format("{}: the message was answered before", attempt)};
}

}  // namespace

// Sends an answer of `stage`; waits while there is no room for it.
Status Proxy::answer(const Message& message, Stage stage, const Tag& tag, EncodedBody& body,
                     const Wait& wait, bool is_failure) {
  MUSTER_TRY_OK(core_->check_process());
  const std::string_view attempt = stage == Stage::receive ? "acknowledge" : "reply";
  MUSTER_TRY_OK(check_answerable(message, attempt));
  Answering answering{*core_, message, make_answer(message, stage, tag, body, is_failure)};
  if (!MessageMaker::claim(message, stage)) return answered_before(attempt);
  {
    const Turn turn(core_->loop());
    answering.answer.head.message = core_->next_message_id();
    answering.transmit();
  }
  if (answering.is_overloaded()) {
    const Waited waited =
        internal::wait_for(core_->loop(), wait, [&answering] { return answering.step(); });
    if (waited == Waited::cancelled) answering.sent = internal::why_not(waited, attempt);
  }
  if (!answering.sent) MessageMaker::disclaim(message, stage);
  call_back();
  return std::move(answering.sent);
}

Status Proxy::reply(const Message& message, const Value& body, const ReplyOptions& options,
                    const Wait& wait) {
  if (message && message.session_type() == SessionType::notification) {
    if (options.encoded ? options.encoded->form != BodyForm::none : !body.is_nil()) {
      return Error(Code::invalid,
                   "reply: a notification is acknowledged, not answered; "
                   "send a task where an answer is wanted");
    }
    return acknowledge(message, wait);
  }
  EncodedBody encoded;
  if (options.encoded) {
    encoded = *options.encoded;
  } else {
    MUSTER_TRY_OK(encode_body(body, options.compression, core_->options().body_limits, encoded));
  }
  return answer(message, Stage::complete, options.tag, encoded, wait);
}

Status Proxy::fail(const Message& message, const Error& why, const Wait& wait) {
  MUSTER_TRY_OK(check_task(message));
  MUSTER_TRY(EncodedBody encoded, encode_body(error_to_value(why)));
  return answer(message, Stage::complete, {}, encoded, wait, true);
}

Status Proxy::fail_soon(const Message& message, const Error& why) {
  MUSTER_TRY_OK(core_->check_process());
  MUSTER_TRY_OK(check_answerable(message, "fail"));
  MUSTER_TRY_OK(check_task(message));
  MUSTER_TRY(EncodedBody encoded, encode_body(error_to_value(why)));
  Answering answering{*core_, message, make_answer(message, Stage::complete, {}, encoded, true)};
  if (!MessageMaker::claim(message, Stage::complete)) return answered_before("fail");
  const Turn turn(core_->loop());
  answering.answer.head.message = core_->next_message_id();
  answering.transmit();
  if (answering.is_overloaded()) {
    answering.sent = core_->send_when_room(message.peer(), answering.answer);
  }
  if (!answering.sent) MessageMaker::disclaim(message, Stage::complete);
  return std::move(answering.sent);
}

Status Proxy::acknowledge(const Message& message, const Wait& wait) {
  EncodedBody none;
  return answer(message, Stage::receive, {}, none, wait);
}

Result<SessionId> Proxy::forward(const Message& message, const Destination& destination,
                                 ForwardOptions options) {
  if (!message) return Error(Code::invalid, "forward: there is no message");
  const bool is_note = message.session_type() == SessionType::notification;
  std::optional<EncodedBody> encoded;
  if (!options.body && message.encoded() != nullptr) encoded = *message.encoded();
  return isend({.tag = options.tag.is_valid() ? options.tag : MessageMaker::head(message).tag,
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
                .wants_receipt =
                    is_note && (options.wants_receipt || options.answers == Answers::to_receive)});
}

}  // namespace muster::msg

// What can be seen of a proxy: by its program, by whoever asks, in a trace.

#include <unistd.h>

#include "muster/msg/proxy_core.h"

namespace muster::msg::internal {

PeerInfo ProxyCore::describe(const PeerRecord& record) const {
  PeerInfo info{.id = record.id,
                .name = record.member.name,
                .type = record.member.type,
                .incarnation = record.member.incarnation,
                .presence = record.presence,
                .addresses = record.member.addresses};
  const Channel* there = find_channel(record.id);
  if (there == nullptr) return info;
  net::LinkCounters now;
  if (there->link != nullptr) {
    const net::Link& link = *there->link->link;
    now = link.counters();
    info.driver = link.peer().scheme;
    info.address = link.peer().address;
    info.age = link.age();
    info.silence = link.silence();
  }
  info.messages_sent = there->past.messages_sent + now.messages_sent;
  info.messages_received = there->past.messages_received + now.messages_received;
  info.bytes_sent = there->past.bytes_sent + now.bytes_sent;
  info.bytes_received = there->past.bytes_received + now.bytes_received;
  info.queued = now.messages_queued + there->backlog.count() + there->outbox.count();
  info.kept = there->kept.count();
  return info;
}

Report ProxyCore::report() const {
  Report report{.group = options_.group,
                .name = self_.name,
                .type = self_.type,
                .incarnation = self_.incarnation,
                .pid = getpid(),
                .age = is_admitted_ ? loop_.now() - admitted_at_ : Duration::zero(),
                .counters = counters()};
  for (const PeerId id : peers_.all()) report.peers.push_back(describe(*peers_.find(id)));
  return report;
}

// Whoever asks has proved the token, and need not be a member.
void ProxyCore::question_came(PeerLink& link) {
  const Result<EncodedBody> body = encode_body(to_value(report()));
  if (!body) return;
  OutgoingMessage answer;
  answer.head.kind = MessageKind::report;
  answer.head.form = body->form;
  answer.head.tag = "report";
  answer.head.message = answer.head.session = next_message_id();
  answer.parts = body->parts;
  // One that asks and does not read gets no second answer.
  static_cast<void>(hand_over(link, answer));
}

std::uint64_t ProxyCore::bytes_of(const wire::Parts& parts) {
  std::uint64_t sum = 0;
  for (const Buffer& part : parts) sum += part.size();
  return sum;
}

void ProxyCore::note(const PeerLink& link, const MessageHead& head, std::uint64_t bytes,
                     bool is_sent) {
  if (head.kind >= MessageKind::introduction) return;
  TraceEvent event{.at = loop_.now(),
                   .is_sent = is_sent,
                   .kind = head.kind,
                   .is_failure = head.is_failure,
                   .tag = head.tag,
                   .session = head.session,
                   .message = head.message,
                   .peer = link.names.source_buffer(),
                   .bytes = bytes};
  trace_->note(std::move(event));
}

}  // namespace muster::msg::internal

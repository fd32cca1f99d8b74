#include "muster/msg/delivery_report.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "muster/wire/bytes.h"

namespace muster::msg {
namespace {

using wire::Value;

constexpr std::size_t kIdSize = 16;

const MessageId& id_of(const MessageId& id) { return id; }
const MessageId& id_of(const DoneMessage& done) { return done.id; }

template <class T>
Buffer pack(const std::vector<T>& all) {
  std::vector<std::byte> bytes(all.size() * kIdSize);
  std::byte* to = bytes.data();
  for (const T& one : all) {
    wire::store(to, id_of(one).high);
    wire::store(to + kIdSize / 2, id_of(one).low);
    to += kIdSize;
  }
  return Buffer::adopt(std::move(bytes));
}

template <class T>
Status unpack(const Buffer* bytes, std::vector<T>& all) {
  if (bytes == nullptr || bytes->size() % kIdSize != 0) {
    return Error(Code::invalid, "a report of delivery: its ids are not whole");
  }
  all.reserve(bytes->size() / kIdSize);
  for (std::size_t at = 0; at < bytes->size(); at += kIdSize) {
    const std::byte* from = bytes->data() + at;
    const MessageId id{wire::load<std::uint64_t>(from),
                       wire::load<std::uint64_t>(from + kIdSize / 2)};
    if (!id) return Error(Code::invalid, "a report of delivery: an id that is none");
    all.push_back(T{id});
  }
  return ok();
}

const Buffer* bytes_of(const Value& body, std::string_view key) {
  const Value* value = body.find(key);
  return value != nullptr ? value->as_bytes() : nullptr;
}

Status read_refusals(const Value& body, DeliveryReport& report) {
  const Value* value = body.find("refused");
  const Value::List* refusals = value != nullptr ? value->as_list() : nullptr;
  if (refusals == nullptr) return Error(Code::invalid, "a report of delivery: no refusals");
  for (const Value& one : *refusals) {
    const Value::List* pair = one.as_list();
    const auto index =
        pair != nullptr && pair->size() == 2 ? (*pair)[0].as_unsigned() : std::nullopt;
    if (!index || *index >= report.done.size()) {
      return Error(Code::invalid, "a report of delivery: a refusal of nothing");
    }
    report.done[*index].refused = value_to_error((*pair)[1]);
  }
  return ok();
}

using Reply = DoneMessage::Reply;

bool has_replies(const DeliveryReport& report) {
  return std::ranges::any_of(report.done, [](const auto& one) { return one.reply != Reply::none; });
}

// A byte for each that is done.
Buffer pack_replies(const DeliveryReport& report) {
  std::vector<std::byte> bytes;
  bytes.reserve(report.done.size());
  for (const DoneMessage& one : report.done) bytes.push_back(static_cast<std::byte>(one.reply));
  return Buffer::adopt(std::move(bytes));
}

Status read_replies(const Value& body, DeliveryReport& report) {
  if (body.find("replies") == nullptr) return ok();
  const Buffer* bytes = bytes_of(body, "replies");
  if (bytes == nullptr || bytes->size() != report.done.size()) {
    return Error(Code::invalid, "a report of delivery: replies to something else");
  }
  for (std::size_t i = 0; i < report.done.size(); ++i) {
    const auto reply = static_cast<Reply>(bytes->data()[i]);
    if (reply > Reply::lost) return Error(Code::invalid, "a report of delivery: no such reply");
    report.done[i].reply = reply;
  }
  return ok();
}

}  // namespace

Result<EncodedBody> encode_report(const DeliveryReport& report) {
  Value::List refused;
  for (std::size_t i = 0; i < report.done.size(); ++i) {
    const auto& why = report.done[i].refused;
    if (why) refused.push_back(Value::List{i, error_to_value(*why)});
  }
  const bool is_plain = refused.empty() && report.held.empty() && !has_replies(report);
  if (is_plain) return encode_body(pack(report.done));
  Value::Map body{
      {"done", pack(report.done)}, {"held", pack(report.held)}, {"refused", std::move(refused)}};
  if (has_replies(report)) body.push_back({"replies", pack_replies(report)});
  return encode_body(body);
}

Result<DeliveryReport> decode_report(BodyForm form, Compression compression,
                                     std::span<const Buffer> parts, const BodyLimits& limits) {
  MUSTER_TRY(const Value body, decode_body(form, compression, parts, limits));
  DeliveryReport report;
  if (const Buffer* ids = body.as_bytes()) {
    MUSTER_TRY_OK(unpack(ids, report.done));
    return report;
  }
  MUSTER_TRY_OK(unpack(bytes_of(body, "done"), report.done));
  MUSTER_TRY_OK(unpack(bytes_of(body, "held"), report.held));
  MUSTER_TRY_OK(read_refusals(body, report));
  MUSTER_TRY_OK(read_replies(body, report));
  return report;
}

}  // namespace muster::msg

#include "muster/registries/redis/layout.h"

#include <charconv>

#include "muster/registries/redis/scripts.h"
#include "muster/wire/value_codec.h"

namespace muster::registries::redis {
namespace {

using wire::Value;

// What a record may ask of its reader.
constexpr wire::Limits kRecordLimits{
    .max_depth = 4, .max_values = 64, .max_bytes = 16384, .max_parts = 0};
// Lua counts in doubles.

std::string own(const std::string& group, const std::string& what) { return group + "::" + what; }
std::string lease_key(const msg::JoinRequest& request) {
  return own(request.group, "lease:" + request.self.name);
}
std::string type_key(const msg::JoinRequest& request) {
  return request.group + ":" + request.self.type;
}
std::string in_milliseconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

Error unexpected() {
  return Error(Code::invalid, "read Redis's reply: it is not what was asked for");
}

template <class T>
std::optional<T> number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Id> read_id(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  const auto high = number<std::uint64_t>(text.substr(0, 16), 16);
  const auto low = number<std::uint64_t>(text.substr(16), 16);
  if (!high || !low) return std::nullopt;
  return Id{*high, *low};
}

bool is_text(const Reply& reply) { return reply.kind == Reply::Kind::text; }
bool is_list(const Reply& reply) { return reply.kind == Reply::Kind::list; }

// {name, type, "incarnation id type", record, leased}
std::optional<Listed> read_listed(const Reply& reply) {
  if (!is_list(reply) || reply.items.size() != 5) return std::nullopt;
  const std::vector<Reply>& fields = reply.items;
  Result<msg::Member> member = decode_record(fields[3].text);
  if (!member) return std::nullopt;
  member->name = fields[0].text;
  member->type = fields[1].text;
  const std::string_view known = fields[2].text;
  const std::size_t space = known.find(' ');
  const auto incarnation = number<std::uint64_t>(known.substr(0, space));
  if (!incarnation || *incarnation == 0 || *incarnation > msg::kMaxIncarnation) return std::nullopt;
  member->incarnation = *incarnation;
  if (!msg::check(*member)) return std::nullopt;
  return Listed{*std::move(member), fields[4].integer == 1};
}

std::optional<Gone> read_gone(std::string_view text) {
  Gone gone;
  gone.has_left = text.starts_with("left ");
  if (!gone.has_left && !text.starts_with("lost ")) return std::nullopt;
  const auto incarnation = number<std::uint64_t>(text.substr(5));
  if (!incarnation) return std::nullopt;
  gone.incarnation = *incarnation;
  return gone;
}

}  // namespace

std::string news_channel(const std::string& group) { return own(group, "news"); }

Command announce_command(const msg::JoinRequest& request) {
  const msg::Member& self = request.self;
  return {"EVAL",
          kAnnounceScript,
          "5",
          own(request.group, "incarnations"),
          type_key(request),
          lease_key(request),
          own(request.group, "types"),
          own(request.group, "gone"),
          self.name,
          self.type,
          self.id.to_string(),
          std::to_string(self.incarnation),
          in_milliseconds(request.lease),
          encode_record(self),
          news_channel(request.group),
          request.group};
}

Result<std::optional<std::uint64_t>> read_announced(const Reply& reply) {
  if (reply.kind != Reply::Kind::integer || reply.integer < 0) return unexpected();
  if (reply.integer == 0) return std::optional<std::uint64_t>();
  return std::optional(static_cast<std::uint64_t>(reply.integer));
}

Command remind_command(const std::string& group, const std::map<std::string, msg::Member>& known) {
  Command command{"EVAL", kRemindScript,      "1", own(group, "incarnations"),
                  group,  news_channel(group)};
  for (const auto& [name, member] : known) {
    const std::string incarnation = std::to_string(member.incarnation);
    command.push_back(name);
    command.push_back(incarnation);
    command.push_back(member.id.to_string());
    command.push_back(member.type);
  }
  return command;
}

Command roll_command(const std::string& group, Duration lease) {
  return {"EVAL",
          kRollScript,
          "5",
          own(group, "incarnations"),
          own(group, "types"),
          own(group, "gone"),
          own(group, "heard"),
          own(group, "calm"),
          group,
          in_milliseconds(lease),
          news_channel(group)};
}

Result<Roll> read_roll(const Reply& reply) {
  if (!is_list(reply) || reply.items.size() != 2) return unexpected();
  const std::vector<Reply>& listed = reply.items[0].items;
  const std::vector<Reply>& gone = reply.items[1].items;
  Roll roll;
  for (const Reply& item : listed) {
    if (auto one = read_listed(item)) roll.listed.push_back(*std::move(one));
  }
  for (std::size_t i = 0; i + 1 < gone.size(); i += 2) {
    if (!is_text(gone[i]) || !is_text(gone[i + 1])) continue;
    if (const auto how = read_gone(gone[i + 1].text)) roll.gone[gone[i].text] = *how;
  }
  return roll;
}

Command leave_command(const msg::JoinRequest& request) {
  return {"EVAL",
          kLeaveScript,
          "4",
          own(request.group, "incarnations"),
          type_key(request),
          lease_key(request),
          own(request.group, "gone"),
          request.self.name,
          request.self.id.to_string(),
          news_channel(request.group)};
}

std::string encode_record(const msg::Member& member) {
  Value::List addresses;
  for (const std::string& address : member.addresses) addresses.emplace_back(address);
  Value::Map map;
  map.push_back({"id", member.id.to_string()});
  map.push_back({"addresses", std::move(addresses)});
  // Nothing in it is beyond a limit: the member was checked.
  const Result<wire::Document> document = wire::encode(Value(std::move(map)));
  return document ? std::string(document->tree.text()) : std::string();
}

Result<msg::Member> decode_record(const std::string& bytes) {
  MUSTER_TRY(const Value value, wire::decode(Buffer::copy_of(bytes), {}, kRecordLimits));
  const Value* const id = value.find("id");
  const Value* const addresses = value.find("addresses");
  if (id == nullptr || id->as_string() == nullptr || addresses == nullptr ||
      addresses->as_list() == nullptr) {
    return unexpected();
  }
  msg::Member member;
  const auto read = read_id(*id->as_string());
  if (!read) return unexpected();
  member.id = *read;
  for (const Value& address : *addresses->as_list()) {
    if (address.as_string() == nullptr) return unexpected();
    member.addresses.push_back(*address.as_string());
  }
  return member;
}

}  // namespace muster::registries::redis

#include "muster/registries/embedded/message.h"

#include <algorithm>

#include "muster/registries/embedded/fields.h"

namespace muster::registries::embedded {
namespace {

constexpr std::uint32_t kMessageMagic = 0x4745524D;  // "MREG" in memory order.
constexpr std::uint8_t kMessageVersion = 1;

enum Flag : std::uint8_t { kRemote = 1, kComplete = 2 };

Error not_a_message(const char* why) {
  return Error(Code::invalid, std::string("read a message of the registry: ") + why);
}

bool is_about_a_member(Kind kind) {
  return kind == Kind::announce || kind == Kind::admitted || kind == Kind::joined ||
         kind == Kind::left || kind == Kind::lost || kind == Kind::remind || kind == Kind::miss;
}

// A later version may have more.
Code code_of(std::uint8_t number) {
  const bool is_known = number >= static_cast<std::uint8_t>(Code::invalid) &&
                        number <= static_cast<std::uint8_t>(Code::internal);
  return is_known ? static_cast<Code>(number) : Code::internal;
}

// What an announcement, or what is told of one, must keep to.
Status check_content(const Message& message) {
  if (is_about_a_member(message.kind)) MUSTER_TRY_OK(msg::check(message.member));
  if (message.kind == Kind::announce) {
    return msg::check(
        msg::JoinRequest{.group = message.group, .self = message.member, .lease = message.lease});
  }
  if (message.kind == Kind::ask && !msg::is_name(message.group)) {
    return not_a_message("a question about no group");
  }
  if (is_about_a_member(message.kind) && message.member.incarnation == 0) {
    return not_a_message("a member without an incarnation");
  }
  return ok();
}

}  // namespace

std::vector<std::byte> encode(const Message& message) {
  FieldWriter out;
  out.number(kMessageMagic);
  out.number(kMessageVersion);
  out.number(message.kind);
  out.number(static_cast<std::uint8_t>((message.is_remote ? kRemote : 0) |
                                       (message.is_complete ? kComplete : 0)));
  out.number(message.code);
  out.number(static_cast<std::uint32_t>(message.lease.count()));
  out.member(message.member);
  out.text(message.group);
  out.text(std::string_view(message.text).substr(0, kMaxText));
  return out.take();
}

Result<Message> decode(std::span<const std::byte> bytes) {
  if (bytes.size() > kMaxMessage) return not_a_message("too long");
  FieldReader in(bytes);
  if (in.number<std::uint32_t>() != kMessageMagic) return not_a_message("it does not begin as one");
  if (in.number<std::uint8_t>() != kMessageVersion) {
    return Error(Code::unsupported,
                 "the registry speaks another version; run the same Muster everywhere");
  }
  Message message;
  const auto kind = in.number<std::uint8_t>();
  if (kind < static_cast<std::uint8_t>(Kind::announce) ||
      kind > static_cast<std::uint8_t>(Kind::miss)) {
    return not_a_message("of no known kind");
  }
  message.kind = static_cast<Kind>(kind);
  const auto flags = in.number<std::uint8_t>();
  if ((flags & ~(kRemote | kComplete)) != 0) return not_a_message("with unknown flags");
  message.is_remote = (flags & kRemote) != 0;
  message.is_complete = (flags & kComplete) != 0;
  message.code = code_of(in.number<std::uint8_t>());
  message.lease = std::chrono::milliseconds(in.number<std::uint32_t>());
  message.member = in.member();
  message.group = in.text(msg::kMaxName);
  message.text = in.text(kMaxText);
  if (!in.is_at_end()) return not_a_message("cut short, too long, or beyond a limit");
  MUSTER_TRY_OK(check_content(message));
  return message;
}

}  // namespace muster::registries::embedded

#include "muster/registries/embedded/fields.h"

namespace muster::registries::embedded {

void FieldWriter::text(std::string_view text) {
  number(static_cast<std::uint16_t>(text.size()));
  const auto view = std::as_bytes(std::span(text));
  bytes_.insert(bytes_.end(), view.begin(), view.end());
}

void FieldWriter::member(const msg::Member& member) {
  number(member.id.high);
  number(member.id.low);
  number(member.incarnation);
  text(member.name);
  text(member.type);
  number(static_cast<std::uint16_t>(member.addresses.size()));
  for (const std::string& address : member.addresses) text(address);
}

std::string FieldReader::text(std::size_t most) {
  const auto size = number<std::uint16_t>();
  if (size > most) is_good_ = false;
  if (!has(size)) return {};
  std::string text(reinterpret_cast<const char*>(rest_.data()), size);
  rest_ = rest_.subspan(size);
  return text;
}

msg::Member FieldReader::member() {
  msg::Member member;
  member.id.high = number<std::uint64_t>();
  member.id.low = number<std::uint64_t>();
  member.incarnation = number<std::uint64_t>();
  member.name = text(msg::kMaxName);
  member.type = text(msg::kMaxName);
  const auto count = number<std::uint16_t>();
  if (count > msg::kMaxAddresses) is_good_ = false;
  for (std::size_t i = 0; is_good_ && i < count; ++i) {
    member.addresses.push_back(text(msg::kMaxAddress));
  }
  return member;
}

}  // namespace muster::registries::embedded

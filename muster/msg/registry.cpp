#include "muster/msg/registry.h"

#include <algorithm>

namespace muster::msg {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

bool is_printable(char c) { return c > ' ' && c <= '~'; }

Status check_name(std::string_view what, std::string_view text) {
  if (is_name(text)) return ok();
  return Error(Code::invalid, "the " + std::string(what) +
                                  " must be 1 to 64 of A-Z a-z 0-9 _ - . and not begin with a dot");
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && text.front() != '.' &&
         std::ranges::all_of(text, is_name_character);
}

Status check(const Member& member) {
  MUSTER_TRY_OK(check_name("component's name", member.name));
  MUSTER_TRY_OK(check_name("component's type", member.type));
  if (!member.id) return Error(Code::invalid, "the component has no id; give it Id::random()");
  if (member.addresses.size() > kMaxAddresses) {
    return Error(Code::invalid, "a component has at most 16 addresses");
  }
  for (const std::string& address : member.addresses) {
    if (address.empty() || address.size() > kMaxAddress ||
        !std::ranges::all_of(address, is_printable)) {
      return Error(Code::invalid, "an address is 1 to 256 printable characters without spaces");
    }
  }
  return ok();
}

Status check_group(std::string_view name) { return check_name("group's name", name); }

Status check(const JoinRequest& request) {
  MUSTER_TRY_OK(check_group(request.group));
  MUSTER_TRY_OK(check(request.self));
  if (request.lease < kShortestLease || request.lease > kLongestLease) {
    return Error(Code::invalid, "a lease is between 100 ms and an hour");
  }
  return ok();
}

}  // namespace muster::msg

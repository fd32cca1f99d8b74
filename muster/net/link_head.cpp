#include "muster/net/link_head.h"

#include <fmt/format.h>

namespace muster::net {

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::hello: return "hello";
    case Kind::answer: return "answer";
    case Kind::proof: return "proof";
    case Kind::welcome: return "welcome";
    case Kind::refuse: return "refuse";
    case Kind::beat: return "beat";
    case Kind::credit: return "credit";
    case Kind::message: return "message";
    case Kind::offer: return "offer";
    case Kind::grant: return "grant";
    case Kind::decline: return "decline";
    case Kind::chunk: return "chunk";
    case Kind::bye: return "bye";
  }
  return "unknown";
}

Error why_not_a_head(const wire::Head& head, std::uint8_t version) {
  if (head.size() < kLinkHead) {
    return {Code::invalid,
            fmt::format("a head of {} bytes is too short for a link's {}", head.size(), kLinkHead)};
  }
  LinkHead link;
  std::memcpy(&link, head.bytes().data(), kLinkHead);
  if (link.version != version) {
    return {Code::invalid, fmt::format("a frame of link version {} came where {} was agreed on",
                                       link.version, version)};
  }
  return {Code::invalid,
          fmt::format("a frame of kind {} with flags {} and priority {} means nothing here",
                      static_cast<int>(link.kind), link.flags, link.priority)};
}

}  // namespace muster::net

// The link's own 32 bytes at the start of every frame's head.
//
// What the user of a link wants in the head follows from byte kLinkHead on.
// docs/reference/wire.md has the table. Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "muster/base/result.h"
#include "muster/wire/bytes.h"
#include "muster/wire/frame.h"

namespace muster::net {

inline constexpr std::size_t kLinkHead = 32;
// The most that the user of a link can put into the head.
inline constexpr std::size_t kMaxUserHead = wire::kMaxHead - kLinkHead;
// From this version on an offer may say that its sender pauses.
inline constexpr std::uint8_t kPausesVersion = 3;
// What the handshake's frames carry as version: their form never changes.
inline constexpr std::uint8_t kHandshakeVersion = 0;
inline constexpr std::uint8_t kPriorities = 4;

// The numbers travel: append, never renumber.
enum class Kind : std::uint8_t {
  hello = 1,
  answer = 2,
  proof = 3,
  welcome = 4,
  refuse = 5,
  beat = 6,
  credit = 7,
  message = 8,
  offer = 9,
  grant = 10,
  decline = 11,
  chunk = 12,
  bye = 13,
};

// The kind's name, as it stands above; "unknown" for any other number.
std::string_view name(Kind kind);

// In memory as on the wire.
struct LinkHead {
  std::uint8_t version = 0;
  Kind kind = Kind::beat;
  std::uint8_t flags = 0;  // None yet: zero.
  std::uint8_t priority = 0;
  std::uint32_t channel = 0;
  std::uint32_t credit = 0;  // Bytes of window that the sender of this frame gives back.
  std::uint32_t aux = 0;     // message, offer: what it costs. chunk: the part's index.
  std::uint64_t id = 0;      // offer, grant, decline, chunk: the transfer.
  // chunk: of its bytes in the part. offer: after how many bytes of it the sender waits for
  // another grant; 0 if it does not.
  std::uint64_t offset = 0;
};
static_assert(sizeof(LinkHead) == kLinkHead);

// Puts `link` into `out`. In two halves: the processor waits for what is written in small
// pieces and then read in one, as the copy that follows does.
[[gnu::always_inline]] inline void write_link_head(const LinkHead& link,
                                                   std::span<std::byte, kLinkHead> out) {
  using Half = std::uint64_t __attribute__((vector_size(16)));
  // Added, not or-ed: a known kind would be or-ed into one byte of a register, and
  // the processor waits for that one as well.
  const std::uint64_t what = link.version + (static_cast<std::uint64_t>(link.kind) << 8) +
                             (static_cast<std::uint64_t>(link.flags) << 16) +
                             (static_cast<std::uint64_t>(link.priority) << 24) +
                             (static_cast<std::uint64_t>(link.channel) << 32);
  const Half first = {what, link.credit | static_cast<std::uint64_t>(link.aux) << 32};
  const Half second = {link.id, link.offset};
  std::memcpy(out.data(), &first, sizeof first);
  std::memcpy(out.data() + sizeof first, &second, sizeof second);
}

// Puts it into the first kLinkHead bytes of `head`, which has them.
[[gnu::always_inline]] inline void write_link_head(const LinkHead& link, wire::Head& head) {
  write_link_head(link, head.resize(head.size()).first<kLinkHead>());
}

// Reads the first kLinkHead bytes of `head`. False if they are not a head of
// `version`; why_not_a_head() then has the words.
inline bool read_link_head(const wire::Head& head, std::uint8_t version, LinkHead& link) {
  if (head.size() < kLinkHead) return false;
  std::memcpy(&link, head.bytes().data(), kLinkHead);
  return link.version == version && link.flags == 0 && link.priority < kPriorities &&
         link.kind >= Kind::hello && link.kind <= Kind::bye;
}
Error why_not_a_head(const wire::Head& head, std::uint8_t version);

}  // namespace muster::net

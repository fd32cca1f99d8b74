// Note: the head of every message between the ranks of a communicator.
//
// It follows the link's own bytes in the head of a frame. docs/reference/wire.md
// has the table. Nothing in it is trusted.

#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "muster/collectives/description.h"
#include "muster/net/link_head.h"
#include "muster/wire/frame.h"

namespace muster::collectives {

// The numbers travel: append, never renumber.
enum class NoteKind : std::uint8_t {
  hello = 1,     // Who I am: the body has it.
  founded = 2,   // My communicator stands; who is not in it has to wait for grow().
  ready = 3,     // I am in `context`; the parts are what others may read of mine.
  segment = 4,   // Segment `value` of my arena: any bytes of it.
  forget = 5,    // Segment `value` is gone.
  data = 6,      // Of operation `number`, before which `tag` was called.
  credit = 7,    // I have taken `value` bytes of stream `tag`.
  abort = 8,     // Nothing works any more; rank `value` found out, the body says why.
  here = 9,      // I am in operation `number`, before which `tag` was called.
  agree = 10,    // The body is an agreement's.
  welcome = 11,  // You are in `context`; the body names its members.
  leave = 12,    // I go, and this is no accident; or I have given up making `context`.
  message = 13,  // Point to point, with `tag`.
  refused = 14,  // My call was refused; it would have been operation `number`.
  gone = 15,     // Who was to be taken in and never will be: the body has its id, and its name.
  late = 16,     // I cannot wait for newcomers any longer; operation `number` would name them.
  known = 17,    // Of one whom you may never have been told of: the body says who, and where.
  away = 18,     // I was left out of `context`, and come to nothing that is made of it.
};
inline constexpr std::uint8_t kNoteVersion = 1;
// Bytes of text that a note may bring along, to say why.
inline constexpr std::size_t kMaxReason = 1024;
// Of `here`: in no operation, but about to agree on who is left.
inline constexpr std::uint16_t kAgrees = 1;
// Of `leave`: the communicator was never made here.
inline constexpr std::uint16_t kUnmade = 1;

// In memory as on the wire.
struct Note {
  NoteKind kind = NoteKind::hello;
  std::uint8_t version = kNoteVersion;
  std::uint16_t flags = 0;
  std::uint32_t tag = 0;
  std::uint64_t context = 0;
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  Description what = {};
};
static_assert(sizeof(Note) == 56 && std::has_unique_object_representations_v<Note>);
static_assert(sizeof(Note) <= net::kMaxUserHead);

inline void write_note(const Note& note, wire::Head& head) {
  std::memcpy(head.resize(net::kLinkHead + sizeof note).data() + net::kLinkHead, &note,
              sizeof note);
}

// False if there is none of our version.
inline bool read_note(const wire::Head& head, Note& note) {
  if (head.size() != net::kLinkHead + sizeof note) return false;
  std::memcpy(&note, head.bytes().data() + net::kLinkHead, sizeof note);
  return note.version == kNoteVersion;
}

}  // namespace muster::collectives

// A rank that says who it is and what it has called: whatever it says can be told to
// people, and what is read, written again, is read the same.
//
// Input: the bytes of a note behind the link's; the rest is the body of a hello.

#include <algorithm>
#include <cstdint>

#include "muster/base/check.h"
#include "muster/collectives/note.h"
#include "muster/collectives/seat.h"

namespace {

using namespace muster;
using namespace muster::collectives;

void check_note(std::span<const std::byte> bytes) {
  wire::Head head;
  std::ranges::copy(bytes, head.resize(net::kLinkHead + bytes.size()).begin() + net::kLinkHead);
  Note note;
  if (!read_note(head, note)) return;
  MUSTER_CHECK(!describe(note.what).empty(), "what was called can be told");
  wire::Head written;
  write_note(note, written);
  MUSTER_CHECK(std::ranges::equal(written.bytes().subspan(net::kLinkHead), bytes),
               "a note has one form");
}

void check_hello(const Buffer& body) {
  const auto hello = collectives::internal::decode_hello(body);
  if (!hello) return;
  const auto again = collectives::internal::decode_hello(collectives::internal::encode(*hello));
  MUSTER_CHECK(again && again->rank == hello->rank && again->size == hello->size &&
                   again->is_founded == hello->is_founded && again->digest == hello->digest,
               "what was read can be written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const std::size_t note = std::min(sizeof(Note), size);
  check_note(bytes.first(note));
  check_hello(Buffer::copy_of(bytes.subspan(note)));
  return 0;
}

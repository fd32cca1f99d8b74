// Records of a peer's, and what somebody on the way makes of them: cut anywhere, they
// give the same content and come to the same end.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include "muster/base/check.h"
#include "muster/drivers/tcp/tls_record_stream.h"

namespace {

using namespace muster;
using namespace muster::drivers::tcp;

using Bytes = std::vector<std::byte>;

constexpr std::byte kAsItIs{0xff};
constexpr std::size_t kMostBytes = std::size_t{32} << 10;

bool is_key_update(std::span<const std::byte> content) {
  return content.size() == 5 && content[0] == std::byte{24} && content[1] == std::byte{0} &&
         content[2] == std::byte{0} && content[3] == std::byte{1} && content[4] <= std::byte{1};
}

// The input says: a type, a length, and content; or bytes that go as they are.
Bytes on_the_wire(std::span<const std::byte> input) {
  TlsRecordKey key({}, TlsRecordKey::Use::seal);
  Bytes wire;
  while (input.size() >= 2 && wire.size() < kMostBytes) {
    const std::byte type = input[0];
    const std::size_t asked = std::to_integer<std::size_t>(input[1]);
    input = input.subspan(2);
    const auto content = input.first(std::min(asked, input.size()));
    input = input.subspan(content.size());
    if (type == kAsItIs) {
      wire.insert(wire.end(), content.begin(), content.end());
      continue;
    }
    Bytes record(kSealedRecord);
    record.resize(key.seal(content, static_cast<RecordType>(type), record.data()));
    wire.insert(wire.end(), record.begin(), record.end());
    if (static_cast<RecordType>(type) == RecordType::handshake && is_key_update(content)) {
      key.advance();
    }
  }
  return wire;
}

struct Heard {
  Bytes content;
  Transfer::State end = Transfer::State::blocked;
  bool operator==(const Heard&) const = default;
};

void read_what_came(TlsRecordStream& stream, std::size_t room, Heard& heard) {
  Bytes piece(room);
  const iovec into{piece.data(), piece.size()};
  while (heard.end == Transfer::State::blocked) {
    const Transfer got = stream.read({&into, 1});
    if (got.state == Transfer::State::blocked) return;
    if (got.state != Transfer::State::moved) heard.end = got.state;
    heard.content.insert(heard.content.end(), piece.begin(),
                         piece.begin() + static_cast<std::ptrdiff_t>(got.bytes));
  }
}

Heard read(std::span<const std::byte> wire, std::size_t at_a_time, std::size_t room) {
  int ends[2];
  const int made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends);
  MUSTER_CHECK(made == 0, "there are descriptors left");
  Gathered gathered;
  TlsIncoming incoming;
  Heard heard;
  {
    TlsRecordStream stream(ends[0], {}, {}, {gathered, incoming}, 16);
    while (!wire.empty()) {
      const auto piece = wire.first(std::min(at_a_time, wire.size()));
      const ssize_t sent = send(ends[1], piece.data(), piece.size(), MSG_NOSIGNAL);
      MUSTER_CHECK(sent == std::ssize(piece), "there is room for a piece");
      wire = wire.subspan(piece.size());
      read_what_came(stream, room, heard);
    }
    shutdown(ends[1], SHUT_WR);
    read_what_came(stream, room, heard);
  }
  close(ends[1]);
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes wire = on_the_wire({reinterpret_cast<const std::byte*>(data), size});
  const Heard whole = read(wire, kMostBytes * 2, kMostBytes * 2);
  MUSTER_CHECK(whole.end != Transfer::State::blocked, "it comes to an end");
  MUSTER_CHECK(read(wire, 257, 31) == whole, "the same, however it is cut");
  return 0;
}

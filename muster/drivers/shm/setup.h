// How two processes meet: one message each way over a Unix socket, with descriptors.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include <sys/types.h>
#include <sys/un.h>

#include "muster/arena/segment_table.h"
#include "muster/base/result.h"
#include "muster/drivers/shm/memory.h"
#include "muster/net/address.h"

namespace muster::drivers::shm {

inline constexpr std::uint32_t kSetupMagic = 0x4D535452;  // "RTSM" in memory order.
inline constexpr std::uint32_t kSetupVersion = 3;

// What each side says, once. Both run on one machine, so its own layout serves.
struct Setup {
  std::uint32_t magic = kSetupMagic;
  std::uint32_t version = kSetupVersion;
  std::uint32_t slot = 0;       // Ring this bit of my door.
  std::uint32_t abilities = 0;  // What I may do to your memory, once I know.
  std::uint64_t probe = 0;      // Where in my memory my Probe lies.
  std::uint64_t secret = 0;     // What stands there.
};

// Announces a segment of shared memory; its descriptor comes along. With a size of
// zero and no descriptor: the segment of that slot is gone, and shall be unmapped.
// With kFarewell in place of a slot: the writer has ended the link, and touches the
// reader's memory no more but for the bodies that it still holds. It shuts the
// socket down, in its direction, when it holds none.
inline constexpr std::uint32_t kFarewell = arena::kNoSlot;
struct SegmentNotice {
  std::uint32_t magic = kSetupMagic;
  std::uint32_t slot = 0;
  std::uint64_t size = 0;
};

// A word to try process_vm_readv and process_vm_writev on.
struct Probe {
  std::atomic<std::uint64_t> secret{0};
  std::atomic<std::uint64_t> scratch{0};
};

enum Ability : std::uint32_t { kMayRead = 1, kMayWrite = 2 };

// What this process may do to the memory of `pid`, found out by trying.
std::uint32_t try_abilities(pid_t pid, const Setup& theirs);

// The socket's name for `shm://name`: abstract, so that nothing is left behind.
Result<std::pair<sockaddr_un, socklen_t>> socket_name(const net::Address& address);

// The kernel's word on who is at the other end.
struct Credentials {
  pid_t pid = 0;
  uid_t uid = 0;
};
Result<Credentials> peer_credentials(int socket);

// Sends `bytes` with `descriptors` in one message. Code::overloaded if the
// socket has no room now.
Status send_message(int socket, const void* bytes, std::size_t size,
                    std::initializer_list<int> descriptors);

struct ReceivedMessage {
  std::array<std::byte, 128> bytes;
  std::size_t size = 0;  // 0: the peer has closed.
  std::array<Descriptor, 4> descriptors;
};
// Nothing if there is none now.
Result<std::optional<ReceivedMessage>> receive_message(int socket);

// True if `message` says that its writer has ended the link.
bool is_farewell(const ReceivedMessage& message);

// False once the other end has shut down its direction, closed, or died.
bool is_open(int socket);

}  // namespace muster::drivers::shm

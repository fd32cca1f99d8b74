#include "muster/drivers/shm/setup.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace muster::drivers::shm {

std::uint32_t try_abilities(pid_t pid, const Setup& theirs) {
  if (pid <= 0 || theirs.probe == 0) return 0;
  std::uint32_t abilities = 0;
  std::uint64_t word = 0;
  iovec here{&word, sizeof word};
  iovec there{reinterpret_cast<void*>(theirs.probe), sizeof word};
  if (process_vm_readv(pid, &here, 1, &there, 1, 0) == sizeof word && word == theirs.secret) {
    abilities |= kMayRead;
  }
  there.iov_base = reinterpret_cast<void*>(theirs.probe + offsetof(Probe, scratch));
  if (process_vm_writev(pid, &here, 1, &there, 1, 0) == sizeof word) abilities |= kMayWrite;
  return abilities;
}

Result<std::pair<sockaddr_un, socklen_t>> socket_name(const net::Address& of) {
  if (of.scheme != "shm") {
    return Error(Code::invalid, "the shm driver serves shm:// addresses alone")
        .during("use " + of.to_string());
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string full = "muster/" + std::to_string(getuid()) + "/" + of.host;
  if (full.size() + 1 > sizeof address.sun_path) {
    return Error(Code::invalid, "the name is longer than a Unix socket's may be")
        .during("use " + of.to_string());
  }
  std::memcpy(address.sun_path + 1, full.data(), full.size());
  const auto size = offsetof(sockaddr_un, sun_path) + 1 + full.size();
  return std::pair(address, static_cast<socklen_t>(size));
}

Result<Credentials> peer_credentials(int socket) {
  ucred facts{};
  socklen_t size = sizeof facts;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &facts, &size) != 0) {
    return system_error(Code::internal, "ask who is at the other end", errno);
  }
  return Credentials{facts.pid, facts.uid};
}

Status send_message(int socket, const void* bytes, std::size_t size,
                    std::initializer_list<int> descriptors) {
  iovec data{const_cast<void*>(bytes), size};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(4 * sizeof(int))> control{};
  if (descriptors.size() > 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), descriptors.begin(), descriptors.size() * sizeof(int));
  }
  if (sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return ok();
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETOOMANYREFS) {
    return Error(Code::overloaded, "the set-up socket is full");
  }
  return system_error(Code::unavailable, "write to the set-up socket", errno);
}

Result<std::optional<ReceivedMessage>> receive_message(int socket) {
  ReceivedMessage received;
  iovec data{received.bytes.data(), received.bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(4 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && errno == ECONNRESET) {
    // Told once, and before what the peer sent while it could.
    size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  }
  if (size < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
      return std::optional<ReceivedMessage>();
    }
    return system_error(Code::unavailable, "read from the set-up socket", errno);
  }
  received.size = static_cast<std::size_t>(size);
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count && i < received.descriptors.size(); ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof descriptor);
      received.descriptors[i] = Descriptor(descriptor);
    }
  }
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    return Error(Code::invalid, "a set-up message is too long");
  }
  // Most likely this process has none left; more than there should be are cut off too.
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    return Error(Code::overloaded, "descriptors were sent for which there is no room");
  }
  return std::optional(std::move(received));
}

bool is_farewell(const ReceivedMessage& message) {
  SegmentNotice notice;
  if (message.size != sizeof notice) return false;
  std::memcpy(&notice, message.bytes.data(), sizeof notice);
  return notice.magic == kSetupMagic && notice.slot == kFarewell;
}

bool is_open(int socket) {
  pollfd one{socket, POLLRDHUP, 0};
  return ::poll(&one, 1, 0) == 0;
}

}  // namespace muster::drivers::shm

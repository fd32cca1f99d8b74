#include "muster/drivers/ucx/seal.h"

#include <charconv>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>

namespace muster::drivers::ucx {
namespace {

namespace fs = std::filesystem;

bool is_inherited(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

std::string target_of(int descriptor) {
  std::error_code gone;
  return fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), gone).string();
}

// Calls `visit` with the number and the target of each open descriptor that a
// program which is started would inherit. Few of the thousands that may be open,
// of which none may cost much: this is done while two processes meet.
void each_inherited(const std::function<void(int, const std::string&)>& visit) {
  const std::unique_ptr<DIR, CloseFolder> folder(opendir("/proc/self/fd"));
  if (!folder) return;
  while (const dirent* const entry = readdir(folder.get())) {
    const std::string_view name(entry->d_name);
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (number <= 2 || !is_inherited(number)) continue;
    if (const std::string target = target_of(number); !target.empty()) visit(number, target);
  }
}

int option_of(int socket, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

bool is_internet(int socket) {
  const int family = option_of(socket, SO_DOMAIN);
  return family == AF_INET || family == AF_INET6;
}

using AskAddress = int (*)(int, sockaddr*, socklen_t*);

// The address as the system has it, empty if there is none.
std::string address_of(int socket, AskAddress ask) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (ask(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  return {reinterpret_cast<const char*>(&address), size};
}

bool is_socket(const std::string& target) { return target.starts_with("socket:"); }

// UCX never blocks; pipes and sockets for a program to be started mostly do. Its own
// between processes of a host are of datagrams.
bool may_be_of_ucx(int number, const std::string& target) {
  if (target.starts_with("anon_inode:") || target.starts_with("/dev/")) return true;
  if (!is_socket(target) && !target.starts_with("pipe:")) return false;
  if ((fcntl(number, F_GETFL) & O_NONBLOCK) == 0) return false;
  return !is_socket(target) || is_internet(number) || option_of(number, SO_TYPE) == SOCK_DGRAM;
}

bool is_named_as_of_ucx(const std::string& target) {
  return target.starts_with("/dev/shm/ucx_") || target.starts_with("/dev/infiniband/") ||
         target == "anon_inode:[infinibandevent]";
}

std::string id_of(int number, const std::string& target) { return std::to_string(number) + target; }

}  // namespace

void Seal::begin() {
  before_.clear();
  each_inherited(
      [this](int number, const std::string& target) { before_.insert(id_of(number, target)); });
}

void Seal::end() {
  each_inherited([this](int number, const std::string& target) {
    if (before_.contains(id_of(number, target)) || !may_be_of_ucx(number, target)) return;
    mark(number, target);
  });
  before_.clear();
}

void Seal::look_again() {
  for (const Socket& socket : std::exchange(connecting_, {})) {
    if (target_of(socket.number) == socket.target) note(socket);
  }
  each_inherited([this](int number, const std::string& target) {
    const bool is_of_ucx = is_socket(target) ? is_related(number) : is_named_as_of_ucx(target);
    if (is_of_ucx) mark(number, target);
  });
}

void Seal::mark(int number, const std::string& target) {
  fcntl(number, F_SETFD, FD_CLOEXEC);
  if (is_socket(target) && is_internet(number)) note({number, target});
}

// For the sake of others that are to come.
void Seal::note(const Socket& socket) {
  if (option_of(socket.number, SO_ACCEPTCONN) == 1) {
    listening_.insert(address_of(socket.number, &getsockname));
  } else if (std::string peer = address_of(socket.number, &getpeername); !peer.empty()) {
    // Not of those that came in: each has another.
    if (!listening_.contains(address_of(socket.number, &getsockname))) {
      reached_.insert(std::move(peer));
    }
  } else {
    connecting_.push_back(socket);
  }
}

bool Seal::is_related(int number) const {
  return is_internet(number) && (listening_.contains(address_of(number, &getsockname)) ||
                                 reached_.contains(address_of(number, &getpeername)));
}

}  // namespace muster::drivers::ucx

#include "muster/registries/embedded/folder.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::registries::embedded {
namespace {

constexpr const char* kLock = "lock";
constexpr const char* kSocket = "socket";
constexpr const char* kMembers = "members";
constexpr const char* kNewMembers = "members.new";
constexpr int kBacklog = 1024;

// A record lock belongs to the process: the kernel drops it with the process,
// and no forked child keeps it, as one would keep a lock of an open file. But
// it does not keep two parts of one process apart, and is gone as soon as any
// descriptor of the file is closed. So the process must know by itself what it
// holds, before it touches the file; this list is a fact of the process, too.
struct Held {
  std::mutex mutex;
  std::map<std::pair<dev_t, ino_t>, pid_t> folders;

  bool claim(dev_t device, ino_t inode) {
    const std::lock_guard lock(mutex);
    const auto [place, is_new] = folders.try_emplace({device, inode}, getpid());
    // A forked child has a copy of its parent's list, and none of its locks.
    if (is_new || place->second != getpid()) {
      place->second = getpid();
      return true;
    }
    return false;
  }
  void give_up(dev_t device, ino_t inode) {
    const std::lock_guard lock(mutex);
    folders.erase({device, inode});
  }
};

Held& held() {
  static Held& all = *new Held;  // Never destroyed: whoever goes last may still ask.
  return all;
}

// No child is made while another thread is at it, or the mutex would never be free there.
[[maybe_unused]] const int kWaitsForForks = pthread_atfork(
    [] { held().mutex.lock(); }, [] { held().mutex.unlock(); }, [] { held().mutex.unlock(); });

Result<Descriptor> open_private(int parent, const std::string& name, const std::string& path,
                                bool may_make) {
  const std::string attempt = "open the registry's folder " + path;
  if (may_make && mkdirat(parent, name.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return system_error(Code::unavailable, attempt, errno);
  }
  Descriptor folder(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) {
    if (errno == ELOOP || errno == ENOTDIR) {
      return Error(Code::invalid, "it is a link or no folder; remove it").during(attempt);
    }
    return system_error(errno == ENOENT ? Code::not_found : Code::unavailable, attempt, errno);
  }
  struct stat facts{};
  if (fstat(folder.get(), &facts) != 0) return system_error(Code::internal, attempt, errno);
  if (facts.st_uid != geteuid()) {
    return Error(Code::invalid, "it belongs to another user").during(attempt);
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Error(Code::invalid, "others may enter it; chmod 700 it").during(attempt);
  }
  return folder;
}

}  // namespace

std::string default_base() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') return std::string(runtime) + "/muster";
  return "/tmp/muster-" + std::to_string(geteuid());
}

Status prepare(const std::string& base) {
  MUSTER_TRY([[maybe_unused]] const Descriptor opened, open_private(AT_FDCWD, base, base, true));
  return ok();
}

FolderLock::FolderLock(Descriptor file, dev_t device, ino_t inode)
    : file_(std::move(file)), device_(device), inode_(inode) {}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : file_(std::move(other.file_)), device_(other.device_), inode_(other.inode_) {}

FolderLock::~FolderLock() {
  if (!file_) return;
  file_.reset();
  held().give_up(device_, inode_);
}

Result<Folder> Folder::open(const std::string& base, const std::string& group) {
  return reach(base, group, true);
}

Result<Folder> Folder::find(const std::string& base, const std::string& group) {
  return reach(base, group, false);
}

Result<Folder> Folder::reach(const std::string& base, const std::string& group, bool may_make) {
  MUSTER_TRY(const Descriptor outer, open_private(AT_FDCWD, base, base, may_make));
  std::string path = base + "/" + group;
  MUSTER_TRY(Descriptor inner, open_private(outer.get(), group, path, may_make));
  return Folder(std::move(path), std::move(inner));
}

Error Folder::failure(const char* attempt) const {
  return system_error(Code::unavailable, std::string(attempt) + " in " + path_, errno);
}

Result<std::optional<FolderLock>> Folder::try_lock() const {
  struct stat facts{};
  if (fstat(folder_.get(), &facts) != 0) return failure("look");
  if (!held().claim(facts.st_dev, facts.st_ino)) return std::optional<FolderLock>();
  // From here on the claim is given up with this.
  FolderLock lock(Descriptor(openat(folder_.get(), kLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                                    S_IRUSR | S_IWUSR)),
                  facts.st_dev, facts.st_ino);
  if (!lock.file_) {
    held().give_up(facts.st_dev, facts.st_ino);
    return failure("open the lock");
  }
  flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(lock.file_.get(), F_SETLK, &whole) == 0) return std::optional(std::move(lock));
  if (errno == EACCES || errno == EAGAIN) return std::optional<FolderLock>();
  return failure("take the lock");
}

bool Folder::is_current(const FolderLock& lock) const {
  struct stat ours{};
  struct stat found{};
  if (fstat(lock.file_.get(), &ours) != 0) return false;
  if (stat((path_ + "/" + kLock).c_str(), &found) != 0) return false;
  return ours.st_dev == found.st_dev && ours.st_ino == found.st_ino;
}

// By way of the open folder: whatever the length of its path, and whatever has
// become of it.
sockaddr_un Folder::socket_address() const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder_.get(),
                kSocket);
  return address;
}

Result<Descriptor> Folder::listen() const {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failure("make a socket");
  remove_socket();
  const sockaddr_un address = socket_address();
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failure("bind the socket");
  }
  if (::listen(socket.get(), kBacklog) != 0) return failure("listen");
  return socket;
}

Result<Descriptor> Folder::connect() const {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failure("make a socket");
  const sockaddr_un address = socket_address();
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failure("connect");
  }
  return socket;
}

void Folder::remove_socket() const { unlinkat(folder_.get(), kSocket, 0); }

Status Folder::save(std::span<const std::byte> bytes) const {
  const Descriptor file(openat(folder_.get(), kNewMembers,
                               O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                               S_IRUSR | S_IWUSR));
  if (!file) return failure("write who is there");
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failure("write who is there");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (renameat(folder_.get(), kNewMembers, folder_.get(), kMembers) != 0) {
    return failure("write who is there");
  }
  return ok();
}

Result<std::optional<std::vector<std::byte>>> Folder::load(std::size_t most) const {
  const Descriptor file(openat(folder_.get(), kMembers, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::optional<std::vector<std::byte>>();
  if (!file) return failure("read who was there");
  struct stat facts{};
  if (fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    return failure("read who was there");
  if (static_cast<std::size_t>(facts.st_size) > most) {
    return Error(Code::invalid, "read who was there: the file is too long");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(facts.st_size));
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failure("read who was there");
    filled += static_cast<std::size_t>(got);
  }
  return std::optional(std::move(bytes));
}

}  // namespace muster::registries::embedded

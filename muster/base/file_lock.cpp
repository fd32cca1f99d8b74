#include "muster/base/file_lock.h"

#include <cerrno>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster {
namespace {

// The system does not keep two parts of one process apart: the process must know by
// itself what it has, before it opens the file. A forked child has a copy of this
// and none of the locks, hence the process's number.
struct Held {
  std::mutex mutex;  // While a file is opened and closed, too.
  std::set<std::tuple<pid_t, dev_t, ino_t>> files;

  bool has(const struct stat& facts) const {
    return files.contains({getpid(), facts.st_dev, facts.st_ino});
  }
};

Held& held() {
  static Held& all = *new Held;  // Never destroyed: whoever goes last may still ask.
  return all;
}

// No child is made while another thread is at it, or the mutex would never be free there.
[[maybe_unused]] const int kWaitsForForks = pthread_atfork(
    [] { held().mutex.lock(); }, [] { held().mutex.unlock(); }, [] { held().mutex.unlock(); });

}  // namespace

Result<FileLock> FileLock::take(const std::string& path) {
  const std::string attempt = "lock " + path;
  const std::scoped_lock guard(held().mutex);
  struct stat facts{};
  if (stat(path.c_str(), &facts) == 0 && held().has(facts)) {
    return Error(Code::unavailable, attempt + ": this process has it already");
  }
  FileLock lock;
  lock.file_ = Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!lock.file_ || fstat(lock.file_.get(), &facts) != 0) {
    return system_error(Code::unavailable, attempt, errno);
  }
  if (held().has(facts)) {  // Somebody has moved it here just now: to close it would free it.
    lock.file_.release();
    return Error(Code::unavailable, attempt + ": this process has it already");
  }
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(lock.file_.get(), F_SETLK, &whole) != 0) {
    if (errno != EACCES && errno != EAGAIN) return system_error(Code::unavailable, attempt, errno);
    return Error(Code::unavailable, attempt + ": another process has it");
  }
  lock.owner_ = getpid();
  lock.device_ = facts.st_dev;
  lock.inode_ = facts.st_ino;
  held().files.emplace(lock.owner_, lock.device_, lock.inode_);
  return lock;
}

FileLock::~FileLock() {
  if (!file_ || owner_ == 0) return;  // It never was one: the file just closes.
  if (owner_ != getpid()) {
    file_.release();  // To close it would free a lock that this child may have taken.
    return;
  }
  const std::scoped_lock guard(held().mutex);
  file_.reset();
  held().files.erase({owner_, device_, inode_});
}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(owner_, other.owner_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

}  // namespace muster

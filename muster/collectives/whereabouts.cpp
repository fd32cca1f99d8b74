#include "muster/collectives/whereabouts.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "muster/base/descriptor.h"
#include "muster/base/id.h"

namespace muster::collectives {
namespace {

// One of the kernel's short files. What it tells of may go between opening and reading.
struct Told {
  std::string text;
  int error = 0;  // Why there is nothing.
};

Told contents_of(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {{}, errno};
  std::array<char, 4096> text;
  const ssize_t got = read(file.get(), text.data(), text.size());
  if (got < 0) return {{}, errno};
  return {std::string(text.data(), static_cast<std::size_t>(got)), 0};
}

// The state, such as 'R' or 'Z', and the time of the start; '\0' if there is no
// such process, '?' if that cannot be told.
struct Life {
  char state = '?';
  std::uint64_t start = 0;
};

Life life_of(std::int64_t pid) {
  const auto [stat, error] = contents_of("/proc/" + std::to_string(pid) + "/stat");
  if (error == ENOENT || error == ESRCH) return {.state = '\0'};
  // The name in parentheses may hold anything, spaces and parentheses too.
  const std::size_t after_name = stat.rfind(')');
  if (after_name == std::string::npos) return {};
  Life life;
  const char* at = stat.c_str() + after_name + 1;
  if (*at == ' ') ++at;
  life.state = *at;
  for (int field = 3; field < 22 && at != nullptr; ++field) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  if (at != nullptr) life.start = std::strtoull(at, nullptr, 10);
  return life;
}

std::uint64_t make_host() {
  const std::string boot = contents_of("/proc/sys/kernel/random/boot_id").text;
  struct stat space = {};
  if (boot.empty() || stat("/proc/self/ns/pid", &space) != 0) return 0;
  const std::uint64_t host = std::hash<std::string>{}(boot + "/" + std::to_string(space.st_ino));
  return host | 1;
}

}  // namespace

Process this_process() {
  // A word that others can try to read, and that nobody else has.
  static const std::uint64_t kMark = random_bits();
  static const std::uint64_t kHost = make_host();
  Process process;
  process.host = kHost;
  process.pid = getpid();
  process.start = life_of(process.pid).start;
  process.probe = reinterpret_cast<std::uint64_t>(&kMark);
  process.mark = kMark;
  return process;
}

bool has_ended(const Process& process) {
  if (process.pid <= 0 || process.host == 0 || process.host != this_process().host) return false;
  const Life life = life_of(process.pid);
  if (life.state == '\0') return true;
  if (life.state == '?') return false;
  return life.state == 'Z' || life.state == 'X' || life.start != process.start;
}

bool read_memory(std::int64_t pid, std::uint64_t from, std::byte* to, std::size_t bytes) {
  while (bytes > 0) {
    iovec here{to, bytes};
    iovec there{reinterpret_cast<void*>(from), bytes};
    const ssize_t got = process_vm_readv(static_cast<pid_t>(pid), &here, 1, &there, 1, 0);
    if (got <= 0) return false;
    from += static_cast<std::uint64_t>(got);
    to += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool may_read(const Process& process) {
  std::uint64_t mark = 0;
  return process.is_same_host(this_process()) &&
         read_memory(process.pid, process.probe, reinterpret_cast<std::byte*>(&mark),
                     sizeof mark) &&
         mark == process.mark;
}

}  // namespace muster::collectives

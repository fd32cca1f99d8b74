#include "tests/process/child.h"

#include <array>
#include <cstdlib>
#include <ctime>
#include <map>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "muster/base/check.h"

extern char** environ;

namespace muster::tests {
namespace {

std::map<std::string, Role>& roles() {
  static std::map<std::string, Role> all;
  return all;
}

timespec to_timespec(Duration duration) {
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  return {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
}

}  // namespace

RoleName::RoleName(const std::string& name, Role role) { roles()[name] = std::move(role); }

bool play_role(int argc, char** argv, int& exit_code) {
  if (argc < 3 || std::string(argv[1]) != "--role") return false;
  exit_code = roles().at(argv[2])(std::vector<std::string>(argv + 3, argv + argc));
  return true;
}

Child::Child(const std::string& role, const std::vector<std::string>& arguments,
             const std::vector<int>& descriptors) {
  std::vector<std::string> words{"process_test", "--role", role};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Onto itself: clears close-on-exec in the child alone.
  for (const int fd : descriptors) posix_spawn_file_actions_adddup2(&actions, fd, fd);
  const int failed = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  MUSTER_CHECK(failed == 0, "this very program can be started");
}

Child::~Child() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  join();
}

Duration Child::cpu_time() const {
  clockid_t clock{};
  timespec used{};
  MUSTER_CHECK(clock_getcpuclockid(pid_, &clock) == 0 && clock_gettime(clock, &used) == 0,
               "a child that runs has a clock");
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

int Child::join() {
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Pipe::Pipe() { MUSTER_CHECK(pipe2(ends_, O_CLOEXEC) == 0, "a pipe can be made"); }

Pipe::~Pipe() {
  close(ends_[0]);
  close_writer();
}

void Pipe::close_writer() {
  const int writer = std::exchange(ends_[1], -1);
  if (writer >= 0) close(writer);
}

bool await_bytes(int descriptor, std::size_t count, Duration patience) {
  const TimePoint deadline = system_clock().now() + patience;
  std::array<char, 64> bytes;
  while (count > 0) {
    const Duration left = deadline - system_clock().now();
    if (left <= Duration::zero()) return false;
    const timespec timeout = to_timespec(left);
    pollfd source{descriptor, POLLIN, 0};
    if (ppoll(&source, 1, &timeout, nullptr) != 1) continue;
    const ssize_t got = read(descriptor, bytes.data(), std::min(bytes.size(), count));
    if (got <= 0) return false;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

void send_byte(int descriptor) { [[maybe_unused]] const ssize_t sent = write(descriptor, "x", 1); }

void let_pass(Duration interval) {
  const timespec timeout = to_timespec(interval);
  ppoll(nullptr, 0, &timeout, nullptr);
}

}  // namespace muster::tests

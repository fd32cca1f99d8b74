#include "muster/net/testing/child_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace muster::net::testing {
namespace {

constexpr const char* kRoleVariable = "MUSTER_TEST_ROLE";
constexpr const char* kParentVariable = "MUSTER_TEST_PARENT";

std::map<std::string, Role, std::less<>>& roles() {
  static std::map<std::string, Role, std::less<>> known;
  return known;
}

// False if nothing can be read before the deadline.
bool wait_readable(int descriptor, TimePoint deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - system_clock().now());
    pollfd wanted{descriptor, POLLIN, 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error(Code::overloaded, "make a pipe", errno);
  return Pipe{ends[0], ends[1]};
}

// This process's environment, with the role put in.
std::vector<std::string> environment_of(const std::string& role) {
  std::vector<std::string> variables = {
      std::string(kRoleVariable) + "=" + role,
      std::string(kParentVariable) + "=" + std::to_string(getpid())};
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  return variables;
}

std::vector<char*> as_pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

LinePipe::~LinePipe() {
  ::close(in_);
  ::close(out_);
}

Result<std::string> LinePipe::read_line(Duration patience) {
  const TimePoint deadline = system_clock().now() + patience;
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (!wait_readable(in_, deadline)) return Error(Code::timeout, "no line came in time");
    char bytes[512];
    const ssize_t count = ::read(in_, bytes, sizeof bytes);
    if (count == 0) return Error(Code::unavailable, "the other process has gone");
    if (count < 0 && errno != EINTR) return system_error(Code::internal, "read a line", errno);
    if (count > 0) unread_.append(bytes, static_cast<std::size_t>(count));
  }
}

bool LinePipe::write_line(std::string_view line) {
  std::string text(line);
  text += '\n';
  // Shorter than PIPE_BUF, so whole or not at all.
  return ::write(out_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(
    const std::string& role, const std::vector<std::string>& arguments) {
  MUSTER_TRY(const Pipe down, make_pipe());
  MUSTER_TRY(const Pipe up, make_pipe());
  auto pipe = std::make_unique<LinePipe>(up.read_end, down.write_end);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, down.read_end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, up.write_end, STDOUT_FILENO);
  std::vector<std::string> variables = environment_of(role);
  std::vector<std::string> words = {"child"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  int pid = 0;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr,
                                as_pointers(words).data(), as_pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(down.read_end);
  ::close(up.write_end);
  if (error != 0) return system_error(Code::overloaded, "start a child process", error);
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, std::move(pipe)));
}

ChildProcess::~ChildProcess() {
  if (is_reaped_) return;
  signal(SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::signal(int number) const {
  if (!is_reaped_) ::kill(pid_, number);
}

void ChildProcess::stop() {
  signal(SIGSTOP);
  while (waitpid(pid_, nullptr, WUNTRACED) < 0 && errno == EINTR) {
  }
}

Result<int> ChildProcess::wait(Duration patience) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (handle < 0) return system_error(Code::internal, "watch a child process", errno);
  const bool has_ended = wait_readable(handle, system_clock().now() + patience);
  ::close(handle);
  if (!has_ended) return Error(Code::timeout, "the child process still runs");
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  is_reaped_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool add_role(std::string_view name, Role role) { return roles().emplace(name, role).second; }

int run_role(int count, char** arguments) {
  const char* const name = std::getenv(kRoleVariable);
  if (name == nullptr) return -1;
  ::signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have died before it could be told so.
  const char* const parent_id = std::getenv(kParentVariable);
  if (parent_id == nullptr || getppid() != std::atoi(parent_id)) return 1;
  const auto role = roles().find(std::string_view(name));
  if (role == roles().end()) return 1;
  // Lines have descriptors of their own, so that nobody prints into them.
  LinePipe pipe(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  dup2(STDERR_FILENO, STDOUT_FILENO);
  Parent parent{{arguments + 1, arguments + count}, pipe};
  return role->second(parent);
}

}  // namespace muster::net::testing

#include "benchmarks/peers/ucx/perftest.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "benchmarks/common/clock.h"
#include "benchmarks/common/fail.h"

namespace muster::bench::ucx {
namespace {

constexpr int kTries = 100;  // 20 ms apart, until the server listens.
// Both sides always poll: with less than a processor each they may take for ever.
constexpr double kPatience = 60;

std::string free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(probe, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail("no free port");
  }
  close(probe);
  return std::to_string(ntohs(address.sin_port));
}

// A child that writes to `output`.
pid_t start(const std::vector<std::string>& arguments, int output) {
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child > 0) return child;
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

bool ends_well(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// All that it says until its end, or until it is killed because time is over.
std::string run_client(const std::vector<std::string>& arguments, bool& is_done) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
  const pid_t client = start(arguments, ends[1]);
  close(ends[1]);
  const Deadline end(kPatience);
  std::string said;
  std::array<char, 4096> piece{};
  for (ssize_t got = 1; got > 0;) {
    pollfd one{ends[0], POLLIN, 0};
    if (poll(&one, 1, 100) > 0) {
      got = read(ends[0], piece.data(), piece.size());
      if (got > 0) said.append(piece.data(), static_cast<std::size_t>(got));
    } else if (end.passed()) {
      kill(client, SIGKILL);
      said += " (nothing more in time; has each side a processor?)";
      break;
    }
  }
  close(ends[0]);
  is_done = ends_well(client);
  return said;
}

// A header, then: iterations, p50, average, overall, two bandwidths, two rates.
Figures parse(const std::string& said) {
  const std::size_t header = said.rfind("iterations,");
  const std::size_t line = said.find('\n', header);
  double count = 0, p50 = 0, average = 0, overall = 0, mb = 0, all_mb = 0, rate = 0, all_rate = 0;
  if (header == std::string::npos || line == std::string::npos ||
      std::sscanf(said.c_str() + line + 1, "%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &count, &p50,
                  &average, &overall, &mb, &all_mb, &rate, &all_rate) != 8) {
    fail("ucx_perftest says: " + said);
  }
  return {p50, all_rate};
}

}  // namespace

Figures run_perftest(const Job& job) {
  setenv("UCX_TLS", job.fabrics, 1);
  setenv("UCX_NET_DEVICES", "lo", 1);
  setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 1);
  std::vector<std::string> arguments = {"ucx_perftest",
                                        "-t",
                                        job.test,
                                        "-s",
                                        std::to_string(job.size),
                                        "-n",
                                        std::to_string(job.count),
                                        "-w",
                                        std::to_string(job.count / 10 + 1),
                                        "-f",
                                        "-v",
                                        "-p",
                                        free_port()};
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t server = start(arguments, nowhere);
  close(nowhere);
  arguments.emplace_back("127.0.0.1");
  std::string said;
  bool is_done = false;
  const Deadline end(kPatience);
  for (int i = 0; i < kTries && !is_done && !end.passed(); ++i) {
    poll(nullptr, 0, 20);
    said = run_client(arguments, is_done);
  }
  if (!is_done) kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  if (!is_done) fail("ucx_perftest says: " + said);
  return parse(said);
}

}  // namespace muster::bench::ucx

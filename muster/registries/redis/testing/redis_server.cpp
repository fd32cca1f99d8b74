#include "muster/registries/redis/testing/redis_server.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "muster/base/check.h"
#include "muster/base/descriptor.h"
#include "muster/net/testing/child_process.h"

namespace muster::registries::redis {
namespace {

std::uint16_t free_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  MUSTER_CHECK(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                   getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0,
               "the loopback has a free port");
  return ntohs(address.sin_port);
}

std::string output_of(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  MUSTER_CHECK(pipe != nullptr, "a test can run a program");
  std::string text;
  std::array<char, 1024> bytes;
  while (const std::size_t size = fread(bytes.data(), 1, bytes.size(), pipe)) {
    text.append(bytes.data(), size);
  }
  pclose(pipe);
  return text;
}

}  // namespace

RedisServer::RedisServer(const RedisServerOptions& options)
    : options_(options), port_(free_port()) {
  std::string pattern = (std::filesystem::temp_directory_path() / "muster-redis-XXXXXX").string();
  MUSTER_CHECK(mkdtemp(pattern.data()) != nullptr, "a test can make a folder");
  folder_ = pattern;
  if (options_.has_tls) make_certificate();
  start();
}

RedisServer::~RedisServer() {
  kill_it();
  std::filesystem::remove_all(folder_);
}

void RedisServer::make_certificate() const {
  output_of(
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
      "-subj /CN=redis -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout " +
      folder_ + "/key.pem -out " + ca_file() + " 2>&1");
  MUSTER_CHECK(std::filesystem::exists(ca_file()), "openssl makes a certificate");
}

std::vector<std::string> RedisServer::arguments() const {
  const std::string port = std::to_string(port_);
  std::vector<std::string> words = {"redis-server",
                                    "--bind",
                                    "127.0.0.1",
                                    "--dir",
                                    folder_,
                                    "--save",
                                    "",
                                    "--appendonly",
                                    options_.keeps_data ? "yes" : "no"};
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  if (options_.has_tls) {
    add({"--port", "0", "--tls-port", port, "--tls-cert-file", ca_file(), "--tls-key-file",
         key_file(), "--tls-ca-cert-file", ca_file(), "--tls-auth-clients",
         options_.asks_for_certificates ? "yes" : "no"});
  } else {
    add({"--port", port});
  }
  if (!options_.password.empty()) add({"--requirepass", options_.password});
  if (!options_.acl_user.empty()) {
    std::ofstream(folder_ + "/users.acl") << "user default off\n"
                                          << "user " << options_.acl_user << "\n"
                                          << "user inspector on >look ~* &* +@all\n";
    add({"--aclfile", folder_ + "/users.acl"});
  }
  return words;
}

void RedisServer::start() {
  std::vector<std::string> words = arguments();
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::array<int, 2> ends{};
  MUSTER_CHECK(pipe2(ends.data(), O_CLOEXEC) == 0, "a pipe can be made");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int failed =
      posix_spawnp(&pid_, "redis-server", &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  MUSTER_CHECK(failed == 0, "redis-server is installed");
  net::testing::LinePipe output(ends[0], fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  std::string all;
  for (;;) {
    const Result<std::string> line = output.read_line();
    if (!line) std::fprintf(stderr, "%s", all.c_str());
    MUSTER_CHECK(line.has_value(), "redis-server starts");
    all += *line + "\n";
    if (line->find("Ready to accept connections") != std::string::npos) return;
  }
}

void RedisServer::end(int signal) {
  if (pid_ < 0) return;
  ::kill(pid_, signal);
  waitpid(std::exchange(pid_, -1), nullptr, 0);
}

void RedisServer::shut_down() { end(SIGTERM); }
void RedisServer::kill_it() { end(SIGKILL); }
void RedisServer::stop() {
  ::kill(pid_, SIGSTOP);
  waitpid(pid_, nullptr, WUNTRACED);
}
void RedisServer::go_on() { ::kill(pid_, SIGCONT); }

std::string RedisServer::ask(const std::string& command) const {
  std::string words = "redis-cli --no-auth-warning -p " + std::to_string(port_);
  if (options_.has_tls) words += " --tls --cacert " + ca_file();
  if (options_.asks_for_certificates) words += " --cert " + ca_file() + " --key " + key_file();
  if (!options_.acl_user.empty()) {
    words += " --user inspector --pass look";
  } else if (!options_.password.empty()) {
    words += " -a " + options_.password;
  }
  return output_of(words + " " + command);
}

}  // namespace muster::registries::redis

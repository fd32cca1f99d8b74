#include "apps/muster/measure.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/muster/station.h"
#include "muster/base/buffer_pool.h"
#include "muster/base/id.h"

namespace muster::app {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr std::size_t kSmall = 64;
constexpr std::size_t kLarge = std::size_t{64} << 20;
constexpr const char* kTokenVariable = "MUSTER_MEASURE_TOKEN";

// The first byte of a message says what the peer shall do with it.
enum class Ask : std::uint8_t { echo = 1, swallow = 2, count = 3, large = 4 };

// The process at the other end; ended, at the latest, when this goes.
class Other {
 public:
  static Result<std::unique_ptr<Other>> start(const std::string& scheme, const std::string& token) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return system_error(Code::overloaded, "make a pipe", errno);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string self = "/proc/self/exe";
    std::string verb = "measure-peer";
    std::string name = scheme;
    char* arguments[] = {self.data(), verb.data(), name.data(), nullptr};
    // By the environment: an argument would stand in the process list.
    setenv(kTokenVariable, token.c_str(), 1);
    pid_t pid = 0;
    const int error = posix_spawn(&pid, self.c_str(), &actions, nullptr, arguments, environ);
    unsetenv(kTokenVariable);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error != 0) {
      close(ends[0]);
      return system_error(Code::overloaded, "start the other process", error);
    }
    return std::unique_ptr<Other>(new Other(pid, ends[0]));
  }
  ~Other() {
    std::fclose(output_);
    // By now the conversation is over, or never was: it has nothing left to do.
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }

  // The line in which it says where it listens.
  Result<std::string> address() {
    char line[256];
    if (std::fgets(line, sizeof line, output_) == nullptr) {
      return Error(Code::unavailable, "the other process did not come up");
    }
    line[std::strcspn(line, "\n")] = '\0';
    return std::string(line);
  }

 private:
  Other(pid_t pid, int output) : pid_(pid), output_(fdopen(output, "r")) {}
  pid_t pid_;
  std::FILE* output_;
};

class Caller {
 public:
  explicit Caller(Station& station) : station_(station), talk_(station.conversation()) {}

  Status send(Ask ask, std::size_t size) {
    WritableBuffer body = pool_.take(size);
    std::memset(body.data(), 0, size);
    body.bytes()[0] = std::byte{static_cast<std::uint8_t>(ask)};
    return talk_.send(std::move(body).freeze(), deadline());
  }

  Result<double> round_trip_us() {
    std::vector<double> samples;
    const TimePoint end = station_.loop().now() + milliseconds(200);
    for (TimePoint start = station_.loop().now(); start < end;) {
      MUSTER_TRY_OK(send(Ask::echo, kSmall));
      MUSTER_TRY_OK(answer());
      const TimePoint now = station_.loop().now();
      samples.push_back(duration<double, std::micro>(now - start).count());
      start = now;
    }
    std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
    return samples[samples.size() / 2];
  }

  Result<double> messages_per_s() {
    const TimePoint start = station_.loop().now();
    std::size_t count = 0;
    while (station_.loop().now() < start + milliseconds(200)) {
      for (int i = 0; i < 256; ++i) MUSTER_TRY_OK(send(Ask::swallow, kSmall));
      count += 256;
    }
    MUSTER_TRY_OK(send(Ask::count, kSmall));
    MUSTER_TRY_OK(answer());
    return count / duration<double>(station_.loop().now() - start).count();
  }

  Result<double> copied_gb_per_s() {
    std::vector<std::byte> memory(kLarge, std::byte{static_cast<std::uint8_t>(Ask::large)});
    double best = 0;
    for (int round = 0; round < 5; ++round) {
      const TimePoint start = station_.loop().now();
      MUSTER_TRY_OK(talk_.send(Buffer(memory, nullptr), deadline()));
      MUSTER_TRY_OK(answer());
      best = std::max(best, kLarge / duration<double>(station_.loop().now() - start).count());
    }
    return best / 1e9;
  }

  Result<double> handover_us() {
    std::vector<double> samples;
    for (int round = 0; round < 20; ++round) {
      MUSTER_TRY(WritableBuffer body, talk_.allocate(kLarge));
      body.bytes()[0] = std::byte{static_cast<std::uint8_t>(Ask::large)};
      Buffer frozen = std::move(body).freeze();
      const TimePoint start = station_.loop().now();
      MUSTER_TRY_OK(talk_.send(std::move(frozen), deadline()));
      MUSTER_TRY_OK(answer());
      samples.push_back(duration<double, std::micro>(station_.loop().now() - start).count());
    }
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
  }

 private:
  TimePoint deadline() { return station_.loop().now() + std::chrono::seconds(10); }
  Status answer() {
    MUSTER_TRY(const Buffer body, talk_.receive(deadline()));
    if (body.size() != kSmall) return Error(Code::internal, "an answer of the wrong size");
    return ok();
  }

  Station& station_;
  net::Conversation& talk_;
  BufferPool pool_;
};

// Talks to whoever listens at `address`.
Result<Measurement> measure_at(const std::string& address, Station& station) {
  MUSTER_TRY_OK(station.connect(address));
  Caller caller(station);
  Measurement result;
  result.scheme = address.substr(0, address.find(':'));
  MUSTER_TRY(result.round_trip_us, caller.round_trip_us());
  MUSTER_TRY(result.messages_per_s, caller.messages_per_s());
  // Within a process nothing is ever copied.
  if (result.scheme != "inproc") {
    MUSTER_TRY(result.copied_gb_per_s, caller.copied_gb_per_s());
  }
  if (result.scheme == "shm" || result.scheme == "inproc") {
    MUSTER_TRY(result.handover_us, caller.handover_us());
  }
  station.conversation().close();
  return result;
}

// Answers until the other end leaves.
Status serve(Station& station) {
  net::Conversation& talk = station.conversation();
  MUSTER_TRY_OK(talk.wait_until_up(station.loop().now() + std::chrono::seconds(10)));
  const Buffer small = Buffer::copy_of(std::string(kSmall, '.'));
  for (;;) {
    const Result<Buffer> body = talk.receive();
    if (!body) return ok();  // The other has what it wanted.
    if (body->empty()) continue;
    const auto ask = static_cast<Ask>(body->bytes()[0]);
    if (ask != Ask::swallow) MUSTER_TRY_OK(talk.send(small));
  }
}

// Two loops of this process, a thread for each.
Result<Measurement> measure_within(const std::string& token) {
  const auto hub = drivers::make_inproc_hub();
  MUSTER_TRY(const auto server, Station::make(token, hub));
  MUSTER_TRY(const std::string address, server->listen("inproc"));
  const std::jthread serving([&server] { static_cast<void>(serve(*server)); });
  MUSTER_TRY(const auto station, Station::make(token, hub));
  return measure_at(address, *station);
}

}  // namespace

Result<Measurement> measure(const std::string& scheme) {
  const std::string token = Id::random().to_string() + Id::random().to_string();
  if (scheme == "inproc") return measure_within(token);
  MUSTER_TRY(const auto other, Other::start(scheme, token));
  MUSTER_TRY(const std::string address, other->address());
  MUSTER_TRY(const auto station, Station::make(token));
  return measure_at(address, *station);
}

Status serve_measurement(const std::string& scheme) {
  const char* token = std::getenv(kTokenVariable);
  if (token == nullptr) return Error(Code::invalid, "`muster doctor --measure` starts this verb");
  MUSTER_TRY(const auto station, Station::make(token));
  MUSTER_TRY(const std::string address, station->listen(scheme));
  std::printf("%s\n", address.c_str());
  std::fflush(stdout);
  return serve(*station);
}

}  // namespace muster::app

#include "muster/runtime/signal_stop.h"

#include <atomic>
#include <cerrno>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace muster {
namespace {

// What the handler reads: a signal comes to the process, not to an object.
std::atomic<bool> is_taken{false};
std::atomic<int> pipe_end{-1};
std::atomic<int> first_signal{0};
struct sigaction before[NSIG];

void chain(int number, siginfo_t* info, void* context) {
  const struct sigaction& old = before[number];
  if ((old.sa_flags & SA_SIGINFO) != 0) {
    if (old.sa_sigaction != nullptr) old.sa_sigaction(number, info, context);
  } else if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) {
    old.sa_handler(number);
  }
}

// Only what may be done in a signal's handler.
void on_signal(int number, siginfo_t* info, void* context) {
  const int saved = errno;
  int none = 0;
  if (first_signal.compare_exchange_strong(none, number)) {
    const char byte = 0;
    [[maybe_unused]] const auto written = write(pipe_end.load(), &byte, 1);
  } else if (before[number].sa_handler == SIG_DFL) {
    // Whoever asks twice does not want to wait.
    signal(number, SIG_DFL);
    raise(number);
  }
  chain(number, info, context);
  errno = saved;
}

}  // namespace

struct SignalStop::State {
  std::vector<int> signals;
  std::stop_source stop;
  int ends[2] = {-1, -1};
  std::thread thread;
};

SignalStop::SignalStop(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<SignalStop>> SignalStop::make(const std::vector<int>& signals) {
  if (is_taken.exchange(true)) {
    return Error(Code::invalid, "stop at signals: another SignalStop does so already");
  }
  auto state = std::make_unique<State>();
  if (pipe2(state->ends, O_CLOEXEC) != 0) {
    is_taken = false;
    return system_error(Code::overloaded, "stop at signals: make a pipe", errno);
  }
  pipe_end = state->ends[1];
  first_signal = 0;
  State& its = *state;
  its.thread = std::thread([&its] {
    char byte = 0;
    const auto got = read(its.ends[0], &byte, 1);
    if (got == 1 && byte == 0) its.stop.request_stop();
  });
  std::unique_ptr<SignalStop> made(new SignalStop(std::move(state)));
  for (const int number : signals) {
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    if (sigaction(number, nullptr, &before[number]) != 0 ||
        sigaction(number, &action, nullptr) != 0) {
      return system_error(Code::invalid, "stop at signals", errno);
    }
    its.signals.push_back(number);
  }
  return made;
}

SignalStop::~SignalStop() {
  for (const int number : state_->signals) sigaction(number, &before[number], nullptr);
  const char byte = 1;
  [[maybe_unused]] const auto written = write(state_->ends[1], &byte, 1);
  state_->thread.join();
  pipe_end = -1;
  for (const int end : state_->ends) close(end);
  is_taken = false;
}

std::stop_token SignalStop::token() const { return state_->stop.get_token(); }

int SignalStop::signal() const { return first_signal; }

}  // namespace muster

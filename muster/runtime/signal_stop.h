// SignalStop: a stop token that SIGINT and SIGTERM ask, so that a program can leave
// its group before it ends.
//
//   MUSTER_TRY(const auto stop, SignalStop::make());
//   Status ended = component.launch(Wait(stop->token()));  // Until it ends, or a signal.
//   MUSTER_TRY_OK(proxy->leave(seconds(5)));
//
// Nothing here is installed unless a program makes one. Whatever handled the signal
// before is called as well; a signal that comes again while nobody has gone yet does
// what it would have done without this.

#pragma once

#include <csignal>
#include <memory>
#include <stop_token>
#include <vector>

#include "muster/base/result.h"

namespace muster {

class SignalStop {
 public:
  // One at a time: a second one, while the first lives, is Code::invalid.
  static Result<std::unique_ptr<SignalStop>> make(const std::vector<int>& signals = {SIGINT,
                                                                                     SIGTERM});
  // What handled the signals before does so again.
  ~SignalStop();
  SignalStop(const SignalStop&) = delete;
  SignalStop& operator=(const SignalStop&) = delete;

  // Any thread. Asked to stop once one of the signals has come; what is called back
  // for that runs on a thread of this object's own.
  std::stop_token token() const;
  // Any thread. The signal that came, 0 if none has.
  int signal() const;

 private:
  struct State;
  explicit SignalStop(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace muster

// ChildProcess: another process of this very test program, in a role.
//
// Parent and child talk in lines over pipes. A child dies with its parent, and
// whoever waits here waits for an event, with a deadline.

#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"

namespace muster::net::testing {

// Lines over two descriptors, which it owns.
class LinePipe {
 public:
  LinePipe(int in, int out) : in_(in), out_(out) {}
  ~LinePipe();
  LinePipe(const LinePipe&) = delete;
  LinePipe& operator=(const LinePipe&) = delete;

  // Without its end. Code::unavailable if the other side has none and is gone.
  Result<std::string> read_line(Duration patience = std::chrono::seconds(60));
  // False if the other side is gone.
  bool write_line(std::string_view line);

 private:
  int in_;
  int out_;
  std::string unread_;
};

class ChildProcess {
 public:
  static Result<std::unique_ptr<ChildProcess>> start(const std::string& role,
                                                     const std::vector<std::string>& arguments);
  // Kills and reaps it, if need be.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  LinePipe& pipe() { return *pipe_; }
  int pid() const { return pid_; }

  void signal(int number) const;
  // SIGSTOP, and waits until it stands still.
  void stop();
  // Waits for its end: the exit code, or minus the signal that ended it.
  // Code::timeout if it still runs.
  Result<int> wait(Duration patience = std::chrono::seconds(60));

 private:
  ChildProcess(int pid, std::unique_ptr<LinePipe> pipe) : pid_(pid), pipe_(std::move(pipe)) {}

  int pid_;
  bool is_reaped_ = false;
  std::unique_ptr<LinePipe> pipe_;
};

// What a role gets: its arguments, and the way to its parent.
struct Parent {
  std::vector<std::string> arguments;
  LinePipe& pipe;
};
using Role = int (*)(Parent& parent);  // Returns the exit code.

bool add_role(std::string_view name, Role role);

// Runs the role that the environment names; below 0 if it names none.
int run_role(int count, char** arguments);

}  // namespace muster::net::testing

// MUSTER_ROLE(echo) { ... parent.pipe.write_line("ready"); ... return 0; }
#define MUSTER_ROLE(name)                                                          \
  static int role_##name([[maybe_unused]] ::muster::net::testing::Parent& parent); \
  [[maybe_unused]] static const bool kHasRole##name =                              \
      ::muster::net::testing::add_role(#name, role_##name);                        \
  static int role_##name([[maybe_unused]] ::muster::net::testing::Parent& parent)

// Another process of this same program, in a role of its own.
//
// Started anew, not forked: a fork of a process with threads can do little.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "muster/base/clock.h"

namespace muster::tests {

// What a role is given: its arguments. Returns the exit code.
using Role = std::function<int(const std::vector<std::string>& arguments)>;

// Before main(): `static const RoleName idle("idle", run_idle);`
class RoleName {
 public:
  RoleName(const std::string& name, Role role);
};

// For main(): the exit code, if this process was started for a role.
bool play_role(int argc, char** argv, int& exit_code);

class Child {
 public:
  // `descriptors` are open in the child under the same numbers.
  Child(const std::string& role, const std::vector<std::string>& arguments,
        const std::vector<int>& descriptors);
  // Kills it if it still runs.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  // Processor time of all its threads until now.
  Duration cpu_time() const;
  // Waits for its end. The exit code, or -1 if a signal ended it.
  int join();

 private:
  pid_t pid_ = -1;
};

// A line of communication: bytes that one process writes and another awaits.
class Pipe {
 public:
  Pipe();
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_writer();

 private:
  int ends_[2] = {-1, -1};
};

// False if they do not come in time.
bool await_bytes(int descriptor, std::size_t count, Duration patience = std::chrono::seconds(30));
void send_byte(int descriptor);

// Lets `interval` pass: the interval of a measurement.
void let_pass(Duration interval);

}  // namespace muster::tests

// One program, several roles, a process each. For the examples.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "muster/base/result.h"

// Runs the role that the command line names. If it names none, runs `first`, and
// a process for each of worker_1 to worker_N. For main() to return.
inline int run_roles(int argc, char** argv, const char* first, int workers,
                     muster::Status (*run)(const std::string& role)) {
  std::vector<pid_t> others;
  for (int i = 1; argc < 2 && i <= workers; ++i) {
    std::string role = "worker_" + std::to_string(i);
    char* const arguments[] = {argv[0], role.data(), nullptr};
    pid_t process = -1;
    if (posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0) {
      return 1;
    }
    others.push_back(process);
  }
  const std::string role = argc < 2 ? first : argv[1];
  const muster::Status done = run(role);
  if (!done) std::fprintf(stderr, "%s: %s\n", role.c_str(), done.error().describe().c_str());
  bool is_well = done.has_value();
  for (const pid_t process : others) {
    int status = 0;
    is_well &= waitpid(process, &status, 0) == process && status == 0;
  }
  return is_well ? 0 : 1;
}

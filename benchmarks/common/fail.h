// How a benchmark program gives up: one line on stderr, exit status 1.
#pragma once

#include <string>

namespace muster::bench {

// Ends this process at once. The others of the run follow: a forked one dies
// with its parent, and a parent ends when a forked one fails.
[[noreturn]] void fail(const std::string& why);

// As fail(), with the text of errno after `what`.
[[noreturn]] void fail_errno(const std::string& what);

// Gives back `result` of a system call, or fails.
template <class T>
T check_call(T result, const char* what) {
  if (result < 0) fail_errno(what);
  return result;
}

}  // namespace muster::bench

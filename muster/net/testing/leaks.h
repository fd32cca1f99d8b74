// What a process holds of the system, to see that a test gives all of it back.

#pragma once

#include <string>
#include <vector>

namespace muster::net::testing {

struct Holdings {
  std::vector<std::string> descriptors;  // What each open one leads to, sorted.
  std::vector<std::string> shared;       // Mappings of memory that others can see, sorted.
  std::vector<std::string> segments;     // Names of ours in /dev/shm, sorted.
};

Holdings look_at_holdings();

// What `after` has and `before` has not, a line each; empty if nothing.
std::string leaked(const Holdings& before, const Holdings& after);

}  // namespace muster::net::testing

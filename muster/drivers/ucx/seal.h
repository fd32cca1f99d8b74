// Descriptors that UCX opens are not for the programs that this one starts.
//
// UCX 1.13 opens its sockets without close-on-exec, some of them later, from a
// thread of its own. So whoever makes it open some looks for them afterwards.

#pragma once

#include <set>
#include <string>

namespace muster::drivers::ucx {

class Seal {
 public:
  // What is open now was there before UCX.
  Seal();
  // Marks the sockets, polls and devices that came since.
  void close() const;

 private:
  std::set<std::string> before_;
};

}  // namespace muster::drivers::ucx

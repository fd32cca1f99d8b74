// Descriptors that UCX opens are not for the programs that this one starts.
//
// UCX 1.13 opens its sockets without close-on-exec, some of them later, from a
// thread of its own. So whoever makes it open some looks for them afterwards. What
// the program itself opens is left as it is, but for what another thread opens just
// while UCX is called, and which looks as if it were UCX's.

#pragma once

#include <set>
#include <string>
#include <vector>

namespace muster::drivers::ucx {

class Seal {
 public:
  // UCX is called from now on.
  void begin();
  // It has returned: marks what it may have opened.
  void end();
  // Marks what it has opened since by itself: by sockets that listen, or to places
  // reached before.
  void look_again();

 private:
  struct Socket {
    int number;
    std::string target;  // As the system names it; another has another.
  };
  void mark(int number, const std::string& target);
  void note(const Socket& socket);
  bool is_related(int number) const;

  std::set<std::string> before_;
  std::vector<Socket> connecting_;   // Where to is not known yet.
  std::set<std::string> listening_;  // Addresses, as the system has them: of UCX's own,
  std::set<std::string> reached_;    // and of those that it has connected to.
};

}  // namespace muster::drivers::ucx

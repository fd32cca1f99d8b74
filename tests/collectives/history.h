// History: whose contributions were in each sum that a rank has had.
//
// In a file of its own, written at once: it outlives a rank that is killed, so that what it had
// returned can be held against what the others have.

#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>

#include "muster/collectives/communicator.h"

namespace muster::tests {

class History {
 public:
  // `folder`: of the registry. The file is beside it.
  History(const std::string& folder, collectives::Rank rank);
  void note(const collectives::Outcome& done);

  // By the numbers of the sums. Empty if that rank has noted nothing.
  static std::map<std::uint64_t, std::string> of(const std::string& folder, collectives::Rank rank);

 private:
  std::ofstream file_;
};

}  // namespace muster::tests

// Remains: memory of crews that are no more, and that ranks of this host may still read.
//
// A rank returns from an operation once it has its result. Slower ones then read
// on in its desk and its window, also when it has closed the communicator: given
// back, that memory could be written anew under their eyes. It is kept here until
// their own desks say that they are done.

#pragma once

#include <cstdint>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/collectives/desk.h"
#include "muster/collectives/whereabouts.h"

namespace muster::collectives::internal {

class Remains {
 public:
  struct Reader {
    Buffer desk;  // Its, of the same crew.
    Process process;
  };

  struct Piece {
    std::vector<Buffer> memory;
    std::uint64_t number = 0;     // Of the last operation that it was for.
    bool was_in_peace = true;     // All readers will end it.
    std::vector<Reader> readers;  // Who may not have.
  };
  // Until all readers have ended the operation, or read nothing any more.
  void keep(Piece piece);
  // Lets go of what nobody reads any more. False if it is worth while to wait for more.
  bool sweep();

 private:
  std::vector<Piece> pieces_;
};

}  // namespace muster::collectives::internal

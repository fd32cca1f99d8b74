// Freezing: arrays that were frozen for a message are writable again if it is not sent.

#pragma once

#include <vector>

#include "binding.h"
#include "memory.h"

namespace muster::python {

// While it lives, what this thread freezes is remembered. All of it needs the lock.
class Freezing {
 public:
  Freezing();
  // Unless it was kept, thaws all that nobody has got.
  ~Freezing();
  Freezing(const Freezing&) = delete;
  Freezing& operator=(const Freezing&) = delete;

  // It is sent, or the Freezing around this one knows more.
  void keep();

  // Freezes `array`, which stands upon `memory`, and what it is a part of.
  static void freeze(nb::handle array, Memory& memory);

 private:
  struct Frozen {
    nb::object array;
    Memory* memory;
    nb::object parts;   // Those arrays that could be written.
    bool was_writable;  // The memory itself, too.
  };

  Freezing* const outer_;
  std::vector<Frozen> frozen_;
};

}  // namespace muster::python

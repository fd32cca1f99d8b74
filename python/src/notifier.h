// Notifier: tells an event loop of Python's, by a descriptor, what has happened.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "binding.h"

namespace muster::python {

class Notifier {
 public:
  Notifier();

  int descriptor() const;
  // What has happened since the last call, by the tokens of the actions.
  std::vector<std::uint64_t> take() const;
  // Any thread, under the baton too: needs no lock of the interpreter's. May
  // outlive the notifier.
  std::function<void()> action(std::uint64_t token) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

void bind_notifier(nb::module_& module);

}  // namespace muster::python

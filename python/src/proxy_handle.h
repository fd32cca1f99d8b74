// ProxyHandle: what a Proxy of Python's has behind it.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "binding.h"
#include "decode.h"
#include "interpreter.h"
#include "muster/msg/proxy.h"

namespace muster::python {

// Guarded by the interpreter's lock, but for the proxy itself.
struct ProxyHandle {
  std::unique_ptr<msg::Proxy> proxy;
  std::uint32_t forks = fork_count();
  int inside = 0;  // Calls that have let the lock go.
  DecodeOptions decoding;
  nb::object dumps;  // Of another pickle module than Python's own, if any.

  ~ProxyHandle();
  // Raises if the interpreter has ended it.
  msg::Proxy& live() const;
};

// A call that waits: lets the lock go while it lives.
class Inside {
 public:
  explicit Inside(ProxyHandle& handle) : count_(handle.inside) { ++count_.value; }

 private:
  // Counts down once the lock is back, since it is destroyed last.
  struct Count {
    explicit Count(int& number) : value(number) {}
    ~Count() { --value; }
    Count(const Count&) = delete;
    Count& operator=(const Count&) = delete;
    int& value;
  };
  Count count_;
  Unlocked unlocked_;
};

// Of process.h's process. The registry of an address: a folder or redis://...
msg::Registry* registry_at(const std::string& where);
void enter_proxy(ProxyHandle& handle);
// Lets the proxy go in its own time.
void remove_proxy(ProxyHandle& handle);

}  // namespace muster::python

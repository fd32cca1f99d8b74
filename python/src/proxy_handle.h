// ProxyHandle: what a Proxy of Python's has behind it.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "binding.h"
#include "collected.h"
#include "decode.h"
#include "interpreter.h"
#include "listeners.h"
#include "muster/msg/proxy.h"

namespace muster::python {

// Guarded by the interpreter's lock, but for the proxy itself.
struct ProxyHandle {
  std::unique_ptr<msg::Proxy> proxy;
  std::uint32_t forks = fork_count();
  std::atomic<int> inside{0};  // Calls that have let the lock go.
  const std::shared_ptr<Listeners> receivable = std::make_shared<Listeners>();
  DecodeOptions decoding;
  nb::object dumps;                    // Of another pickle module than Python's own, if any.
  std::shared_ptr<Callback> on_event;  // Which the proxy calls. Null: nobody wants to know.

  ~ProxyHandle();
  // Raises if the interpreter has ended it.
  msg::Proxy& live() const;

  // For collected.h.
  template <class Visit>
  int each_held(Visit visit) const {
    if (const int stops = visit(dumps.ptr())) return stops;
    return on_event ? visit(on_event->get()) : 0;
  }
  void let_go();
};

// A call that waits: lets the lock go while it lives.
class Inside {
 public:
  explicit Inside(ProxyHandle& handle) : inside_(handle.inside) { ++inside_; }
  ~Inside() {
    // Once the interpreter is about to end, this thread goes no further, and the
    // proxy may go. Else it may not before the lock is back.
    const bool stays = is_closing();
    if (stays) --inside_;
    unlocked_.reset();
    if (!stays) --inside_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  std::atomic<int>& inside_;
  std::optional<Unlocked> unlocked_{std::in_place};
};

// What is behind a Proxy of Python's; raises TypeError for anything else.
ProxyHandle& to_handle(nb::handle proxy);

// Of process.h's process. The registry of an address: a folder or redis://...
msg::Registry* registry_at(const std::string& where);
void enter_proxy(ProxyHandle& handle);
// Lets the proxy go in its own time.
void remove_proxy(ProxyHandle& handle);

}  // namespace muster::python

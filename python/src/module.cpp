// muster._core: what Python sees of the library. python/muster says the rest.

#include "arrays.h"
#include "binding.h"
#include "codec.h"
#include "communicator.h"
#include "conditions.h"
#include "dispatcher.h"
#include "errors.h"
#include "future.h"
#include "interpreter.h"
#include "memory.h"
#include "message.h"
#include "notifier.h"
#include "process.h"
#include "proxy.h"

// NOLINTNEXTLINE: the macro's own.
NB_MODULE(_core, module) {
  using namespace muster::python;
  nb::set_leak_warnings(false);  // Objects that live until the process ends are no leak.
  watch_forks();
  keep_ended_threads();
  bind_errors(module);
  bind_memory(module);
  bind_arrays(module);
  bind_codec(module);
  bind_message(module);
  bind_notifier(module);
  bind_future(module);
  bind_events(module);
  bind_proxy(module);
  bind_dispatcher(module);
  bind_communicator(module);
  bind_process(module);
}

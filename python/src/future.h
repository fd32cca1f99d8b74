// Futures for Python: an answer that has not come, memory that is still read.

#pragma once

#include "binding.h"
#include "memory.h"
#include "muster/msg/proxy.h"

namespace muster::python {

// Gives the message that answers. `proxy` is the Proxy of Python's.
nb::object make_message_future(nb::object proxy, loop::Loop& loop, msg::PendingReply reply);
// Gives `id` once nobody reads what was lent.
nb::object make_loan_future(loop::Loop& loop, Borrowed borrowed, msg::SessionId id);

void bind_future(nb::module_& module);

}  // namespace muster::python

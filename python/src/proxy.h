// Proxy for Python, in several files by subject; each adds its calls to the class.

#pragma once

#include "binding.h"
#include "proxy_handle.h"

namespace muster::python {

using ProxyClass = nb::class_<ProxyHandle>;

void bind_proxy(nb::module_& module);
void bind_proxy_send(ProxyClass& proxy);                          // proxy_send.cpp
void bind_proxy_receive(nb::module_& module, ProxyClass& proxy);  // proxy_receive.cpp

}  // namespace muster::python

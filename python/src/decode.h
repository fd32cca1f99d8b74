// The body of a message as Python objects, read straight from its wire form.

#pragma once

#include "binding.h"
#include "muster/base/result.h"
#include "muster/msg/message_codec.h"

namespace muster::python {

struct DecodeOptions {
  bool accepts_pickles = false;
  msg::BodyLimits limits = {};
};

// Nothing that came is trusted: Code::invalid if it is no body, Code::unsupported
// for a pickle that is not wanted. What unpickling raises is Code::failed.
Result<nanobind::object> decode(const msg::EncodedBody& body, const DecodeOptions& options = {});

}  // namespace muster::python

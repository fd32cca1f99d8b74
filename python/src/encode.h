// Python objects as the body of a message, written straight into its wire form.

#pragma once

#include "arrays.h"
#include "binding.h"
#include "muster/msg/message_codec.h"

namespace muster::python {

struct EncodeOptions {
  Keeping keeping = {};
  // "dumps" of a pickle module for what is no plain value; null: Python's own.
  nb::handle dumps = {};
  msg::Compression compression = msg::Compression::none;
};

// Raises InvalidError, or what pickling raises, if `body` cannot be sent.
msg::EncodedBody encode(nb::handle body, const EncodeOptions& options = {});

}  // namespace muster::python

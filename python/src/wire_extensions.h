// The extensions of value documents that are Python's own: docs/reference/wire.md.

#pragma once

#include <cstdint>

namespace muster::python {

enum class PythonExtension : std::int8_t {
  pickle = 16,  // u32 part, u32 count: a pickle, and the buffers that it left out.
  array = 17,   // u32 part, u32 rank, u64 for each dimension, numpy's name of the dtype.
};

}  // namespace muster::python

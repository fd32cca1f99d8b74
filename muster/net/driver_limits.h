// What drivers do alike: what they copy in any case, and what they refuse, in the
// same words: frames that are too large, and bodies that there is no memory for.

#pragma once

#include <cstddef>

#include "muster/base/buffer_pool.h"
#include "muster/base/result.h"
#include "muster/wire/frame.h"

namespace muster::net {

// Below this a copy is cheaper than a reference and its release. Drivers between
// processes copy such parts, and links do not ask how they travel.
inline constexpr std::size_t kReferenceFrom = 2048;

// Code::invalid if `frame` has more parts than any may have, or more than
// `max_body` bytes in them.
Status check_size(const wire::Frame& frame, std::size_t max_body);

// Memory of `pool`. Code::overloaded if there is none.
Result<WritableBuffer> allocate_from(BufferPool& pool, std::size_t size);

}  // namespace muster::net

#include "muster/net/driver_limits.h"

#include <string>

namespace muster::net {

Status check_size(const wire::Frame& frame, std::size_t max_body) {
  const std::uint64_t body = frame.body_size();
  if (body <= max_body && frame.parts.size() <= wire::kMaxParts) return ok();
  return Error(Code::invalid, "a frame with a body of " + std::to_string(body) + " bytes in " +
                                  std::to_string(frame.parts.size()) + " parts, at most " +
                                  std::to_string(max_body) + " in " +
                                  std::to_string(wire::kMaxParts) + " may go");
}

Result<WritableBuffer> allocate_from(BufferPool& pool, std::size_t size) {
  WritableBuffer memory = pool.take(size);
  if (memory.size() < size) {
    return Error(Code::overloaded, "no memory for a body of " + std::to_string(size) + " bytes");
  }
  return memory;
}

}  // namespace muster::net

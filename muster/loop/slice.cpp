#include "muster/loop/slice.h"

#include <optional>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace muster::loop {
namespace {

// As the kernel lays it out; the C library has no name for it yet.
struct Attributes {
  std::uint32_t size = sizeof(Attributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t slice = 0;  // Nanoseconds; older kernels say 0.
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

std::optional<Attributes> attributes() {
  Attributes now;
  if (syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0) return std::nullopt;
  if (now.policy != SCHED_OTHER || now.slice == 0) return std::nullopt;
  return now;
}

// All but the slice stays as it is.
bool set_slice(Attributes attributes, std::uint64_t slice) {
  attributes.slice = slice;
  return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace

void Slice::halve() {
  if (is_halved() || is_refused_) return;
  const auto now = attributes();
  is_refused_ = !now || !set_slice(*now, now->slice / 2);
  if (!is_refused_) usual_ = now->slice;
}

void Slice::restore() {
  if (!is_halved()) return;
  if (const auto now = attributes()) set_slice(*now, usual_);
  usual_ = 0;
}

}  // namespace muster::loop

#include "muster/base/id.h"

#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/random.h>

#include "muster/base/check.h"

namespace muster {

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  // Eight bytes are always given whole once the kernel's source is ready.
  const ssize_t got = getrandom(&bits, sizeof bits, 0);
  MUSTER_CHECK(got == sizeof bits, "the kernel gives random bytes");
  return bits;
}

Id Id::random() { return {random_bits(), random_bits()}; }

std::string Id::to_string() const { return fmt::format("{:016x}{:016x}", high, low); }

}  // namespace muster

#include "benchmarks/common/message.h"

#include <string>

#include "benchmarks/common/fail.h"

namespace muster::bench {

void Expected::refuse(const Message& message) const {
  fail("wrong bytes in a small message: expected number " + std::to_string(next_) + ", got " +
       std::to_string(message.number()) +
       (is_stamped(message, message.number()) ? " (whole, but out of order)" : " (damaged)"));
}

}  // namespace muster::bench

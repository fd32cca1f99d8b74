#include "muster/base/descriptor.h"

#include <unistd.h>

namespace muster {

void Descriptor::reset() {
  if (number_ >= 0) close(release());
}

}  // namespace muster

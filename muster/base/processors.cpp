#include "muster/base/processors.h"

#include <sched.h>

namespace muster {

unsigned usable_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count > 0 ? static_cast<unsigned>(count) : 1;
}

ProcessorMaker processor_maker() {
#if defined(__x86_64__)
  static const bool kIsIntel = __builtin_cpu_is("intel") != 0;
  return kIsIntel ? ProcessorMaker::intel : ProcessorMaker::other;
#else
  return ProcessorMaker::other;
#endif
}

}  // namespace muster

// What this process has left behind: descriptors and mappings, counted.

#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>

namespace muster::arena::testing {

struct Traces {
  std::ptrdiff_t descriptors = 0;
  std::size_t mappings = 0;  // Of segments.

  static Traces count() {
    Traces traces;
    const std::filesystem::directory_iterator open("/proc/self/fd");
    traces.descriptors = std::distance(begin(open), end(open));
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("/memfd:muster") != std::string::npos) ++traces.mappings;
    }
    return traces;
  }

  friend bool operator==(const Traces&, const Traces&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Traces& traces) {
    return out << traces.descriptors << " descriptors, " << traces.mappings << " mappings";
  }
};

}  // namespace muster::arena::testing

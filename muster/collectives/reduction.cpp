#include "muster/collectives/reduction.h"

namespace muster::collectives {

std::string_view name(Reduction::Kind kind) {
  switch (kind) {
    case Reduction::Kind::sum: return "sum";
    case Reduction::Kind::product: return "product";
    case Reduction::Kind::min: return "min";
    case Reduction::Kind::max: return "max";
    case Reduction::Kind::mean: return "mean";
    case Reduction::Kind::logical_and: return "logical_and";
    case Reduction::Kind::logical_or: return "logical_or";
    case Reduction::Kind::user: return "user";
  }
  return "unknown";
}

}  // namespace muster::collectives

// Which method an operation is done by: all ranks choose alike.

#pragma once

#include "muster/collectives/element.h"
#include "muster/collectives/plans.h"
#include "muster/collectives/shape.h"

namespace muster::collectives::internal {

Method choose_method(const Shape& shape, Element element, const Hosts& hosts);

}  // namespace muster::collectives::internal

// Small operations on one host: contributions lie on the desks themselves.
//
// Everybody shows what it has, and takes what it needs from the others' desks:
// one store, and one load per peer, whatever the operation.

#pragma once

#include "muster/base/result.h"
#include "muster/collectives/call.h"
#include "muster/collectives/crew.h"

namespace muster::collectives::internal {

// Whether all ranks, which all decide alike, do `call` so.
bool is_small(const Call& call, Rank ranks);

// Between Crew::begin() and Crew::end().
Status run_small(Crew& crew, const Call& call);

}  // namespace muster::collectives::internal

#include "muster/base/exit_code.h"

namespace muster {

int exit_code(const Error& error) {
  switch (error.code()) {
    case Code::cancelled: return kExitDone;
    case Code::invalid:
    case Code::unsupported: return kExitForGood;
    default: return kExitFailed;
  }
}

int exit_code(const Status& status) { return status ? kExitDone : exit_code(status.error()); }

}  // namespace muster

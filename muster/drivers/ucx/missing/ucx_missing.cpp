// Stands in for the driver where Muster is built without UCX.

#include "muster/drivers/ucx/ucx.h"

namespace muster::drivers {
namespace {

Error absent() {
  return Error(Code::unsupported,
               "make the ucx driver: Muster was built without UCX; install libucx-dev and build "
               "Muster again");
}

}  // namespace

// NOLINTBEGIN(performance-unnecessary-value-param): as the header has it.
Result<std::unique_ptr<net::Driver>> make_ucx_driver(loop::Loop&, std::unique_ptr<net::Driver>,
                                                     UcxOptions) {
  return absent();
}
// NOLINTEND(performance-unnecessary-value-param)

Result<std::vector<std::string>> ucx_fabrics(const UcxOptions&) { return absent(); }

}  // namespace muster::drivers

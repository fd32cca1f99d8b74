// The ucx driver as its tests make it, with tcp and a token to meet by.

#pragma once

#include <memory>
#include <string>

#include "muster/drivers/ucx/ucx.h"
#include "muster/net/driver.h"

namespace muster::drivers::ucx::testing {

// With a token that both ends know.
std::unique_ptr<net::Driver> make_control(loop::Loop& loop);

// Over those fabrics.
std::unique_ptr<net::Driver> make_ucx(loop::Loop& loop, const std::string& fabrics,
                                      UcxOptions options = {});

}  // namespace muster::drivers::ucx::testing

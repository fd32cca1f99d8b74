// Which driver two components would use, given where each can be reached. Pure.

#pragma once

#include <span>
#include <string>

#include "muster/net/address_choice.h"

namespace muster::app {

// `from` and `to` are each the addresses of one component, separated by commas;
// `schemes` are the drivers of this build. Code::invalid for what is no address.
Result<net::AddressChoice> choose_between(const std::string& from, const std::string& to,
                                          std::span<const std::string> schemes);

}  // namespace muster::app

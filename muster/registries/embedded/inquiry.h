// An onlooker's question to whoever serves a group: who is there?

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "muster/loop/loop.h"
#include "muster/msg/registry.h"
#include "muster/registries/embedded/road.h"

namespace muster::registries::embedded {

// How to come to whoever serves. Code::not_found: there is nobody to ask about.
using OpenCarrier = std::function<Result<std::unique_ptr<Carrier>>(CarrierSink&)>;

// As msg::Registry::ask().
Result<std::unique_ptr<msg::Inquiry>> ask_who_is_there(loop::Loop& loop, const std::string& group,
                                                       OpenCarrier open,
                                                       msg::Registry::OnRoll done);

}  // namespace muster::registries::embedded

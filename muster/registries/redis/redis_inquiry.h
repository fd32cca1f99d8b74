// An onlooker's question to Redis: who is in a group?

#pragma once

#include <memory>
#include <string>

#include "muster/loop/loop.h"
#include "muster/msg/registry.h"
#include "muster/registries/redis/client.h"

namespace muster::registries::redis {

// As msg::Registry::ask(). `setting` outlives the inquiry.
Result<std::unique_ptr<msg::Inquiry>> ask_who_is_there(loop::Loop& loop,
                                                       const RedisSetting& setting,
                                                       const std::string& group,
                                                       msg::Registry::OnRoll done);

}  // namespace muster::registries::redis
